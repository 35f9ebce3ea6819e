// The histogram of records on a canvas: bars, those behind them, the brush, and the axis of time.
import { timeTicks } from "../charts/time_axis.js";
import { HISTOGRAM, timeScale } from "./histogram_bins.js";

const MARK = 2.5; // px, half the width of a mark

// `scene` is {pen, ink, width, height} of the canvas; `range` is null without any time, and `note` says why.
export function paintHistogram({ pen, ink, width, height }, { range, bins, behind, brush, note }) {
  const high = height - HISTOGRAM.axis, wide = width - 2 * HISTOGRAM.side;
  pen.clearRect(0, 0, width, height);
  pen.fillStyle = ink.line;
  pen.fillRect(HISTOGRAM.side, high, wide, 1);
  if (!range) return paintNote({ pen, ink, high, width }, note);
  const scene = { pen, ink, high, range, ...timeScale(range, width) };
  if (behind?.max) paintBins(scene, behind, ink.line);
  paintBins(scene, bins, ink.accent, behind ? 2 : 1);
  if (behind?.max) paintMarks(scene, bins);
  if (brush) paintBrush(scene, brush);
  paintTimes(scene);
}

function paintNote({ pen, ink, high, width }, note) {
  pen.font = ink.small;
  pen.fillStyle = ink.dim;
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(note, width / 2, high / 2);
  pen.textAlign = "start";
}

// Bars that are at least so many pixels wide.
function paintBins({ pen, high, x }, { counts, start, width, max }, color, least = 1) {
  pen.fillStyle = color;
  for (const [i, n] of counts.entries()) {
    if (!n) continue;
    const left = x(start + i * width), wide = x(start + (i + 1) * width) - left;
    const tall = Math.max(1.5, (n / max) * (high - 8));
    pen.fillRect(left, high - tall, Math.max(least, wide > 3 ? wide - 1 : wide), tall);
  }
}

// A mark on the axis for each bar, so that a single hit among days is seen.
function paintMarks({ pen, ink, high, x }, { counts, start, width }) {
  pen.fillStyle = ink.accent;
  for (const [i, n] of counts.entries()) {
    if (!n) continue;
    const at = x(start + (i + 0.5) * width);
    pen.beginPath();
    pen.moveTo(at, high + 1);
    pen.lineTo(at + MARK, high + 2 * MARK);
    pen.lineTo(at - MARK, high + 2 * MARK);
    pen.fill();
  }
}

function paintBrush({ pen, ink, high, wide, x }, brush) {
  const { side } = HISTOGRAM, [left, right] = brush.map((ms) => Math.max(side, Math.min(side + wide, x(ms))));
  pen.save();
  pen.globalAlpha = 0.72;
  pen.fillStyle = ink.bg;
  pen.fillRect(side, 0, left - side, high);
  pen.fillRect(right, 0, side + wide - right, high);
  pen.restore();
  pen.fillStyle = ink.fg;
  for (const end of [left, right]) {
    pen.fillRect(Math.round(end) - 0.5, 0, 1, high);
    pen.fillRect(Math.round(end) - 2, high / 2 - 8, 4, 16);
  }
}

function paintTimes({ pen, ink, high, wide, range, x }) {
  const { side } = HISTOGRAM;
  pen.font = ink.small;
  pen.textBaseline = "top";
  pen.fillStyle = ink.dim;
  let last = -Infinity;
  for (const { at, text } of timeTicks(range.from, range.to, Math.max(2, wide / 110))) {
    const half = pen.measureText(text).width / 2;
    const place = Math.max(side + half, Math.min(side + wide - half, x(at)));
    pen.fillRect(Math.round(x(at)), high, 1, 3);
    if (place - half < last + 8) continue;
    pen.textAlign = "center";
    pen.fillText(text, place, high + 5);
    last = place + half;
  }
}
