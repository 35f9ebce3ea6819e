// The time zone in which a page shows times: UTC until a person chooses another one.
const CHANGED = "klw-zone", QUARTER_MS = 900_000, MOST_KEPT = 5000;

const page = () => globalThis.document?.documentElement;

export const zoneName = () => page()?.dataset.klwZone || "UTC";

// A column of times: with +05:30 behind them, they need more room than with Z.
export const TIME_WIDTH = "var(--klw-time, 190px)";

export function setZone(name) {
  if (zoneName() === name) return;
  page().dataset.klwZone = name;
  page().style.setProperty("--klw-time", name === "UTC" ? "190px" : "226px");
  document.dispatchEvent(new Event(CHANGED));
  for (const el of document.querySelectorAll("[data-times]")) el.textContent = timesInZone(el.dataset.times);
}

// Call `act` whenever another zone is chosen.
export const onZone = (act, signal) => document.addEventListener(CHANGED, act, { signal });

const known = { name: "", format: null, minutes: new Map() };

// How many ms the zone is ahead of UTC at a time.
export function zoneShift(ms) {
  const name = zoneName(), quarter = Math.floor(ms / QUARTER_MS); // no zone changes within one
  if (name === "UTC") return 0;
  if (known.name !== name || known.minutes.size > MOST_KEPT) {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: name, timeZoneName: "longOffset" });
    Object.assign(known, { name, format, minutes: new Map() });
  }
  if (!known.minutes.has(quarter)) {
    const parts = known.format.formatToParts(quarter * QUARTER_MS);
    const [, sign, hours, minutes] = parts.find(({ type }) => type === "timeZoneName").value
      .match(/([+-])(\d\d):(\d\d)/) ?? [0, "+", 0, 0];
    known.minutes.set(quarter, (sign === "-" ? -1 : 1) * (60 * Number(hours) + Number(minutes)));
  }
  return known.minutes.get(quarter) * 60_000;
}

// A time as ISO 8601 in the zone: 2026-11-21T15:54:04.123+01.
export function zonedTime(ms) {
  return new Date(ms + zoneShift(ms)).toISOString().slice(0, 23) + zoneSign(ms);
}

// What stands behind a time of the zone: Z, +01, +05:30.
export function zoneSign(ms) {
  if (zoneName() === "UTC") return "Z";
  const minutes = zoneShift(ms) / 60_000, size = Math.abs(minutes), rest = size % 60;
  const hours = String(Math.floor(size / 60)).padStart(2, "0");
  return `${minutes < 0 ? "-" : "+"}${hours}${rest ? `:${String(rest).padStart(2, "0")}` : ""}`;
}

const UTC_TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z/g;

export const namesTime = (text) => text.search(UTC_TIME) >= 0;

// A text of the kernel with its times in the zone.
export function timesInZone(text) {
  if (zoneName() === "UTC") return text;
  return text.replace(UTC_TIME, (time, fraction) => {
    const zoned = zonedTime(Date.parse(time));
    return fraction ? zoned : zoned.slice(0, 19) + zoned.slice(23);
  });
}
