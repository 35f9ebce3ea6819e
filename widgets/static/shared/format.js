// Numbers, sizes and times in readable form. Times are in the zone of the page, UTC at first.
import { zonedTime } from "./zone.js";

// The rule is Python's: `words.size_text`, `words.share_text`, `times.time_text`, `times.duration_text`.
const SIZES = [...["B", "KiB", "MiB", "GiB", "TiB"].map((unit) => [unit, 1024, 1024]), ["PiB", Infinity, 1]];
const PERCENT = [["%", Infinity, 1]];
const DURATIONS = [["ms", 1000, 1000], ["s", 60, 60], ["min", 60, 60], ["h", 48, 24], ["days", Infinity, 1]];

export const bytes = (n) => inUnits(Number(n), SIZES);

export const share = (part) => inUnits(100 * part, PERCENT);

export const duration = (ms) => inUnits(Number(ms), DURATIONS);

// A quantity in the largest unit of which there is one. Units: name, how many become one of the next, which is how many.
function inUnits(value, units) {
  let rest = Math.abs(value), at = 0;
  for (; Math.floor(rest + 0.5) >= units[at][1]; at++) rest /= units[at][2];
  const tenths = Math.floor(rest * 10 + 0.5), [unit] = units[at];
  const text = tenths >= 100
    ? count(Math.floor(rest + 0.5))
    : tenths === 0 && rest > 0
    ? "<0.1"
    : `${Math.floor(tenths / 10)}.${tenths % 10}`.replace(/\.0$/, "");
  return `${value < 0 ? "-" : ""}${text} ${unit}`;
}

// Thousands separated, exact for numbers, BigInts and strings of digits.
export function count(n) {
  const text = String(n);
  if (!/^-?\d+$/.test(text)) return text;
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, ",");
}

export function plural(n, one, many = `${one}s`) {
  return `${count(n)} ${Number(n) === 1 ? one : many}`;
}

export const LATEST_MS = 253_402_300_799_999; // the year 9999
const DECADES = [946_684_800_000n, 4_102_444_800_000n]; // ms; of times that producers give in another unit
const OTHER_UNITS = [["microseconds", 1000n, 1n], ["nanoseconds", 1_000_000n, 1n], ["seconds", 1n, 1000n]];

// A time as ISO 8601; what is not one, in ms with the likely unit.
export function timestamp(ms) {
  const value = Number(ms);
  if (value === -1) return "none";
  if (value >= 0 && value <= LATEST_MS) return zonedTime(Math.floor(value));
  const exact = typeof ms === "number" ? BigInt(Math.round(ms)) : BigInt(ms);
  for (const [unit, per, times] of OTHER_UNITS) {
    const meant = (exact * times) / per;
    if (meant >= DECADES[0] && meant <= DECADES[1]) return `${count(ms)} ms (in ${unit}: ${timestamp(meant)})`;
  }
  return `${count(ms)} ms`;
}

// Whether a text of `timestamp` is a time, and not only a number.
export const isTime = (text) => /^\d{4}-\d\d-\d\dT/.test(text);

// The part of a time that differs between a and b, for the ends of an axis.
export function shortTime(ms, span) {
  const text = timestamp(ms);
  if (!isTime(text)) return text;
  if (span < 60_000) return text.slice(11, 23);
  if (span < 86_400_000) return text.slice(11, 19);
  return span < 40 * 86_400_000 ? text.slice(5, 16).replace("T", " ") : text.slice(0, 10);
}

export function range(first, last) {
  return String(first) === String(last) ? count(first) : `${count(first)} – ${count(last)}`;
}
