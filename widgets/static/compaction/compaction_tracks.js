// The picture of a cleaning: the records on disk, the decisions, and the new segments.
import { bytes, count, range } from "../shared/format.js";
import { BLUE, DAMAGE, GREEN, hatch, ORANGE } from "../shared/theme.js";

export const CLEANING = { gutter: 92, right: 12, tall: 262 };
export const LANES = {
  overview: [8, 12],
  name: [28, 20],
  arcs: [54, 34],
  before: [92, 54],
  fall: [146, 22],
  after: [168, 54],
  target: [228, 26],
};
const NOW = ORANGE, KEPT = GREEN, MAPPED = BLUE;
const REGIONS = { clean: KEPT, dirty: NOW };
const REGION_WORDS = { clean: "clean", dirty: "dirty", waiting: "not cleaned yet", active: "active" };

export function paintCleaning(scene) {
  const { pen, left, span, tall } = scene;
  paintLaneNames(scene);
  paintWhole(scene);
  pen.save();
  pen.beginPath();
  pen.rect(left - 6, 0, span + 12, tall);
  pen.clip();
  paintSegmentNames(scene);
  paintTargets(scene);
  for (let b = scene.first; b <= scene.last; b++) paintBatch(scene, b);
  paintSameKey(scene);
  paintArcs(scene);
  paintFrame(scene);
  pen.restore();
}

function paintLaneNames({ pen, ink, left }) {
  if (left < 60) return;
  pen.textAlign = "left";
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  for (
    const [name, lane] of [["Whole log", "overview"], ["Segments", "name"], ["Before", "before"], ["After", "after"]]
  ) pen.fillText(name, 0, LANES[lane][0] + LANES[lane][1] / 2);
}

// The whole log in one line: its regions, the step's progress, and what the picture shows.
function paintWhole({ pen, ink, round, at, view, left, span, data }) {
  const [top, tall] = LANES.overview, x = (cell) => left + (cell / round.wide) * span;
  round.segments.forEach((segment, s) => {
    const a = x(round.segmentFrom[s]), b = x(round.segmentTo[s]), wide = Math.max(1.5, b - a);
    const isDone = segment.steps.cleaned <= at;
    pen.fillStyle = REGIONS[segment.region] ?? ink.faint;
    pen.globalAlpha = isDone ? 0.9 : segment.region in REGIONS ? 0.3 : 0.22;
    box(pen, a, top, wide, tall, 3);
    pen.globalAlpha = 1;
  });
  const touched = at < 0 ? null : round.touched(data, at);
  if (touched) {
    const wide = Math.max(2, x(touched[1]) - x(touched[0]));
    pen.fillStyle = ink.fg;
    if (wide < 24) pen.fillRect(x(touched[0]), top - 2, wide, tall + 4);
    else pen.fillRect(x(touched[0]), top + tall + 1, wide, 2);
  }
  if (view[1] - view[0] >= round.wide * 0.999) return;
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  const a = x(view[0]);
  pen.strokeRect(a, top - 2, Math.max(4, x(Math.min(view[1], round.wide)) - a), tall + 4);
}

function paintSegmentNames({ pen, ink, round, at, x, left, span }) {
  const [top, tall] = LANES.name;
  round.segments.forEach((segment, s) => {
    const a = x(round.segmentFrom[s]), b = x(round.segmentTo[s]);
    if (b < left - 6 || a > left + span + 6) return;
    const fate = round.fate(s, at), from = Math.max(a, left), to = Math.min(b, left + span);
    pen.fillStyle = REGIONS[segment.region] ?? ink.faint;
    pen.globalAlpha = fate === "removed" ? 0.3 : 1;
    pen.fillRect(a, top + tall - 3, b - a, 3);
    pen.globalAlpha = 1;
    pen.save();
    pen.beginPath();
    pen.rect(from, top, Math.max(0, to - from + 10), tall);
    pen.clip();
    pen.textAlign = "left";
    pen.font = ink.strong;
    pen.fillStyle = fate ? ink.faint : ink.fg;
    const name = count(segment.base),
      words = fate === "removed" ? "removed" : fate === "deleted" ? "renamed .deleted" : REGION_WORDS[segment.region];
    pen.fillText(name, from + 1, top + tall / 2 - 3);
    const wide = pen.measureText(name).width;
    pen.font = ink.small;
    pen.fillStyle = fate ? ink.faint : ink.dim;
    pen.fillText(words, from + wide + 7, top + tall / 2 - 3);
    pen.restore();
  });
}

