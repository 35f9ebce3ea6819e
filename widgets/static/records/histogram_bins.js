// The bins of the histogram of records, its axis of time, and the brush on it: numbers, without a canvas.
import { Column } from "../shared/columns.js";
import { LATEST_MS, timestamp } from "../shared/format.js";

export const HISTOGRAM = { side: 14, axis: 18 };
export const NO_BINS = { counts: [], max: 0, from: 0, to: 0, start: 0, width: 1 };

// Bins from the kernel: times of the first and after the last one that holds anything, and the largest count.
export function unfoldBins({ start, width, counts }) {
  const numbers = new Column(counts).numbers(), begin = Number(start), wide = Number(width);
  let first = numbers.findIndex((n) => n > 0), last = numbers.findLastIndex((n) => n > 0);
  if (first < 0) first = last = 0;
  return {
    start: begin,
    width: wide,
    counts: numbers,
    max: numbers.reduce((most, n) => Math.max(most, n), 0),
    from: begin + first * wide,
    to: begin + (last + 1) * wide,
  };
}

// The visible range of the bins, and of those behind them; null without any time.
export function timeDomain(bins, behind) {
  const parts = [bins, behind].filter((each) => each?.max);
  if (!parts.length) return null;
  const from = Math.min(...parts.map((each) => each.from)), to = Math.max(...parts.map((each) => each.to));
  return { from, to: Math.max(to, from + 1) };
}

// Pixels of times, and times of pixels, on a canvas so wide.
export function timeScale({ from, to }, canvasWidth) {
  const wide = canvasWidth - 2 * HISTOGRAM.side;
  return {
    wide,
    x: (ms) => HISTOGRAM.side + ((ms - from) / (to - from)) * wide,
    time: (x) => from + (Math.max(0, Math.min(wide, x - HISTOGRAM.side)) / wide) * (to - from),
  };
}

// A brush in whole milliseconds; null if it is empty.
export function brushOf(range) {
  return range?.length === 2 && range[0] < range[1] ? [Math.round(range[0]), Math.round(range[1])] : null;
}

// A brush as text; the day is named once, and an open end is not a time.
export function brushText([from, to]) {
  if (from <= 0) return `until ${timestamp(to)}`;
  if (to >= LATEST_MS) return `from ${timestamp(from)}`;
  const isOneDay = timestamp(from).slice(0, 10) === timestamp(to).slice(0, 10);
  return `${timestamp(from)} – ${timestamp(to).slice(isOneDay ? 11 : 0)}`;
}

// The brush after an arrow key: moved by a fortieth of the range, or with `isGrowth` its end alone; a first one in the
// middle. `way` is 1 or -1.
export function brushAfterKey(brush, { from, to }, way, isGrowth) {
  const step = (to - from) / 40, middle = (from + to) / 2;
  if (!brush) return [middle - 2 * step, middle + 2 * step];
  if (isGrowth) return [brush[0], Math.max(brush[0] + step, brush[1] + way * step)];
  return brush.map((ms) => ms + way * step);
}
