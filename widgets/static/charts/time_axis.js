// Ticks of an axis of time, in UTC: round times, few enough to read.
import { timestamp } from "../shared/format.js";

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

export function timeTicks(from, to, most) {
  if (!(to > from)) return [];
  const rough = (to - from) / Math.max(1, most),
    step = STEPS.find((each) => each >= rough) ?? Math.ceil(rough / (3650 * DAY)) * 3650 * DAY;
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, text: timeLabel(at, step) });
  return ticks;
}

// What differs between neighboring ticks; at midnight the date.
function timeLabel(at, step) {
  const text = timestamp(at);
  if (text.length !== 24) return text;
  if (step >= DAY || at % DAY === 0) return text.slice(0, 10);
  if (step >= MINUTE) return text.slice(11, 16);
  return step >= SECOND ? text.slice(11, 19) : text.slice(11, 23);
}
