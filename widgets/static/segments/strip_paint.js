// A partition's segments on a canvas: boxes on an axis of bytes or offsets, with what is said of each.
import { byteTicks, countTicks } from "../charts/axis.js";
import { bytes, count, plural } from "../shared/format.js";
import { DAMAGE, hatch } from "../shared/theme.js";
import { LAYOUT } from "./track_layout.js";
import { dashes } from "./tracks.js";

export const STRIP = { top: 14, tall: 30, height: 68 };

// Where each segment starts and ends on the axis, as numbers from 0.
export function stripSpans(segments, mode) {
  const sizes = segments.size, starts = [], ends = [];
  if (mode === "bytes") {
    let at = 0;
    for (const size of sizes) {
      starts.push(at);
      ends.push(at += size);
    }
    return { starts, ends, total: at };
  }
  const origin = BigInt(segments.base_offset[0] ?? 0);
  segments.base_offset.forEach((base, i) => {
    starts.push(Number(BigInt(base) - origin));
    ends.push(Number(BigInt(segments.next_offset[i]) - origin));
  });
  return { starts, ends, total: ends.at(-1) ?? 0, origin: Number(origin) };
}

// The geometry of a strip so many pixels wide.
export function stripScene(pen, ink, width, spans) {
  const left = width < 560 ? 12 : LAYOUT.gutter, span = width - left - LAYOUT.right;
  return { pen, ink, width, left, span, x: (value) => left + (value / Math.max(1, spans?.total ?? 1)) * span };
}

// The segment at a pixel; -1 on the left of them.
export function segmentAt(px, { left, span }, { starts, ends, total }) {
  const value = ((px - left) / span) * total;
  if (px < left) return -1;
  return ends.findIndex((end, i) => value >= starts[i] && (value < end || i === ends.length - 1));
}

export function segmentSentence(data, i, isNew) {
  const marks = [
    isNew && "written since following began",
    data.is_active[i] && "active",
    data.remote[i] && "in the remote tier",
    data.findings[i] && plural(data.findings[i], "finding"),
  ].filter(Boolean);
  const what = marks.length ? `, ${marks.join(", ")}` : "";
  return `Segment ${i + 1} of ${data.size.length}: base offset ${count(data.base_offset[i])}, ${
    bytes(data.size[i])
  }${what}.`;
}

// `state` is {data, spans, mode, selected, hover, fresh} of the strip.
export function paintStrip(scene, state) {
  const { pen, ink, width, left } = scene, { data } = state;
  pen.clearRect(0, 0, width, STRIP.height);
  if (!data) return;
  pen.textBaseline = "middle";
  if (left > 60) {
    pen.font = ink.ui;
    pen.fillStyle = ink.dim;
    pen.textAlign = "left";
    pen.fillText("Segments", 0, STRIP.top + STRIP.tall / 2);
  }
  const stripes = hatch(pen, ink.dim, 6);
  for (let i = 0; i < data.size.length; i++) paintSegment(scene, state, i, stripes);
  paintOutlines(scene, state);
  paintStripAxis(scene, state);
  paintLogStart(scene, state);
}

function paintSegment({ pen, ink, x }, { data, spans, mode, selected, fresh }, i, stripes) {
  const a = x(spans.starts[i]), full = x(spans.ends[i]) - a, { top, tall } = STRIP;
  const wide = Math.max(1.5, full - (full > 6 ? 2 : full > 3 ? 1 : 0));
  const shape = () => {
    pen.beginPath();
    pen.roundRect(a, top, wide, tall, wide > 8 ? 4 : 0);
  };
  const fill = (style, alpha) => {
    pen.globalAlpha = alpha;
    pen.fillStyle = style;
    shape();
    pen.fill();
    pen.globalAlpha = 1;
  };
  fill(ink.accent, (i === selected ? 0.34 : 0.16) / (data.remote[i] ? 2 : 1));
  if (data.remote[i]) {
    pen.strokeStyle = ink.dim;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    shape();
    pen.stroke();
    pen.setLineDash([]);
  }
  if (data.is_active[i]) fill(stripes, 0.16);
  if (data.findings[i]) {
    pen.fillStyle = DAMAGE;
    pen.fillRect(a, top + tall - 3, wide, 3);
  }
  const newFrom = fresh[data.base_offset[i]];
  if (newFrom !== undefined) {
    const part = mode === "bytes" ? newFrom / Math.max(1, data.size[i]) : 0;
    dashes(pen, a + Math.min(part * wide, Math.max(0, wide - 3)), a + wide, top - 5);
  }
  if (wide < 46) return;
  pen.save();
  shape();
  pen.clip();
  paintSegmentName(pen, ink, data, i, a, wide);
  pen.restore();
}

function paintSegmentName(pen, ink, data, i, left, wide) {
  const middle = STRIP.top + STRIP.tall / 2, name = count(data.base_offset[i]);
  pen.font = ink.strong;
  pen.fillStyle = ink.fg;
  pen.textAlign = "left";
  pen.fillText(name, left + 8, middle);
  const after = left + 16 + pen.measureText(name).width;
  const text = `${bytes(data.size[i])}${data.remote[i] ? " · remote" : data.is_active[i] ? " · active" : ""}`;
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  if (after + pen.measureText(text).width < left + wide - 6) pen.fillText(text, after, middle);
}

// Around the segment under the pointer, and the selected one.
function paintOutlines({ pen, ink, x }, { data, spans, selected, hover }) {
  const { top, tall } = STRIP;
  for (const [i, color, weight] of [[hover, ink.fg, 1.5], [selected, ink.bg, 4.5], [selected, ink.fg, 1.75]]) {
    if (i < 0 || i >= data.size.length) continue;
    const start = x(spans.starts[i]), end = x(spans.ends[i]);
    pen.strokeStyle = color;
    pen.lineWidth = weight;
    pen.beginPath();
    pen.roundRect(start - 0.5, top - 1, Math.max(3, end - start), tall + 2, 4);
    pen.stroke();
  }
}

function paintStripAxis({ pen, ink, x, left, span }, { spans, mode }) {
  const low = STRIP.top + STRIP.tall, origin = mode === "bytes" ? 0 : spans.origin, most = span / 110;
  const ticks = mode === "bytes" ? byteTicks(0, spans.total, most) : countTicks(origin, origin + spans.total, most);
  pen.font = ink.small;
  pen.fillStyle = ink.dim;
  pen.textAlign = "left";
  for (const { at, text } of ticks) {
    const place = x(at - origin);
    pen.fillStyle = ink.line;
    pen.fillRect(Math.round(place), low + 3, 1, 5);
    if (place + pen.measureText(text).width + 4 > left + span + LAYOUT.right) continue;
    pen.fillStyle = ink.dim;
    pen.fillText(text, Math.round(place) + 4, low + 12);
  }
}

// A flag at the log start offset, unless it is the first record on disk.
function paintLogStart({ pen, ink, x }, { data, spans, mode }) {
  const start = data.log_start_offset;
  if (start === null || mode !== "offsets" || BigInt(start) <= BigInt(data.base_offset[0] ?? 0)) return;
  const place = x(Number(BigInt(start)) - spans.origin);
  pen.fillStyle = ink.fg;
  pen.fillRect(place, STRIP.top - 8, 1.5, STRIP.tall + 12);
  pen.font = ink.small;
  pen.fillText(`log start ${count(start)}`, place + 5, STRIP.top - 6);
}
