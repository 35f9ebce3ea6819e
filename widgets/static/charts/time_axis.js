// Ticks of an axis of time: times that are round in the zone, few enough to read; the first has the date and the zone.
import { isTime, timestamp } from "../shared/format.js";
import { zoneShift, zoneSign } from "../shared/zone.js";

const SECOND = 1000, MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;
const STEPS = [
  1,
  2,
  5,
  10,
  20,
  50,
  100,
  200,
  500,
  SECOND,
  2 * SECOND,
  5 * SECOND,
  10 * SECOND,
  15 * SECOND,
  30 * SECOND,
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  10 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  5 * DAY,
  10 * DAY,
  30 * DAY,
  60 * DAY,
  180 * DAY,
  365 * DAY,
  730 * DAY,
  3650 * DAY,
];

const ROOM = .8; // the first tick takes more room than others

export function timeTicks(from, to, most) {
  if (!(to > from)) return [];
  const rough = (to - from) / Math.max(1, most * ROOM),
    step = STEPS.find((each) => each >= rough) ?? Math.ceil(rough / (3650 * DAY)) * 3650 * DAY;
  const ticks = [], shift = zoneShift(from), first = Math.ceil((from + shift) / step) * step - shift;
  for (let at = first; at <= to; at += step) ticks.push({ at, text: timeLabel(at, step, shift) });
  const text = timestamp(first), isDated = ticks[0]?.text === text.slice(0, 10);
  if (ticks.length && isTime(text)) {
    ticks[0].text = `${isDated ? "" : `${text.slice(0, 10)} `}${ticks[0].text} ${zoneSign(first).replace("Z", "UTC")}`;
  }
  return ticks;
}

// What differs between neighboring ticks; at midnight the date.
function timeLabel(at, step, shift) {
  const text = timestamp(at);
  if (!isTime(text)) return text;
  if (step >= DAY || (at + shift) % DAY === 0) return text.slice(0, 10);
  if (step >= MINUTE) return text.slice(11, 16);
  return step >= SECOND ? text.slice(11, 19) : text.slice(11, 23);
}
