// The tracks of the segment map, painted on one canvas: overview, axis, batches; then the indexes below.
import { paintByteGrid } from "../charts/byte_grid.js";
import { binBatches, paintBins } from "./binning.js";
import { floorIndex } from "../shared/columns.js";
import { bytes, duration, plural } from "../shared/format.js";
import { paintIndex, paintLookup, paintTimeLabels, paintTimes, trackNote } from "./index_tracks.js";
import { tailText } from "./segment_data.js";
import { DAMAGE, FRESH, hatch, rgb } from "../shared/theme.js";
import { LAYOUT } from "./track_layout.js";

// Paint everything for the view [from, to) of the segment; `mark` says what is selected and hovered.
export function paintTracks(pen, data, { width, ink, view, mark, cache }) {
  const left = width < 560 ? 12 : LAYOUT.gutter, span = width - left - LAYOUT.right;
  const scene = {
    pen,
    data,
    ink,
    view,
    mark,
    left,
    span,
    width,
    cache,
    x: (p) => left + ((p - view[0]) / (view[1] - view[0])) * span,
  };
  pen.clearRect(0, 0, width, LAYOUT.height);
  pen.textBaseline = "middle";
  paintNames(scene);
  paintOverview(scene);
  clipped(scene, 4, () => paintByteGrid(scene, LAYOUT.axis, LAYOUT.height - 4));
  clipped(scene, 0, () => {
    paintBatches(scene);
    paintTail(scene);
    paintNew(scene);
  });
  clipped(scene, 4, () => { // the mark of an entry at the edge is whole
    paintIndex(scene);
    paintTimes(scene);
    paintMarks(scene);
  });
  paintTimeLabels(scene);
  return scene;
}

function clipped({ pen, left, span }, margin, paint) {
  pen.save();
  pen.beginPath();
  pen.rect(left - margin, 0, span + 2 * margin, LAYOUT.height);
  pen.clip();
  paint();
  pen.restore();
}

function paintNames({ pen, ink, left }) {
  if (left < 60) return;
  pen.textAlign = "left";
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  for (
    const [name, key] of [["Whole file", "overview"], ["Batches", "batches"], ["Offset index", "index"], [
      "Time",
      "time",
    ]]
  ) {
    const [top, tall] = LAYOUT[key];
    pen.fillText(name, 0, key === "time" ? top + tall / 2 : top + tall / 2);
  }
}

function stacked(scene, from, to, tall) {
  const ratio = devicePixelRatio || 1, wide = Math.max(1, Math.round(scene.span * ratio));
  const image = new ImageData(wide, Math.max(1, Math.round(tall * ratio)));
  const bins = binBatches(scene.data, from, to, wide);
  paintBins(bins, scene.data.categories.map((each) => rgb(each.color)), image);
  const sheet = document.createElement("canvas");
  sheet.width = image.width;
  sheet.height = image.height;
  sheet.getContext("2d").putImageData(image, 0, 0);
  return { sheet, bins, ratio };
}

function paintOverview(scene) {
  const { pen, data, ink, view, left, span, cache } = scene, [top, tall] = LAYOUT.overview;
  const key = `${span}|${devicePixelRatio}|${data.coloredBy}`;
  if (cache.overviewKey !== key) {
    Object.assign(cache, { overviewKey: key, overview: stacked(scene, 0, data.fileSize, tall) });
  }
  pen.fillStyle = ink.hair;
  pen.fillRect(left, top, span, tall);
  pen.drawImage(cache.overview.sheet, left, top, span, tall);
  damageTicks(scene, cache.overview, top, tall);
  const a = left + (view[0] / data.fileSize) * span, b = Math.max(a + 3, left + (view[1] / data.fileSize) * span);
  pen.fillStyle = ink.dark ? "rgba(0,0,0,.62)" : "rgba(255,255,255,.72)";
  pen.fillRect(left, top - 1, a - left, tall + 2);
  pen.fillRect(b, top - 1, left + span - b, tall + 2);
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  pen.strokeRect(a + 0.75, top - 2.25, Math.max(2, b - a - 1.5), tall + 4.5);
}

function damageTicks({ pen, left }, { bins, ratio }, top, tall) {
  pen.fillStyle = DAMAGE;
  for (let x = 0; x < bins.width; x++) if (bins.flags[x] & 2) pen.fillRect(left + x / ratio - 1, top - 4, 3, tall + 6);
}

