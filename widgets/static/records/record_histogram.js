// Matches over time, as bars; a dragged range selects. Behind them, faint: all records of the topic.
import { Column } from "../shared/columns.js";
import { button, h } from "../shared/dom.js";
import { duration, plural, timestamp } from "../shared/format.js";
import { fitCanvas, painter } from "../shared/host.js";
import { inks } from "../shared/theme.js";
import { timeTicks } from "../charts/time_axis.js";

const SIDE = 14, AXIS = 18, HANDLE = 6, LEAST_BRUSH_PX = 4;

export function recordHistogram({ root, signal, stats, onBrush, onZoom }) {
  const canvas = h("canvas", { class: "klw-canvas", "aria-hidden": "true" });
  const label = h("span", { class: "klw-time" });
  const zoom = button("Search this time alone: the chart then shows it in more detail", {
    glyph: "fit",
    text: "Zoom",
    onclick: () => brush && onZoom(brush),
  });
  const clear = button("List all times", { glyph: "cross", onclick: () => setBrush([], true) });
  const chip = h("div", { class: "klw-timebrush", hidden: true }, label, zoom, clear);
  const tip = h("div", { class: "klw-card klw-tip", hidden: true });
  const el = h(
    "div",
    {
      class: "klw-histogram",
      tabindex: 0,
      role: "group",
      "aria-label": "Records over time",
      "aria-roledescription": "chart with a time selection",
    },
    canvas,
    chip,
    tip,
  );
  const context = canvas.getContext("2d");
  let data = null, all = null, brush = null, drag = null;
  const repaint = painter(canvas, paint, signal);

  // The visible range, with what is behind it; null without any time.
  function domain() {
    const parts = [data, all].filter((each) => each?.max);
    if (!parts.length) return null;
    const from = Math.min(...parts.map((each) => each.from)), to = Math.max(...parts.map((each) => each.to));
    return { from, to: Math.max(to, from + 1) };
  }
  const width = () => canvas.clientWidth - 2 * SIDE;
  const xOf = (ms, { from, to }) => SIDE + ((ms - from) / (to - from)) * width();
  const timeOf = (x, { from, to }) => from + (Math.max(0, Math.min(width(), x - SIDE)) / width()) * (to - from);

  function paint() {
    fitCanvas(canvas, context);
    const ink = inks(root), range = domain(), high = canvas.clientHeight - AXIS;
    context.clearRect(0, 0, canvas.clientWidth, canvas.clientHeight);
    stats.draws++;
    context.fillStyle = ink.line;
    context.fillRect(SIDE, high, width(), 1);
    if (!range) return;
    if (all?.max && all !== data) bars(all, range, high, ink.hair, all.max);
    bars(data, range, high, ink.accent, data.max);
    if (brush) shade(range, high, ink);
    ticks(range, high, ink);
  }
  function bars(each, range, high, color, max) {
    context.fillStyle = color;
    for (const [i, n] of each.counts.entries()) {
      if (!n) continue;
      const left = xOf(each.start + i * each.width, range), right = xOf(each.start + (i + 1) * each.width, range);
      const wide = right - left, tall = Math.max(1.5, (n / max) * (high - 8));
      context.fillRect(left, high - tall, Math.max(1, wide > 3 ? wide - 1 : wide), tall);
    }
  }
  function shade(range, high, ink) {
    const [left, right] = brush.map((ms) => Math.max(SIDE, Math.min(SIDE + width(), xOf(ms, range))));
    context.save();
    context.globalAlpha = 0.72;
    context.fillStyle = ink.bg;
    context.fillRect(SIDE, 0, left - SIDE, high);
    context.fillRect(right, 0, SIDE + width() - right, high);
    context.restore();
    context.fillStyle = ink.fg;
    for (const x of [left, right]) {
      context.fillRect(Math.round(x) - 0.5, 0, 1, high);
      context.fillRect(Math.round(x) - 2, high / 2 - 8, 4, 16);
    }
  }
  function ticks(range, high, ink) {
    context.font = ink.small;
    context.textBaseline = "top";
    context.fillStyle = ink.dim;
    let last = -Infinity;
    for (const { at, text } of timeTicks(range.from, range.to, Math.max(2, width() / 110))) {
      const x = xOf(at, range), half = context.measureText(text).width / 2;
      const place = Math.max(SIDE + half, Math.min(SIDE + width() - half, x));
      context.fillRect(Math.round(x), high, 1, 3);
      if (place - half < last + 8) continue;
      context.textAlign = "center";
      context.fillText(text, place, high + 5);
      last = place + half;
    }
  }

  // Bars become the words of a screen reader and of the small card.
  function showTip(event) {
    const range = domain();
    if (!range || drag || !data) return hideTip();
    const at = timeOf(event.offsetX, range), i = Math.floor((at - data.start) / data.width);
    const n = data.counts[i] ?? 0, start = data.start + i * data.width;
    tip.replaceChildren(
      h("strong", {}, plural(n, "record")),
      h("span", {}, `${timestamp(start)} UTC, ${duration(data.width)}`),
    );
    tip.hidden = false;
    const left = Math.max(8, Math.min(canvas.clientWidth - tip.offsetWidth - 8, event.offsetX + 12));
    tip.style.transform = `translate(${left}px, ${-canvas.clientHeight - 2}px)`;
  }
  function hideTip() {
    tip.hidden = true;
  }

  function setBrush(next, tell = false) {
    brush = next?.length === 2 && next[0] < next[1] ? [Math.round(next[0]), Math.round(next[1])] : null;
    chip.hidden = !brush;
    if (brush) {
      // The words do not cover what is selected.
      const range = domain(), middle = (brush[0] + brush[1]) / 2;
      chip.dataset.side = range && middle > (range.from + range.to) / 2 ? "left" : "right";
      label.textContent = `${timestamp(brush[0])} – ${timestamp(brush[1]).slice(brushSharesDay() ? 11 : 0)}`;
      label.title = `${duration(brush[1] - brush[0])}, UTC`;
    }
    el.setAttribute("aria-label", brush ? `Records over time; selected: ${label.textContent}` : "Records over time");
    repaint();
    if (tell) onBrush(brush ?? []);
  }
  const brushSharesDay = () => timestamp(brush[0]).slice(0, 10) === timestamp(brush[1]).slice(0, 10);

  canvas.addEventListener("pointerdown", (event) => {
    const range = domain();
    if (!range || event.button) return;
    const x = event.offsetX, edges = brush?.map((ms) => xOf(ms, range)) ?? [];
    const near = edges.findIndex((edge) => Math.abs(edge - x) <= HANDLE);
    const anchor = near >= 0 ? brush[1 - near] : timeOf(x, range);
    const isMove = near < 0 && brush && x > edges[0] && x < edges[1] && event.shiftKey;
    drag = { x, anchor, before: brush, isMove, moved: near >= 0 };
    canvas.setPointerCapture(event.pointerId);
    hideTip();
  });
  canvas.addEventListener("pointermove", (event) => {
    const range = domain();
    if (!drag) {
      const isEdge = range && brush?.some((ms) => Math.abs(xOf(ms, range) - event.offsetX) <= HANDLE);
      canvas.style.cursor = isEdge ? "ew-resize" : "crosshair";
      return showTip(event);
    }
    if (Math.abs(event.offsetX - drag.x) >= LEAST_BRUSH_PX) drag.moved = true;
    if (!drag.moved || !range) return;
    const now = timeOf(event.offsetX, range);
    if (drag.isMove) {
      const shift = now - drag.anchor;
      setBrush(drag.before.map((ms) => ms + shift));
    } else setBrush([Math.min(drag.anchor, now), Math.max(drag.anchor, now)]);
  });
  canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const { moved } = drag;
    drag = null;
    setBrush(moved ? brush : [], true);
  });
  canvas.addEventListener("pointercancel", () => {
    if (drag) setBrush(drag.before ?? []);
    drag = null;
  });
  canvas.addEventListener("pointerleave", hideTip);
  el.addEventListener("keydown", (event) => {
    const range = domain(), step = range ? (range.to - range.from) / 40 : 0;
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || !range) return;
    event.preventDefault();
    event.stopPropagation();
    const middle = (range.from + range.to) / 2, [from, to] = brush ?? [middle - 2 * step, middle + 2 * step];
    if (!brush) return setBrush([from, to], true);
    setBrush(
      event.shiftKey ? [from, Math.max(from + step, to + way * step)] : [from + way * step, to + way * step],
      true,
    );
  });

  return {
    el,
    repaint,
    setBrush,
    forget() {
      all = null;
      repaint();
    },
    setData(result, { isAll }) {
      data = result.counts ? unfoldBins(result) : { counts: [], max: 0, from: 0, to: 0, start: 0, width: 1 };
      if (isAll) all = data;
      hideTip();
      repaint();
    },
  };
}

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
