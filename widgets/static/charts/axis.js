// Positions of the ticks of an axis: round numbers, few enough to read.
import { count } from "../shared/format.js";

// Round steps for bytes are powers of two, so that labels say 64 KiB and not 62.5 KiB.
export function byteTicks(from, to, most) {
  if (!(to > from)) return [];
  const step = Math.max(1, 2 ** Math.ceil(Math.log2((to - from) / Math.max(1, most))));
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, text: byteLabel(at, step) });
  return ticks;
}

function byteLabel(at, step) {
  if (at === 0) return "0";
  if (step < 1024) return count(at);
  for (const [unit, size] of [["GiB", 2 ** 30], ["MiB", 2 ** 20]]) {
    if (at >= size && step >= size / 4) return `${at / size} ${unit}`;
  }
  return at % 2 ** 20 ? `${count(at / 1024)} KiB` : `${count(at / 2 ** 20)} MiB`;
}

// Steps of 1, 2 or 5 times a power of ten, for offsets.
export function countTicks(from, to, most) {
  if (!(to > from)) return [];
  const rough = (to - from) / Math.max(1, most), power = 10 ** Math.floor(Math.log10(rough));
  const step = Math.max(1, [1, 2, 5, 10].find((factor) => factor * power >= rough) * power);
  const ticks = [];
  for (let at = Math.ceil(from / step) * step; at <= to; at += step) ticks.push({ at, text: count(Math.round(at)) });
  return ticks;
}

// Keep a view of the axis inside [0, size] and not narrower than `least`.
export function clampView(from, to, size, least = 64) {
  const span = Math.min(size, Math.max(Math.min(least, size), to - from));
  const start = Math.max(0, Math.min(size - span, from));
  return [start, start + span];
}

export function zoomView([from, to], factor, at) {
  return [at - (at - from) * factor, at + (to - at) * factor];
}
