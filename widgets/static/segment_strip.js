// A partition's segments on one line: by their bytes on disk, or by the offsets they hold.
import { byteTicks, countTicks } from "./axis.js";
import { h } from "./dom.js";
import { bytes, count, plural } from "./format.js";
import { fitCanvas, painter } from "./host.js";
import { dashes } from "./tracks.js";
import { DAMAGE, hatch, inks } from "./theme.js";
import { LAYOUT } from "./track_layout.js";

const TOP = 14, TALL = 30, HEIGHT = 68;

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

export function segmentStrip({ root, onSelect, announce, signal }) {
  const canvas = h("canvas", { class: "klw-canvas", style: `height:${HEIGHT}px` });
  const card = h("div", { class: "klw-card", hidden: true });
  const el = h(
    "div",
    { class: "klw-strip", tabindex: 0, role: "application", "aria-roledescription": "segment strip" },
    canvas,
    card,
  );
  const pen = canvas.getContext("2d");
  let fresh = {}, data = null, mode = "bytes", spans = null, selected = -1, hover = -1, ink = null, left = 0, span = 1;
  const ask = painter(canvas, paint, signal);
  const x = (value) => left + (value / Math.max(1, spans.total)) * span;

  function paint() {
    fitCanvas(canvas, pen);
    ink ??= inks(root);
    const width = canvas.clientWidth;
    left = width < 560 ? 12 : LAYOUT.gutter;
    span = width - left - LAYOUT.right;
    pen.clearRect(0, 0, width, HEIGHT);
    if (!data) return;
    pen.textBaseline = "middle";
    if (left > 60) {
      pen.font = ink.ui;
      pen.fillStyle = ink.dim;
      pen.textAlign = "left";
      pen.fillText("Segments", 0, TOP + TALL / 2);
    }
    const stripes = hatch(pen, ink.dim, 6);
    for (let i = 0; i < data.size.length; i++) paintSegment(i, stripes);
    for (const [i, colour, weight] of [[hover, ink.fg, 1.5], [selected, ink.bg, 4.5], [selected, ink.fg, 1.75]]) {
      if (i < 0 || i >= data.size.length) continue;
      pen.strokeStyle = colour;
      pen.lineWidth = weight;
      pen.beginPath();
      pen.roundRect(x(spans.starts[i]) - 0.5, TOP - 1, Math.max(3, x(spans.ends[i]) - x(spans.starts[i])), TALL + 2, 4);
      pen.stroke();
    }
    paintAxis();
    paintStart();
  }
  function paintSegment(i, stripes) {
    const a = x(spans.starts[i]),
      full = x(spans.ends[i]) - a,
      wide = Math.max(1.5, full - (full > 6 ? 2 : full > 3 ? 1 : 0));
    const chosen = i === selected;
    const shape = () => {
      pen.beginPath();
      pen.roundRect(a, TOP, wide, TALL, wide > 8 ? 4 : 0);
    };
    pen.fillStyle = ink.accent;
    pen.globalAlpha = (chosen ? 0.34 : 0.16) / (data.remote[i] ? 2 : 1);
    shape();
    pen.fill();
    pen.globalAlpha = 1;
    if (data.remote[i]) {
      pen.strokeStyle = ink.dim;
      pen.lineWidth = 1;
      pen.setLineDash([3, 3]);
      shape();
      pen.stroke();
      pen.setLineDash([]);
    }
    if (data.is_active[i]) {
      pen.globalAlpha = 0.16;
      pen.fillStyle = stripes;
      shape();
      pen.fill();
      pen.globalAlpha = 1;
    }
    if (data.findings[i]) {
      pen.fillStyle = DAMAGE;
      pen.fillRect(a, TOP + TALL - 3, wide, 3);
    }
    const newFrom = fresh[data.base_offset[i]];
    if (newFrom !== undefined) {
      const part = mode === "bytes" ? newFrom / Math.max(1, data.size[i]) : 0;
      dashes(pen, a + Math.min(part * wide, Math.max(0, wide - 3)), a + wide, TOP - 5);
    }
    if (wide < 46) return;
    pen.save();
    shape();
    pen.clip();
    pen.font = ink.strong;
    pen.fillStyle = ink.fg;
    pen.textAlign = "left";
    const name = count(data.base_offset[i]);
    pen.fillText(name, a + 8, TOP + TALL / 2);
    const after = a + 16 + pen.measureText(name).width,
      text = `${bytes(data.size[i])}${data.remote[i] ? " · remote" : data.is_active[i] ? " · active" : ""}`;
    pen.font = ink.ui;
    pen.fillStyle = ink.dim;
    if (after + pen.measureText(text).width < a + wide - 6) pen.fillText(text, after, TOP + TALL / 2);
    pen.restore();
  }
  function paintAxis() {
    const ticks = mode === "bytes"
      ? byteTicks(0, spans.total, span / 110)
      : countTicks(spans.origin, spans.origin + spans.total, span / 110);
    pen.font = ink.small;
    pen.fillStyle = ink.dim;
    pen.textAlign = "left";
    for (const { at, text } of ticks) {
      const place = x(at - (mode === "bytes" ? 0 : spans.origin));
      pen.fillStyle = ink.line;
      pen.fillRect(Math.round(place), TOP + TALL + 3, 1, 5);
      if (place + pen.measureText(text).width + 4 > left + span + LAYOUT.right) continue;
      pen.fillStyle = ink.dim;
      pen.fillText(text, Math.round(place) + 4, TOP + TALL + 12);
    }
  }
  // A flag at the log start offset, unless it is the first record on disk.
  function paintStart() {
    const start = data.log_start_offset;
    if (start === null || mode !== "offsets" || BigInt(start) <= BigInt(data.base_offset[0] ?? 0)) return;
    const place = x(Number(BigInt(start)) - spans.origin);
    pen.fillStyle = ink.fg;
    pen.fillRect(place, TOP - 8, 1.5, TALL + 12);
    pen.font = ink.small;
    pen.fillText(`log start ${count(start)}`, place + 5, TOP - 6);
  }
  function at(event) {
    const px = event.clientX - canvas.getBoundingClientRect().left, value = ((px - left) / span) * spans.total;
    return px < left
      ? -1
      : spans.ends.findIndex((end, i) => value >= spans.starts[i] && (value < end || i === spans.ends.length - 1));
  }
  function sentence(i) {
    const isNew = data.base_offset[i] in fresh;
    const marks = [
      isNew && "written since following began",
      data.is_active[i] && "active",
      data.remote[i] && "in the remote tier",
      data.findings[i] && plural(data.findings[i], "finding"),
    ].filter(
      Boolean,
    );
    return `Segment ${i + 1} of ${data.size.length}: base offset ${count(data.base_offset[i])}, ${bytes(data.size[i])}${
      marks.length ? `, ${marks.join(", ")}` : ""
    }.`;
  }
  function pick(i) {
    if (!data || i < 0 || i >= data.size.length || i === selected) return;
    announce(sentence(i));
    onSelect(i);
  }
  canvas.addEventListener("pointermove", (event) => {
    if (!data) return;
    const i = at(event);
    if (i !== hover) {
      hover = i;
      ask();
    }
    card.hidden = i < 0;
    if (i < 0) return;
    const pairs = [["File", data.remote[i] ?? `${String(data.base_offset[i]).padStart(20, "0")}.log`], [
      "Size",
      `${count(data.size[i])} bytes`,
    ]];
    if (data.modified[i]) pairs.push(["Modified", data.modified[i]]);
    if (data.remote[i]) pairs.push(["State", "in the remote tier, not on this disk"]);
    if (data.is_active[i]) pairs.push(["State", "active: the broker appends to it"]);
    if (data.findings[i]) pairs.push(["Findings", String(data.findings[i])]);
    card.replaceChildren(
      h("strong", {}, `Segment ${count(data.base_offset[i])}`),
      h("dl", {}, ...pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
    );
    const px = event.clientX - canvas.getBoundingClientRect().left, room = canvas.clientWidth - card.offsetWidth - 8;
    card.style.left = `${Math.max(0, px + 18 > room ? px - card.offsetWidth - 18 : px + 18)}px`;
    card.style.top = `${TOP + TALL + 6}px`;
  });
  canvas.addEventListener("pointerleave", () => {
    hover = -1;
    card.hidden = true;
    ask();
  });
  canvas.addEventListener("click", (event) => {
    if (data) pick(at(event));
  });
  el.addEventListener("keydown", (event) => {
    const last = (data?.size.length ?? 0) - 1,
      target = { ArrowRight: selected + 1, ArrowLeft: selected - 1, Home: 0, End: last }[event.key];
    if (target === undefined || event.target !== el) return;
    event.preventDefault();
    event.stopPropagation();
    pick(Math.max(0, Math.min(last, target)));
  });

  return {
    el,
    setData(next) {
      data = next;
      hover = -1;
      card.hidden = true;
      if (data) {
        spans = stripSpans(data, mode);
        el.setAttribute(
          "aria-label",
          `${data.name}: ${plural(data.size.length, "segment")}. Left and right arrow keys move between segments.`,
        );
      }
      ask();
    },
    // Base offset → the first new byte of that segment.
    setFresh(next) {
      fresh = next;
      ask();
    },
    setMode(next) {
      mode = next;
      if (data) spans = stripSpans(data, mode);
      ask();
    },
    setSelected(i) {
      selected = i;
      ask();
    },
    repaint() {
      ink = null;
      ask();
    },
  };
}
