// What a player paints of a segment: its batches with their states, index entries, the search.
import { paintByteGrid } from "../charts/byte_grid.js";
import { floorIndex } from "../shared/columns.js";
import { bytes, count, range } from "../shared/format.js";
import { stateRuns } from "./player_view.js";
import { BLUE, DAMAGE, GREEN, hatch, ORANGE } from "../shared/theme.js";

export const STAGE = { gutter: 92, right: 12, tall: 214, tallWithoutSearch: 154 };
export const TRACKS = {
  overview: [8, 12],
  axis: [28, 18],
  walk: [50, 22],
  batches: [74, 46],
  index: [128, 18],
  path: [148, 58],
};
const FILLS = { found: GREEN, valid: BLUE, appended: BLUE, invalid: DAMAGE };
const NOW = ORANGE;

export function paintStage(scene) {
  const { pen, left, span, tall } = scene;
  paintNames(scene);
  paintOverview(scene);
  pen.save();
  pen.beginPath();
  pen.rect(left - 5, 0, span + 10, tall);
  pen.clip();
  paintByteGrid(scene, TRACKS.axis, tall - 6);
  paintBatches(scene);
  paintCut(scene);
  paintWalk(scene);
  paintIndex(scene);
  paintPath(scene);
  paintNow(scene);
  pen.restore();
}

function paintNames({ pen, ink, left, segment, at }) {
  if (left < 60) return;
  pen.textAlign = "left";
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  const names = [["Whole file", "overview"], ["Batches", "batches"], [
    isInTimes(segment, at) ? "Time index" : "Offset index",
    "index",
  ]];
  if (segment.probes.length) names.push(["Search", "path"]);
  for (const [name, key] of names) pen.fillText(name, 0, TRACKS[key][0] + TRACKS[key][1] / 2);
}

function paintOverview({ pen, ink, segment, at, view, left, span }) {
  const [top, tall] = TRACKS.overview, size = Math.max(1, segment.size), x = (byte) => left + (byte / size) * span;
  pen.fillStyle = ink.hair;
  box(pen, left, top, span, tall, 3);
  const done = segment.shownSize(at), seen = segment.done(at);
  if (segment.reveal || seen) {
    pen.fillStyle = FILLS.valid;
    pen.globalAlpha = ink.dark ? 0.75 : 0.6;
    box(pen, left, top, Math.max(1, x(segment.reveal ? done : seen) - left), tall, 3);
    pen.globalAlpha = 1;
  }
  const cut = segment.cutFrom(at);
  if (cut < Infinity) striped(pen, ink, x(cut), top, Math.max(2, x(segment.size) - x(cut)), tall);
  for (const { position, step } of segment.probes) {
    if (step > at) continue;
    pen.fillStyle = step === at ? NOW : ink.accent;
    pen.fillRect(x(position) - 1, top, 2, tall);
  }
  if (view[1] - view[0] >= size * 0.999) return;
  const a = x(view[0]), b = Math.max(a + 4, x(view[1]));
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  pen.strokeRect(a, top - 2, b - a, tall + 4);
}

function paintBatches(scene) {
  const { pen, ink, segment, at, view, x, span, left } = scene, [top, tall] = TRACKS.batches;
  if (!segment.length) {
    pen.fillStyle = ink.faint;
    pen.font = ink.ui;
    pen.textAlign = "left";
    pen.fillText(
      segment.size ? `${bytes(segment.size)}, contents not read` : "no batches yet",
      left + 2,
      top + tall / 2,
    );
    return;
  }
  const first = Math.max(0, floorIndex(segment.position, view[0])), last = floorIndex(segment.position, view[1]);
  const least = ((view[1] - view[0]) / span) * 3;
  const stripes = hatch(pen, ink.dark ? "rgba(0,0,0,.34)" : "rgba(255,255,255,.4)", 7);
  for (const run of stateRuns(segment, first, last, at, least)) {
    const a = x(run.from),
      b = x(run.to),
      gap = b - a > 5 ? 1.5 : b - a > 2.5 ? 0.5 : 0,
      wide = Math.max(0.75, b - a - gap);
    pen.fillStyle = FILLS[run.state] ?? ink.line;
    pen.globalAlpha = run.state === "" ? (ink.dark ? 0.8 : 0.62) : run.state === "passed" ? 1 : ink.dark ? 0.9 : 0.86;
    if (run.state === "passed") pen.fillStyle = ink.faint;
    box(pen, a, top, wide, tall, Math.min(3, wide / 3));
    pen.globalAlpha = 1;
    if (run.state === "invalid") {
      pen.fillStyle = stripes;
      box(pen, a, top, wide, tall, 3);
    }
    if (run.first === run.last && wide > 34) labelBatch(scene, run.first, run.state, a, wide);
  }
}