function paintBatches(scene) {
  const { pen, data, ink, view, span, left, x, cache } = scene, [top, tall] = LAYOUT.batches;
  const first = Math.max(0, floorIndex(data.position, view[0])), last = floorIndex(data.position, view[1]);
  cache.shown = Math.max(0, last - first + 1);
  if (!data.length && data.fileSize === data.validSize) trackNote(pen, ink, left, top + tall / 2, "no batches yet");
  if (cache.shown > span / 3) {
    const layer = stacked(scene, view[0], view[1], tall);
    pen.drawImage(layer.sheet, left, top, span, tall);
    const { bins, ratio } = layer;
    pen.fillStyle = ink.fg;
    for (let i = 0; i < bins.width; i++) {
      if (bins.transactional[i] > 0.02) {
        pen.globalAlpha = Math.min(1, 0.35 + bins.transactional[i]);
        pen.fillRect(left + i / ratio, top + tall - 4, 1 / ratio, 3);
        pen.globalAlpha = 1;
      }
      if (bins.flags[i] & 1) pen.fillRect(left + i / ratio, top - 4, 1, 4);
      if (bins.flags[i] & 4) pen.fillRect(left + i / ratio, top + tall + 1, 1, 4);
    }
    damageTicks(scene, layer, top, tall);
    return;
  }
  const stripes = hatch(pen, ink.dark ? "rgba(0,0,0,.34)" : "rgba(255,255,255,.36)", 7);
  for (let i = first; i <= last; i++) {
    const a = x(data.position[i]), b = x(data.end[i]), gap = b - a > 5 ? 1 : b - a > 2.5 ? 0.5 : 0;
    paintBatch(scene, i, a, Math.max(0.75, b - a - gap), top, tall, stripes);
    if (data.missing[i]) paintMissing(scene, a - gap / 2, top, tall);
  }
}

// A dotted line between two batches: offsets are missing there.
function paintMissing({ pen, ink }, at, top, tall) {
  pen.fillStyle = ink.bg;
  pen.fillRect(at - 1.5, top, 3, tall);
  pen.fillStyle = ink.fg;
  for (let y = top - 3; y < top + tall + 4; y += 4) pen.fillRect(at - 0.75, y, 1.5, 2);
}

function paintBatch({ pen, data, ink, left, span }, i, a, wide, top, tall, stripes) {
  const damaged = data.problem[i] !== 0;
  pen.fillStyle = damaged ? DAMAGE : data.isControl(i) ? ink.control : data.categories[data.category[i]].color;
  pen.globalAlpha = data.isAborted(i) && !data.isControl(i) ? 0.35 : 1;
  box(pen, a, top, wide, tall);
  pen.globalAlpha = 1;
  if (damaged) {
    pen.fillStyle = stripes;
    box(pen, a, top, wide, tall);
    cross(pen, a + wide / 2, top - 9, ink);
  } else if (data.isControl(i)) {
    pen.fillRect(a, top - 4, Math.max(2, Math.min(wide, 8)), 4);
  } else if (data.isTransactional(i)) {
    pen.fillStyle = ink.bg;
    pen.fillRect(a, top + tall - 6, wide, 1.5);
    pen.fillStyle = ink.fg;
    if (data.isAborted(i)) {
      for (let dash = 0; dash < wide; dash += 4) {
        pen.fillRect(a + dash, top + tall - 4.5, Math.min(2, wide - dash), 4.5);
      }
    } else pen.fillRect(a, top + tall - 4.5, wide, 4.5);
  }
  const from = Math.max(a, left), room = Math.min(a + wide, left + span) - from;
  if (room < 64) return;
  pen.save();
  pen.beginPath();
  pen.rect(from, top, room - 4, tall);
  pen.clip();
  pen.textAlign = "left";
  pen.fillStyle = data.isControl(i) ? ink.bg : labelInk(data, i, ink);
  pen.font = ink.strong;
  pen.fillText(data.offsets(i), from + 7, top + 17);
  pen.font = ink.ui;
  pen.globalAlpha = 0.85;
  pen.fillText(
    damaged
      ? data.problemText(i)
      : data.isControl(i)
      ? "control"
      : data.records(i).replace("unknown until decompressed", "compressed"),
    from + 7,
    top + 33,
  );
  pen.restore();
}

function labelInk(data, i, ink) {
  if (data.problem[i]) return "#fff";
  if (data.isAborted(i)) return ink.fg;
  const [r, g, b] = rgb(data.categories[data.category[i]].color);
  return 0.299 * r + 0.587 * g + 0.114 * b > 125 ? "#10151c" : "#fff";
}

