// The lower tracks of the segment map: offset index with the path of a lookup, and time.
import { binTimes } from "./binning.js";
import { floorIndex } from "../shared/columns.js";
import { bytes, count, shortTime } from "../shared/format.js";
import { LAYOUT } from "./track_layout.js";

export function paintIndex({ pen, data, ink, view, x, span, left }) {
  const [top, tall] = LAYOUT.index, places = data.indexPosition;
  const first = Math.max(0, floorIndex(places, view[0])), last = floorIndex(places, view[1]);
  pen.fillStyle = ink.hair;
  pen.fillRect(left, top + tall - 1, span, 1);
  const step = Math.max(1, Math.ceil((last - first + 1) / (span / 4)));
  pen.strokeStyle = pen.fillStyle = ink.accent;
  pen.globalAlpha = step > 1 ? 0.45 : 0.9;
  pen.lineWidth = 1;
  pen.beginPath();
  for (let k = first; k <= last; k += step) {
    const at = Math.round(x(places[k])) + 0.5;
    pen.moveTo(at, top - 4);
    pen.lineTo(at, top + tall - 6);
  }
  pen.stroke();
  if (step === 1 && last - first < span / 9) {
    for (let k = first; k <= last; k++) {
      const at = Math.round(x(places[k])) + 0.5;
      pen.beginPath();
      pen.arc(at, top + tall - 6, 3, 0, Math.PI * 2);
      pen.fill();
    }
  }
  pen.globalAlpha = 1;
  if (!places.length) {
    trackNote(pen, ink, left, top + tall / 2, "no entries: a lookup reads from the start of the file");
  }
}

export function trackNote(pen, ink, left, y, text) {
  pen.font = ink.ui;
  pen.textAlign = "left";
  pen.fillStyle = ink.dim;
  pen.fillText(text, left + 6, y);
}

// The path of a lookup: from the entry at or before the offset, over the batches that must be read.
export function paintLookup({ pen, data, ink, x, left, span }, i, offset) {
  const target = data.target(i, offset),
    entry = data.entryFor(target),
    from = entry < 0 ? 0 : data.indexPosition[entry],
    to = data.position[i];
  const [top, tall] = LAYOUT.index, a = x(from), limit = left + span;
  // A batch that begins left of the view and reaches into it is pointed at where it becomes visible.
  const b = x(to) < left && x(data.end[i]) > left ? left + 6 : x(to);
  pen.strokeStyle = pen.fillStyle = ink.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.arc(a, top + tall - 6, 4.5, 0, Math.PI * 2);
  pen.fill();
  pen.beginPath();
  pen.moveTo(a, top + tall - 6);
  pen.lineTo(b, top + tall - 6);
  pen.lineTo(b, top - 5);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(b, top - 7);
  pen.lineTo(b - 4, top - 1);
  pen.lineTo(b + 4, top - 1);
  pen.fill();
  const start = entry < 0 ? "from the start" : "from this entry";
  const text = `offset ${count(target)}: ${start}${to > from ? `, reads past ${bytes(to - from)}` : ""}`;
  pen.font = ink.ui;
  const wide = pen.measureText(text).width;
  const right = b + 10 + wide + 8 < limit;
  const place = right ? b + 8 : Math.min(a, b) - wide - 14;
  pen.fillStyle = ink.bg;
  pen.globalAlpha = 0.9;
  pen.fillRect(place - 3, top + 1, wide + 6, tall - 5);
  pen.globalAlpha = 1;
  pen.fillStyle = ink.fg;
  pen.textAlign = "left";
  pen.fillText(text, place, top + tall / 2 - 2);
}

export function paintTimes(scene) {
  const { pen, data, ink, view, left, span, x } = scene, [top, tall] = LAYOUT.time;
  pen.fillStyle = ink.hair;
  pen.fillRect(left, top + tall, span, 1);
  if (data.firstTime === null) return trackNote(pen, ink, left, top + tall / 2, "no timestamps in this segment");
  const { low, high } = binTimes(data, view[0], view[1], Math.ceil(span)), line = new Path2D();
  const times = shownTimes(data, low, high), { first, last } = times, whole = Math.max(1, last - first);
  scene.times = times;
  const y = (t) => top + tall - 3 - ((t - first) / whole) * (tall - 8);
  let open = false, before = NaN;
  for (let i = 0; i < low.length; i++) {
    if (Number.isNaN(low[i])) continue;
    const place = left + i + 0.5;
    if (open) line.lineTo(place, y(before));
    else line.moveTo(place, y(low[i]));
    line.lineTo(place, y(low[i]));
    if (high[i] !== low[i]) line.lineTo(place, y(high[i]));
    before = high[i];
    open = true;
  }
  if (open) line.lineTo(Math.min(left + span, x(data.validSize)), y(before));
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  pen.lineJoin = "round";
  pen.stroke(line);
  paintTimeEntries(scene, y, first, last);
}

// The range of time of the visible batches; that of the whole segment if none is visible.
function shownTimes(data, low, high) {
  let first = Infinity, last = -Infinity;
  for (let i = 0; i < low.length; i++) {
    if (low[i] < first) first = low[i];
    if (high[i] > last) last = high[i];
  }
  return first <= last ? { first, last } : { first: data.firstTime, last: data.lastTime };
}

function paintTimeEntries({ pen, data, ink, view, x }, y, earliest, latest) {
  const places = data.timeIndexPosition, first = Math.max(0, floorIndex(places, view[0]) - 1);
  let before = -Infinity;
  for (let k = first; k < places.length && places[k] <= view[1]; k++) {
    const at = x(places[k]);
    if (at - before < 11) continue;
    before = at;
    const isOff = data.timeIndexTime[k] > latest,
      height = isOff ? LAYOUT.time[0] + 5 : y(Math.max(earliest, data.timeIndexTime[k]));
    pen.save();
    pen.translate(at, height);
    pen.rotate(Math.PI / 4);
    pen.fillStyle = ink.bg;
    pen.fillRect(-4, -4, 8, 8);
    pen.fillStyle = ink.accent;
    pen.fillRect(-2.75, -2.75, 5.5, 5.5);
    if (isOff) { // later than the visible records, as the time of a marker can be: it is off the scale
      pen.fillStyle = ink.bg;
      pen.fillRect(-1.5, -1.5, 3, 3);
    }
    pen.restore();
  }
}

export function paintTimeLabels({ pen, data, ink, left, width, times }) {
  const [top, tall] = LAYOUT.time;
  if (data.firstTime === null || width < 560) return;
  const { first, last } = times, text = (time) => shortTime(time, data.lastTime - data.firstTime);
  pen.font = ink.small;
  pen.textAlign = "right";
  pen.fillStyle = ink.dim;
  if (last > first) pen.fillText(text(last), left - 8, top + 6);
  pen.fillText(text(first), left - 8, top + tall - 3);
}
