// Matches over time, as bars with marks below; a dragged range selects. Behind them, faint: all records of the place.
import { button, h } from "../shared/dom.js";
import { duration, plural, timestamp } from "../shared/format.js";
import { onKeys } from "../shared/frame.js";
import { brushAfterKey, brushOf, brushText, NO_BINS, timeDomain, timeScale, unfoldBins } from "./histogram_bins.js";
import { paintHistogram } from "./histogram_paint.js";
import { fitCanvas, painter } from "../shared/host.js";
import { inks } from "../shared/theme.js";
import { onZone, zoneName } from "../shared/zone.js";

const HANDLE_PX = 6, LEAST_BRUSH_PX = 4;

// `onBrush` gets a range of milliseconds, empty for none; `onZoom` one to search alone; `onDiffer` the button that asks
// what differs inside.
export function recordHistogram({ root, signal, stats, onBrush, onZoom, onDiffer }) {
  const state = { bins: null, behind: null, brush: null, note: "" };
  const domain = () => timeDomain(state.bins, state.behind);
  const parts = histogramParts({ onZoom: () => onZoom(state.brush), onClear: () => setBrush([], true), onDiffer });
  const { el, canvas, tip } = parts, pen = canvas.getContext("2d");
  const repaint = painter(canvas, () => {
    fitCanvas(canvas, pen);
    const { clientWidth: width, clientHeight: height } = canvas;
    paintHistogram({ pen, ink: inks(root), width, height }, { ...state, range: domain() });
    stats.draws++;
  }, signal);
  function setBrush(next, isTold = false) {
    const brush = state.brush = brushOf(next);
    showChip(parts, brush, domain());
    repaint();
    if (isTold) onBrush(brush ?? []);
  }
  onZone(() => showChip(parts, state.brush, domain()), signal);
  brushByPointer({ state, parts, domain, setBrush });
  onKeys(el, (event) => {
    const range = domain(), way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || !range) return false;
    setBrush(brushAfterKey(state.brush, range, way, event.shiftKey), true);
  });
  return {
    el,
    repaint,
    setBrush,
    setData(result) {
      state.bins = result.counts ? unfoldBins(result) : NO_BINS;
      state.behind = result.query && result.whole?.counts ? unfoldBins(result.whole) : null;
      state.note = result.count ? "No record here has a time. Kafka before 0.10 stores none." : "";
      tip.hidden = true;
      repaint();
    },
  };
}

function histogramParts({ onZoom, onClear, onDiffer }) {
  const canvas = h("canvas", { class: "klw-canvas", "aria-hidden": "true" });
  const label = h("span", { class: "klw-time" });
  const zoom = button("Search this time alone: the chart then shows it in more detail", {
    glyph: "fit",
    text: "Zoom",
    onclick: onZoom,
  });
  const differ = button("Which values differ inside of this time and outside?", {
    text: "What differs?",
    isLive: true,
    onclick: () => onDiffer(differ),
  });
  differ.setAttribute("aria-haspopup", "dialog");
  const clear = button("List all times", { glyph: "cross", onclick: onClear });
  const chip = h("div", { class: "klw-timebrush", hidden: true }, label, zoom, differ, clear);
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
  return { el, canvas, chip, label, tip };
}

// The words of the brush, on the side where they do not cover what is selected.
function showChip({ el, chip, label }, brush, range) {
  chip.hidden = !brush;
  el.setAttribute("aria-label", `Records over time${brush ? `; selected: ${brushText(brush)}` : ""}`);
  if (!brush) return;
  const isRight = range && (brush[0] + brush[1]) / 2 > (range.from + range.to) / 2;
  chip.dataset.side = isRight ? "left" : "right";
  label.textContent = brushText(brush);
  label.title = `${duration(brush[1] - brush[0])}, ${zoneName()}`;
}

// A bar as text, beside the pointer.
function showTip(tip, canvas, x, { start, width, counts }, scale) {
  const i = Math.floor((scale.time(x) - start) / width);
  tip.replaceChildren(
    h("strong", {}, plural(counts[i] ?? 0, "record")),
    h("span", {}, `${timestamp(start + i * width)}, ${duration(width)}`),
  );
  tip.hidden = false;
  const left = Math.max(8, Math.min(canvas.clientWidth - tip.offsetWidth - 8, x + 12));
  tip.style.transform = `translate(${left}px, ${-canvas.clientHeight - 2}px)`;
}

// Dragging makes a brush, an end of one moves, and Shift moves the whole; a click takes it away.
function brushByPointer({ state, parts: { canvas, tip }, domain, setBrush }) {
  let drag = null;
  const scaleOf = (range) => timeScale(range, canvas.clientWidth);
  const endAt = (x, scale) => state.brush?.findIndex((ms) => Math.abs(scale.x(ms) - x) <= HANDLE_PX) ?? -1;
  canvas.addEventListener("pointerdown", (event) => {
    const range = domain();
    if (!range || event.button) return;
    const { brush } = state, x = event.offsetX, scale = scaleOf(range), end = endAt(x, scale);
    const isInside = brush && x > scale.x(brush[0]) && x < scale.x(brush[1]);
    drag = {
      x,
      anchor: end >= 0 ? brush[1 - end] : scale.time(x),
      before: brush,
      isMove: end < 0 && isInside && event.shiftKey,
      isMoved: end >= 0,
    };
    canvas.setPointerCapture(event.pointerId);
    tip.hidden = true;
  });
  canvas.addEventListener("pointermove", ({ offsetX: x }) => {
    const range = domain(), scale = range && scaleOf(range);
    if (!drag) {
      canvas.style.cursor = range && endAt(x, scale) >= 0 ? "ew-resize" : "crosshair";
      if (range) showTip(tip, canvas, x, state.bins, scale);
      else tip.hidden = true;
      return;
    }
    if (Math.abs(x - drag.x) >= LEAST_BRUSH_PX) drag.isMoved = true;
    if (!drag.isMoved || !range) return;
    const now = scale.time(x), { anchor, before, isMove } = drag;
    setBrush(isMove ? before.map((ms) => ms + now - anchor) : [Math.min(anchor, now), Math.max(anchor, now)]);
  });
  canvas.addEventListener("pointerup", () => {
    if (!drag) return;
    const { isMoved } = drag;
    drag = null;
    setBrush(isMoved ? state.brush : [], true);
  });
  canvas.addEventListener("pointercancel", () => {
    if (drag) setBrush(drag.before ?? []);
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => {
    tip.hidden = true;
  });
}