function box(pen, x, y, wide, tall) {
  if (wide < 6) return pen.fillRect(x, y, wide, tall);
  pen.beginPath();
  pen.roundRect(x, y, wide, tall, 3);
  pen.fill();
}

function cross(pen, x, y, ink) {
  for (const [color, weight] of [[ink.bg, 4], [DAMAGE, 2]]) {
    pen.strokeStyle = color;
    pen.lineWidth = weight;
    pen.beginPath();
    pen.moveTo(x - 3.5, y - 3.5);
    pen.lineTo(x + 3.5, y + 3.5);
    pen.moveTo(x + 3.5, y - 3.5);
    pen.lineTo(x - 3.5, y + 3.5);
    pen.stroke();
  }
  pen.lineWidth = 1;
}

function paintTail({ pen, data, ink, x }) {
  if (data.fileSize <= data.validSize) return;
  const [top, tall] = LAYOUT.batches, a = x(data.validSize), wide = Math.max(4, x(data.fileSize) - a);
  const color = data.stop === "bad size" ? DAMAGE : ink.dim;
  pen.fillStyle = ink.bg;
  pen.fillRect(a, top, wide, tall);
  pen.globalAlpha = data.stop === "zeros" ? 0.3 : 0.6;
  pen.fillStyle = hatch(pen, color, 6);
  pen.fillRect(a, top, wide, tall);
  pen.globalAlpha = 1;
  pen.strokeStyle = color;
  pen.lineWidth = 1.5;
  pen.setLineDash([4, 3]);
  pen.strokeRect(a + 0.75, top + 0.75, wide - 1.5, tall - 1.5);
  pen.setLineDash([]);
  if (data.stop === "bad size") cross(pen, a + Math.min(wide / 2, 8), top - 9, ink);
  pen.font = ink.ui;
  const text = [tailText(data), data.stop].find((each) => pen.measureText(each).width + 26 < wide);
  if (!text) return;
  const room = pen.measureText(text).width + 14;
  pen.fillStyle = ink.bg;
  pen.fillRect(a + 6, top + tall / 2 - 9, room, 18);
  pen.fillStyle = ink.fg;
  pen.textAlign = "left";
  pen.fillText(text, a + 13, top + tall / 2);
}

// A dashed line under what is new.
function paintNew({ pen, data, x, left, span }) {
  if (data.newFrom >= data.validSize) return;
  const [top, tall] = LAYOUT.batches, [high, low] = LAYOUT.overview;
  const whole = left + (data.newFrom / data.fileSize) * span, until = left + (data.validSize / data.fileSize) * span;
  dashes(pen, x(data.newFrom), Math.max(x(data.newFrom) + 3, x(data.validSize)), top + tall + 3);
  dashes(pen, whole, Math.max(whole + 3, until), high + low + 4);
}

export function dashes(pen, from, to, y) {
  pen.strokeStyle = FRESH;
  pen.lineWidth = 3;
  pen.setLineDash([5, 2]);
  pen.beginPath();
  pen.moveTo(from, y);
  pen.lineTo(to, y);
  pen.stroke();
  pen.setLineDash([]);
}

function paintMarks(scene) {
  const { pen, data, ink, mark, x } = scene, [top, tall] = LAYOUT.batches;
  if (mark.selected >= 0 && mark.selected < data.length) paintLookup(scene, mark.selected, mark.offset);
  for (
    const [i, color, weight, grow] of [[mark.hover, ink.fg, 1.5, 1], [mark.selected, ink.bg, 6, 2.5], [
      mark.selected,
      ink.fg,
      2.5,
      2.5,
    ]]
  ) {
    if (i < 0 || i >= data.length) continue;
    const a = x(data.position[i]), wide = Math.max(3, x(data.end[i]) - a);
    pen.strokeStyle = color;
    pen.lineWidth = weight;
    pen.beginPath();
    pen.roundRect(a - grow / 2, top - grow, wide + grow - 1, tall + grow * 2, 3);
    pen.stroke();
  }
}

export function mapSummary(data) {
  const size = `${plural(data.length, "batch", "batches")}, ${bytes(data.fileSize)}`;
  const times = data.firstTime === null ? "" : ` over ${duration(data.lastTime - data.firstTime)}`;
  const tail = tailText(data), bad = data.problem.reduce((n, each) => n + (each !== 0), 0);
  return `${size}${times}${bad ? `, ${plural(bad, "damaged batch", "damaged batches")}` : ""}${
    tail ? `; ${tail}` : ""
  }`;
}