// The new segments: as wide as their source segments, dashed until they are swapped in.
function paintTargets(scene) {
  const { pen, ink, round, at, x, left, span } = scene, [top, tall] = LANES.after, [nameTop] = LANES.target;
  for (const group of round.groups) {
    if (group.step > at) continue;
    const a = x(round.segmentFrom[group.first]) - 5, b = x(round.segmentTo[group.last]) + 5;
    if (b < left - 6 || a > left + span + 6) continue;
    const suffix = round.suffix(group, at), isIn = suffix === "";
    pen.fillStyle = ink.panel;
    box(pen, a, top - 7, b - a, tall + 14, 6);
    pen.strokeStyle = isIn ? KEPT : ink.faint;
    pen.lineWidth = isIn ? 2 : 1;
    pen.setLineDash(isIn ? [] : [4, 3]);
    pen.beginPath();
    pen.roundRect(a + 0.5, top - 6.5, b - a - 1, tall + 13, 6);
    pen.stroke();
    pen.setLineDash([]);
    pen.font = ink.small;
    pen.textAlign = "left";
    pen.fillStyle = isIn ? ink.fg : ink.dim;
    pen.fillText(groupText(round, group, at, suffix), Math.max(a + 3, left), nameTop + 12);
  }
}

function groupText(round, group, at, suffix) {
  let size = 0, left = 0;
  for (let b = round.firstBatches[group.first]; b < round.firstBatches[group.last + 1]; b++) {
    size += round.batches.size[b];
    if (round.judged[b] <= at) left += round.batches.new_size[b];
  }
  const name = `${round.segments[group.first].base.padStart(20, "0")}.log${suffix}`,
    from = group.last - group.first + 1;
  return `${name}  ·  ${bytes(left)}${size ? ` of ${bytes(size)}` : ""}${from > 1 ? ` from ${from} segments` : ""}`;
}

function paintBatch(scene, b) {
  const { round, x, at } = scene, a = x(round.from[b]), wide = x(round.to[b]) - a, s = round.segmentOfBatch(b);
  const fate = round.fate(s, at);
  scene.pen.globalAlpha = fate === "removed" ? 0.16 : fate ? 0.42 : 1;
  paintBefore(scene, b, a, wide);
  scene.pen.globalAlpha = 1;
  paintAfter(scene, b, a, wide);
}

function paintBefore(scene, b, a, wide) {
  const { pen, ink, round, at } = scene, [top, tall] = LANES.before;
  frame(scene, b, a, wide, top, tall, "");
  if (!round.records) return wholeBatch(scene, b, a, wide, top, tall);
  for (let r = round.firstRecords[b]; r < round.firstRecords[b + 1]; r++) {
    recordCell(scene, b, r, top + 4, tall - 8, round.state(r, at, scene.data));
  }
  if (round.firstRecords[b] === round.firstRecords[b + 1]) emptyBatch(pen, ink, a, wide, top, tall);
}

function paintAfter(scene, b, a, wide) {
  const { pen, ink, round, at } = scene, [top, tall] = LANES.after, verdict = round.verdict(b, at);
  if (verdict === "gone") return;
  if (!round.records) {
    if (!verdict) return;
    frame(scene, b, a, wide, top, tall, verdict);
    const share = round.batches.size[b] ? round.batches.new_size[b] / round.batches.size[b] : 0;
    if (verdict === "emptied") return emptyBatch(pen, ink, a, wide, top, tall);
    pen.fillStyle = KEPT;
    box(pen, a + 3, top + 4 + (tall - 8) * (1 - share), wide - 6, (tall - 8) * share, 3);
    if (wide > 26) {
      label(
        pen,
        `${count(round.batches.kept[b])}`,
        a + wide / 2,
        share > 0.4 ? top + tall - 14 : top + 14,
        share > 0.4 ? "#fff" : ink.fg,
        ink.strong,
      );
    }
    return;
  }
  const any = recordsKept(scene, b);
  if (!verdict && !any) return;
  frame(scene, b, a, wide, top, tall, verdict || "pending");
  if (verdict === "emptied") emptyBatch(pen, ink, a, wide, top, tall);
  for (let r = round.firstRecords[b]; r < round.firstRecords[b + 1]; r++) {
    if (round.state(r, at, scene.data) === "kept") recordCell(scene, b, r, top + 4, tall - 8, "written");
  }
}

function recordsKept({ round, at, data }, b) {
  for (let r = round.firstRecords[b]; r < round.firstRecords[b + 1]; r++) {
    if (round.state(r, at, data) === "kept") return true;
  }
  return false;
}