function labelBatch({ pen, ink, segment }, row, state, a, wide) {
  const [top, tall] = TRACKS.batches, from = segment.baseOffset.exact(row), to = segment.lastOffset.exact(row);
  pen.font = ink.small;
  const text = [range(from, to), count(from)].find((each) => pen.measureText(each).width + 8 <= wide);
  if (!text) return;
  pen.textAlign = "center";
  pen.fillStyle = state === "" ? ink.dim : state === "passed" ? ink.bg : "#fff";
  pen.fillText(text, a + wide / 2, top + tall / 2);
}

function striped(pen, ink, a, top, wide, tall) {
  pen.fillStyle = ink.bg;
  pen.fillRect(a, top, wide, tall);
  pen.fillStyle = hatch(pen, DAMAGE, 6);
  pen.fillRect(a, top, wide, tall);
  pen.strokeStyle = DAMAGE;
  pen.lineWidth = 1.25;
  pen.strokeRect(a + 0.6, top + 0.6, Math.max(1, wide - 1.2), tall - 1.2);
}

function paintCut({ pen, ink, segment, at, x, left, span }) {
  const from = segment.cutFrom(at), [top, tall] = TRACKS.batches;
  if (from === Infinity) return;
  const a = Math.max(left - 6, x(from)), b = Math.min(left + span + 6, x(segment.size));
  if (b <= left - 5 || a >= left + span + 5) return;
  striped(pen, ink, a, top - 2, Math.max(3, b - a), tall + 4);
  const text = `${bytes(segment.size - from)} truncated`;
  pen.font = ink.strong;
  const wide = pen.measureText(text).width + 12;
  if (b - a < wide + 4) return;
  pen.fillStyle = ink.bg;
  box(pen, (a + b) / 2 - wide / 2, top + tall / 2 - 9, wide, 18, 9);
  pen.fillStyle = DAMAGE;
  pen.textAlign = "center";
  pen.fillText(text, (a + b) / 2, top + tall / 2 + 0.5);
}

// Hops over the batches whose headers a lookup read.
function paintWalk({ pen, ink, data, segment, at, x }) {
  const [top, tall] = TRACKS.walk;
  let from = null;
  for (let i = 0; i <= at; i++) {
    if (data.segments[data.segmentOf(i)] !== segment) continue;
    const role = data.role(i), touched = data.touched(i);
    if (role === "entry") from = null;
    if (role !== "passed" && role !== "found") continue;
    const to = x(touched[0]) + Math.min(8, (x(touched[1]) - x(touched[0])) / 2);
    if (from !== null) {
      arc(
        pen,
        from,
        to,
        top + tall,
        Math.min(tall - 4, 8 + (to - from) / 6),
        i === at ? NOW : ink.accent,
        i === at ? 2 : 1.25,
        -1,
      );
    }
    from = to;
  }
}

// Whether the lookup is in the time index at step `at`.
function isInTimes(segment, at) {
  const last = segment.probes[floorIndex(segment.probes.map((each) => each.step), at)];
  return Boolean(last?.role.startsWith("time"));
}

function paintIndex({ pen, ink, segment, at, view, x, span }) {
  const isTime = isInTimes(segment, at), entries = isTime ? segment.timeEntries : segment.entries(at);
  const [top, tall] = TRACKS.index, y = top + tall / 2;
  const first = Math.max(0, floorIndex(entries, view[0])), last = floorIndex(entries, view[1]);
  const dense = (last - first) / span > 0.2, tip = TRACKS.batches[0] + TRACKS.batches[1] + 1;
  pen.strokeStyle = ink.accent;
  pen.fillStyle = ink.accent;
  for (let k = first; k <= last; k++) {
    const place = x(entries[k]);
    pen.globalAlpha = 0.45;
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(place + 0.5, tip);
    pen.lineTo(place + 0.5, y);
    pen.stroke();
    pen.globalAlpha = 1;
    mark(pen, place + 0.5, y, dense ? 1.6 : 3, isTime);
  }
}

