// Pointing at a segment map: a card for the batch under the pointer, picking, dragging, the wheel, and keys.
import { zoomView } from "../charts/axis.js";
import { h, pairList } from "../shared/dom.js";
import { isModified, onKeys } from "../shared/frame.js";
import { LAYOUT } from "./track_layout.js";

const HINT_MS = 1600, MOVED_PX = 3;

// Where a pointer is: on the canvas, on the visible axis as a part of 1 and as a byte, and whether in the overview.
function pointOnMap(event, canvas, { scene, view }) {
  const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const part = (x - scene.left) / scene.span;
  return { x, y, part, at: view[0] + part * (view[1] - view[0]), inOverview: y < LAYOUT.axis[0] };
}

// `zoom` changes the view, `ask` asks for a repaint, `onPick` gets a batch.
export function pointAtMap({ state, parts, zoom, ask, onPick }) {
  const { canvas, card } = parts, place = (event) => pointOnMap(event, canvas, state);
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!state.data || event.button !== 0) return;
    zoom.stop();
    const at = place(event), middle = at.part * state.data.fileSize;
    if (at.inOverview && (middle < state.view[0] || middle > state.view[1])) zoom.center(middle);
    drag = { ...at, from: event.clientX, view: [...state.view], isMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!state.data || !state.scene) return;
    if (!drag) return hover(place(event));
    const moved = event.clientX - drag.from, { fileSize } = state.data, [from, to] = drag.view;
    if (Math.abs(moved) > MOVED_PX) drag.isMoved = true;
    if (!drag.isMoved) return;
    card.hidden = true;
    const scale = drag.inOverview ? fileSize / state.scene.span : -(to - from) / state.scene.span;
    zoom.show([from + moved * scale, to + moved * scale]);
  });
  canvas.addEventListener("pointerup", (event) => {
    const i = drag && !drag.isMoved && !drag.inOverview ? state.data.batchAt(place(event).at) : -1;
    if (i >= 0) onPick(i);
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
  });
  canvas.addEventListener("pointerleave", () => {
    state.hover = -1;
    card.hidden = true;
    ask();
  });
  canvas.addEventListener("dblclick", (event) => {
    const { at, inOverview } = place(event), i = inOverview ? -1 : state.data.batchAt(at);
    if (i < 0) zoom.fit();
    else zoom.toBatch(i, 1.5);
  });

  function hover(now) {
    const i = now.inOverview || now.x < state.scene.left ? -1 : state.data.batchAt(now.at);
    if (i !== state.hover) {
      state.hover = i;
      ask();
    }
    showBatchCard(card, canvas, now, i, state.data);
  }
}

function showBatchCard(card, canvas, { x, y, at, inOverview }, i, data) {
  card.hidden = i < 0 && (inOverview || at < data.validSize || at >= data.fileSize);
  if (card.hidden) return;
  if (card.dataset.batch !== String(i)) {
    const { title, pairs } = i < 0 ? data.describeTail() : data.describe(i);
    card.dataset.batch = i;
    card.replaceChildren(h("strong", {}, title), pairList(pairs));
  }
  const isLeft = x + 18 > canvas.clientWidth - card.offsetWidth - 8;
  card.style.left = `${Math.max(0, isLeft ? x - card.offsetWidth - 18 : x + 18)}px`;
  card.style.top = `${Math.max(-8, Math.min(y - 24, LAYOUT.height - card.offsetHeight + 40))}px`;
}

// The wheel zooms with Ctrl or once the map has the focus, and moves sideways; otherwise a hint says so.
export function turnWheelOnMap({ state, parts: { el, canvas, hint }, zoom, signal }) {
  let hiding = 0;
  signal.addEventListener("abort", () => clearTimeout(hiding));
  function showHint() {
    if (!hint.hidden) return;
    hint.hidden = false;
    hiding = setTimeout(() => {
      hint.hidden = true;
    }, HINT_MS);
  }
  canvas.addEventListener("wheel", (event) => {
    if (!state.data || !state.scene) return;
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const isZoom = event.ctrlKey || event.metaKey || el.contains(document.activeElement);
    if (!isSideways && !isZoom) return showHint();
    event.preventDefault();
    zoom.stop();
    const { view, data, scene } = state, wide = view[1] - view[0];
    if (isSideways) {
      const step = ((event.deltaX || event.deltaY) / scene.span) * wide;
      return zoom.show([view[0] + step, view[1] + step]);
    }
    const { part, inOverview } = pointOnMap(event, canvas, state), within = Math.min(1, Math.max(0, part));
    const at = inOverview ? within * data.fileSize : view[0] + within * wide;
    zoom.show(zoomView(view, Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0022), at));
  }, { passive: false });
}

export function mapKeys({ state, el, zoom, onPick, onOpen }) {
  const last = () => state.data.length - 1, pick = (i) => onPick(i, true);
  const KEYS = {
    ArrowRight: () => pick(Math.min(last(), state.selected + 1)),
    ArrowLeft: () => pick(Math.max(0, state.selected - 1)),
    Home: () => pick(0),
    End: () => pick(last()),
    "+": () => zoom.zoom(0.5),
    "=": () => zoom.zoom(0.5),
    w: () => zoom.zoom(0.5),
    "-": () => zoom.zoom(2),
    s: () => zoom.zoom(2),
    a: () => zoom.pan(-0.25),
    d: () => zoom.pan(0.25),
    0: zoom.fit,
    Enter: () => state.selected >= 0 && onOpen(state.selected),
  };
  onKeys(el, (event) => {
    const act = state.data && !isModified(event) && event.target === el && KEYS[event.key];
    if (!act) return false;
    act();
  });
}