// The frame of a batch: a bar below for a transaction, dashed if it is rewritten.
function frame({ pen, ink, round }, b, a, wide, top, tall, verdict) {
  const flags = round.batches.flags[b];
  pen.fillStyle = ink.hair;
  box(pen, a, top, wide, tall, 5);
  if (verdict) {
    pen.strokeStyle = verdict === "pending" ? ink.faint : KEPT;
    pen.lineWidth = 1.25;
    pen.setLineDash(
      verdict === "rebuilt" || verdict === "pending" ? [3, 2.5] : verdict === "emptied" ? [1.5, 2.5] : [],
    );
    pen.beginPath();
    pen.roundRect(a + 0.5, top + 0.5, Math.max(2, wide - 1), tall - 1, 5);
    pen.stroke();
    pen.setLineDash([]);
  }
  if (flags & 1) {
    pen.fillStyle = ink.control;
    pen.fillRect(a + 5, top + tall - 2.5, Math.max(1, wide - 10), 2);
  }
}

function emptyBatch(pen, ink, a, wide, top, tall) {
  pen.strokeStyle = ink.faint;
  pen.lineWidth = 1;
  pen.setLineDash([2, 3]);
  pen.strokeRect(a + 5, top + 6, Math.max(2, wide - 10), tall - 12);
  pen.setLineDash([]);
}

function wholeBatch({ pen, ink, round, at }, b, a, wide, top, tall) {
  const verdict = round.verdict(b, at),
    share = round.batches.size[b] ? round.batches.new_size[b] / round.batches.size[b] : 0;
  const inside = tall - 8,
    y = top + 4,
    x = a + Math.min(3, wide / 8),
    w = Math.max(1, wide - 2 * Math.min(3, wide / 8));
  if (!verdict) {
    pen.fillStyle = round.unmapped[b] <= at ? ink.faint : ink.line;
    box(pen, x, y, w, inside, 3);
  } else {
    dropped(pen, ink, x, y, w, inside);
    pen.fillStyle = KEPT;
    if (share > 0) box(pen, x, y + inside * (1 - share), w, inside * share, 3);
  }
  const text = [range(round.batches.base_offset[b], round.batches.last_offset[b]), count(round.batches.base_offset[b])]
    .find((each) => {
      pen.font = ink.small;
      return pen.measureText(each).width + 8 <= wide;
    });
  if (text) plate(pen, ink, text, a + wide / 2, top + tall / 2, Boolean(verdict));
}

function plate(pen, ink, text, x, y, isFramed) {
  pen.font = ink.small;
  if (isFramed) {
    const wide = pen.measureText(text).width + 6;
    pen.fillStyle = ink.bg;
    pen.globalAlpha *= 0.9;
    box(pen, x - wide / 2, y - 7, wide, 14, 4);
    pen.globalAlpha = Math.min(1, pen.globalAlpha / 0.9);
  }
  label(pen, text, x, y, isFramed ? ink.fg : ink.dim, ink.small);
}

function label(pen, text, x, y, color, font) {
  pen.font = font;
  pen.textAlign = "center";
  pen.fillStyle = color;
  pen.fillText(text, x, y);
}

function dropped(pen, ink, x, y, wide, tall) {
  pen.fillStyle = ink.bg;
  box(pen, x, y, wide, tall, 3);
  pen.fillStyle = hatch(pen, ink.dark ? "rgba(213,94,0,.75)" : "rgba(213,94,0,.5)", 6);
  box(pen, x, y, wide, tall, 3);
  pen.strokeStyle = DAMAGE;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.roundRect(x + 0.5, y + 0.5, Math.max(1, wide - 1), tall - 1, 3);
  pen.stroke();
}

// A record: its key large, its offset small. A tombstone has its own shape; a marker is dark.
function recordCell({ pen, ink, round, x, data }, b, r, y, tall, state) {
  const place = round.from[b] + r - round.firstRecords[b],
    gap = 1.5,
    a = x(place) + gap,
    wide = Math.max(1.5, x(place + 1) - x(place) - 2 * gap);
  const control = round.records.control[r], isTombstone = round.records.tombstone[r] === 1, key = round.records.key[r];
  const shape = () => {
    pen.beginPath();
    pen.roundRect(a, y, wide, tall, isTombstone ? [Math.min(wide / 2, 14), Math.min(wide / 2, 14), 2, 2] : 3);
  };
  let text = ink.dim;
  if (state === "dropped") {
    pen.fillStyle = ink.bg;
    shape();
    pen.fill();
    pen.fillStyle = hatch(pen, ink.dark ? "rgba(213,94,0,.6)" : "rgba(213,94,0,.38)", 6);
    shape();
    pen.fill();
    pen.strokeStyle = DAMAGE;
    pen.lineWidth = 1;
    shape();
    pen.stroke();
    text = ink.fg;
  } else {
    pen.fillStyle = state === "kept" || state === "written"
      ? KEPT
      : state === "mapped"
      ? MAPPED
      : control >= 0
      ? ink.control
      : ink.line;
    shape();
    pen.fill();
    if (state || control >= 0) text = control >= 0 && !state ? ink.bg : "#fff";
  }
  if (wide < 12) return;
  const name = control >= 0 ? (control === 1 ? "commit" : "abort") : key < 0 ? "none" : data.keyName(key, true);
  pen.font = ink.strong;
  const font = control >= 0 || key < 0 || pen.measureText(name).width > wide - 3 ? ink.small : ink.strong;
  if (state === "dropped") {
    pen.fillStyle = ink.bg;
    pen.globalAlpha *= 0.82;
    box(pen, a + 2, y + tall / 2 - 15, wide - 4, 30, 3);
    pen.globalAlpha = Math.min(1, pen.globalAlpha / 0.82);
  }
  const faded = pen.globalAlpha; // of a segment that is marked deleted, or gone: its names stay readable
  if (faded < 1) [text, pen.globalAlpha] = [ink.fg, 1];
  label(pen, fitted(pen, name, wide - 3, font), a + wide / 2, y + tall / 2 - 6, text, font);
  const offset = count(round.records.offset[r]);
  pen.globalAlpha *= 0.85;
  label(pen, fitted(pen, offset, wide - 2, ink.small), a + wide / 2, y + tall / 2 + 9, text, ink.small);
  pen.globalAlpha = faded;
}