// The binary search: an arc from each entry compared to the next, numbered in their order.
function paintPath({ pen, ink, segment, at, x }) {
  const y = TRACKS.index[0] + TRACKS.index[1] / 2, [top, tall] = TRACKS.path, base = y + 8;
  const shown = segment.probes.filter((each) => each.step <= at);
  const isTime = isInTimes(segment, at);
  const mine = shown.filter((each) => each.role.startsWith("time") === isTime);
  const places = [];
  mine.forEach((each, k) => {
    const to = x(each.position), last = k === mine.length - 1, isEntry = each.role.endsWith("entry");
    if (k && !isEntry) {
      const from = x(mine[k - 1].position);
      arc(
        pen,
        from,
        to,
        base,
        Math.min(tall - 16, 10 + Math.abs(to - from) / 7),
        last && each.step === at ? NOW : ink.accent,
        last && each.step === at ? 2 : 1,
        1,
        last ? 1 : 0.25 + (0.5 * k) / mine.length,
      );
    }
    if (!isEntry) places.push([to, k + 1, each]);
  });
  pen.font = ink.small;
  pen.textAlign = "center";
  for (const [place, number, each] of places) {
    const isNow = each.step === at;
    pen.fillStyle = ink.bg;
    mark(pen, place + 0.5, y, isNow ? 9 : 7.5, isTime);
    pen.fillStyle = isNow ? NOW : ink.accent;
    mark(pen, place + 0.5, y, isNow ? 8 : 6.5, isTime);
    pen.fillStyle = isNow ? "#16191d" : ink.bg;
    pen.fillText(number, place + 0.5, y + 0.5);
  }
  if (isTime && mine.length) {
    pen.textAlign = "left";
    pen.fillStyle = ink.dim;
    pen.fillText(
      "each entry is below the batch that holds its offset",
      x(0) < 0 ? 96 : Math.max(12, x(0)),
      top + tall - 4,
    );
  }
}

// A frame and a pointer for what the step touched.
function paintNow({ pen, ink, data, segment, at, x, left, span }) {
  const touched = data.segments[data.segmentOf(at)] === segment ? data.touched(at) : null;
  if (!touched) return;
  const role = data.role(at),
    a = x(touched[0]),
    b = x(touched[1]),
    [top, tall] = TRACKS.batches,
    y = TRACKS.index[0] + TRACKS.index[1] / 2;
  if (role === "cut" || b < left - 4 || a > left + span + 4) return;
  if (role.endsWith("probe")) return stem(pen, a, top + tall + 1, y - 9);
  if (role === "entry" || role === "added" || role === "time entry") {
    pen.strokeStyle = ink.bg;
    pen.fillStyle = role === "added" ? NOW : FILLS.found;
    stem(pen, a, top + tall + 1, y, pen.fillStyle);
    disc(pen, a + 0.5, y, 6.5);
    if (role !== "added") stem(pen, a, top, top + tall, pen.fillStyle);
  }
  if (role === "skipped") {
    pen.strokeStyle = ink.faint;
    pen.lineWidth = 1.5;
    pen.setLineDash([2, 2]);
    pen.beginPath();
    pen.arc(a + 0.5, y, 4.5, 0, 7);
    pen.stroke();
    pen.setLineDash([]);
  }
  if (role === "entry" || role === "time entry") return;
  pen.strokeStyle = ink.bg;
  pen.lineWidth = 5;
  const wide = Math.max(3, b - a - 1.5);
  pen.strokeRect(a - 1.5, top - 2, wide + 3, tall + 4);
  pen.strokeStyle = role === "invalid" ? DAMAGE : role === "found" ? FILLS.found : NOW;
  pen.lineWidth = 2.5;
  pen.strokeRect(a - 1.5, top - 2, wide + 3, tall + 4);
}

function stem(pen, x, from, to, color = NOW) {
  pen.strokeStyle = color;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(x + 0.5, from);
  pen.lineTo(x + 0.5, to);
  pen.stroke();
}

function arc(pen, from, to, y, height, color, width, down, alpha = 1) {
  pen.strokeStyle = pen.fillStyle = color;
  pen.globalAlpha = alpha;
  pen.lineWidth = width;
  pen.beginPath();
  pen.moveTo(from, y);
  pen.bezierCurveTo(from, y + down * height * 1.3, to, y + down * height * 1.3, to, y);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to - 3.5, y + down * 6);
  pen.lineTo(to, y);
  pen.lineTo(to + 3.5, y + down * 6);
  pen.stroke();
  pen.globalAlpha = 1;
}

function disc(pen, x, y, r) {
  pen.beginPath();
  pen.arc(x, y, r, 0, 7);
  pen.fill();
}

function mark(pen, x, y, r, isTime) {
  if (!isTime) return disc(pen, x, y, r);
  pen.beginPath();
  pen.moveTo(x, y - r * 1.2);
  pen.lineTo(x + r * 1.2, y);
  pen.lineTo(x, y + r * 1.2);
  pen.lineTo(x - r * 1.2, y);
  pen.fill();
}

function box(pen, x, y, wide, tall, r) {
  pen.beginPath();
  pen.roundRect(x, y, wide, tall, r);
  pen.fill();
}
