// Numbers, sizes and times in readable form. Times are UTC.
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

export function bytes(n) {
  let unit = 0, value = Number(n);
  while (Math.abs(value) >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  const text = unit === 0
    ? count(Math.round(value))
    : Math.abs(value) < 9.95
    ? value.toFixed(1).replace(/\.0$/, "")
    : String(Math.round(value));
  return `${text} ${UNITS[unit]}`;
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

export const LATEST_MS = 8.64e15;

export function timestamp(ms) {
  const value = Number(ms);
  if (value === -1) return "no timestamp";
  if (!(Math.abs(value) <= LATEST_MS)) return `${count(ms)} ms`;
  return new Date(value).toISOString().replace("T", " ").replace("Z", "");
}

// The part of a time that differs between a and b, for the ends of an axis.
export function shortTime(ms, span) {
  const text = timestamp(ms);
  if (text.length !== 23) return text;
  if (span < 60_000) return text.slice(11);
  if (span < 86_400_000) return text.slice(11, 19);
  return span < 40 * 86_400_000 ? text.slice(5, 16) : text.slice(0, 10);
}

export function duration(ms) {
  const value = Math.abs(Number(ms));
  if (value < 1000) return `${Math.round(value)} ms`;
  for (
    const [limit, size, unit] of [[60, 1, "s"], [3600, 60, "min"], [172_800, 3600, "h"], [Infinity, 86_400, "days"]]
  ) {
    if (value / 1000 < limit) {
      return `${(value / 1000 / size).toFixed(value / 1000 / size < 10 ? 1 : 0).replace(/\.0$/, "")} ${unit}`;
    }
  }
  return "";
}

export function range(first, last) {
  return String(first) === String(last) ? count(first) : `${count(first)} – ${count(last)}`;
}