function fitted(pen, text, wide, font) {
  pen.font = font;
  if (pen.measureText(text).width <= wide) return text;
  for (let n = text.length - 1; n > 0; n--) {
    if (pen.measureText(`${text.slice(0, n)}…`).width <= wide) return `${text.slice(0, n)}…`;
  }
  return "";
}

// Dots over the records that have the key of the step's record.
function paintSameKey({ pen, ink, round, x, data, at }) {
  const record = at < 0 ? -1 : data.record(at);
  if (record < 0) return;
  const y = LANES.before[0] - 8;
  pen.fillStyle = ink.accent;
  for (const r of round.recordsOf(round.records.key[record])) {
    pen.beginPath();
    pen.arc(x(round.placeOf(r) + 0.5), y, r === record ? 3.5 : 2.2, 0, 7);
    pen.fill();
  }
}

// From a record to the newer record of its key: when its key is mapped again, and when it is dropped.
function paintArcs({ pen, round, x, data, at }) {
  const record = at < 0 ? -1 : data.record(at), role = at < 0 ? "" : data.role(at);
  if (record < 0) return;
  const offsets = round.records.offset, key = round.records.key[record], y = LANES.before[0] - 12;
  if (role === "dropped" && round.records.newer[record] >= 0) {
    const newer = round.recordsOf(key).find((r) => offsets[r] === round.records.newer[record]);
    if (newer !== undefined) arrow(pen, x(round.placeOf(record) + 0.5), x(round.placeOf(newer) + 0.5), y, DAMAGE);
  }
  if (role === "mapped") {
    const before = round.recordsOf(key).findLast((r) => r < record && round.mapped[r] < at);
    if (before !== undefined) arrow(pen, x(round.placeOf(before) + 0.5), x(round.placeOf(record) + 0.5), y, MAPPED);
  }
}

function arrow(pen, from, to, y, color) {
  const height = Math.min(LANES.arcs[1], 12 + Math.abs(to - from) / 9) * 1.3;
  pen.strokeStyle = pen.fillStyle = color;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.moveTo(from, y);
  pen.bezierCurveTo(from, y - height, to, y - height, to, y - 5);
  pen.stroke();
  pen.beginPath();
  pen.moveTo(to - 4.5, y - 7);
  pen.lineTo(to, y);
  pen.lineTo(to + 4.5, y - 7);
  pen.fill();
}

// A frame around what the step is about.
function paintFrame({ pen, ink, round, x, data, at }) {
  const touched = at < 0 ? null : round.touched(data, at), role = at < 0 ? "" : data.role(at);
  if (!touched) return;
  const isTarget = role === "ready" || role === "swapped",
    [top, tall] = LANES[isTarget ? "after" : "before"],
    grow = isTarget ? 9 : 2;
  const a = x(touched[0]) - (isTarget ? 6 : 0), b = x(touched[1]) + (isTarget ? 6 : 0);
  for (const [color, width] of [[ink.bg, 5], [NOW, 2.5]]) {
    pen.strokeStyle = color;
    pen.lineWidth = width;
    pen.beginPath();
    pen.roundRect(a - 1, top - grow, b - a + 2, tall + 2 * grow, 6);
    pen.stroke();
  }
}

function box(pen, x, y, wide, tall, r) {
  pen.beginPath();
  pen.roundRect(x, y, Math.max(0.5, wide), tall, r);
  pen.fill();
}
