// Pointing at a lane chart: a card for what is under the pointer, picking, brushing a range, the wheel, the overview.
import { h, pairList } from "../shared/dom.js";
import { LANES } from "./lane_scene.js";
import { isWhole } from "./lane_view.js";

const MOST_FACTS = 6, NEAR_PX = 4;

// Where a pointer is: on the axis, in which lane (-1: none), and left or right of the lanes.
function placeOf(event, canvas, { scene, lanes, view }, { head, tall }) {
  const bounds = canvas.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
  const part = (x - scene.left) / scene.span, lane = Math.floor((y - head()) / tall());
  return { x, y, part, at: view[0] + part * (view[1] - view[0]), lane: lane >= 0 && lane < lanes.length ? lane : -1 };
}

// `onPick` gets a lane and an item; `ask` asks for a repaint.
export function pointAtLanes({ state, parts, size, zoom, picture, ask, onPick }) {
  const { canvas, card, brush, el } = parts, place = (event) => placeOf(event, canvas, state, size);
  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!state.lanes.length || event.button !== 0) return;
    drag = { ...place(event), isMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!state.lanes.length || !state.scene) return;
    const now = place(event);
    if (!drag) {
      state.hover = now.part >= 0 && now.part <= 1 ? now.at : null;
      ask();
      return showCard(card, el, event, factsAt(now, state, picture));
    }
    if (Math.abs(now.x - drag.x) > NEAR_PX) drag.isMoved = true;
    if (!drag.isMoved) return;
    card.hidden = true;
    showBrush(brush, [drag.x, now.x], state, size);
  });
  canvas.addEventListener("pointerup", (event) => {
    const start = drag;
    drag = null;
    brush.hidden = true;
    if (!start) return;
    const now = place(event), lane = state.lanes[now.lane];
    if (start.isMoved) return zoom.show([Math.min(start.at, now.at), Math.max(start.at, now.at)]);
    if (lane) onPick(now.lane, now.part < 0 || now.part > 1 ? lane.newest(state.view[1]) : lane.nearest(now.at));
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    brush.hidden = true;
  });
  canvas.addEventListener("pointerleave", () => {
    state.hover = null;
    card.hidden = true;
    ask();
  });
  canvas.addEventListener("dblclick", zoom.fit);
  el.addEventListener("wheel", (event) => {
    const isZoom = event.ctrlKey || event.metaKey;
    const isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!state.lanes.length || !state.scene || (!isZoom && !isSideways)) return;
    event.preventDefault();
    if (isSideways && !isZoom) return zoom.pan((event.deltaX || event.deltaY) / state.scene.span);
    zoom.zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0022), place(event).at);
  }, { passive: false });
}

// What is under the pointer, as {title, facts}: a mark, or a lane at a time; null for nothing.
function factsAt({ x, at, lane }, { hover, marks, lanes, scene }, picture) {
  if (hover === null) return null;
  const mark = marks.find((each) => each.facts && Math.abs(scene.x(each.time) - x) < NEAR_PX);
  return mark ?? (lane < 0 ? null : picture.card(lanes[lane], at, scene));
}

function showCard(card, el, event, found) {
  card.hidden = found === null;
  if (!found) return;
  card.replaceChildren(h("strong", {}, found.title), pairList(found.facts.slice(0, MOST_FACTS)));
  const outer = el.getBoundingClientRect(), left = event.clientX - outer.left, top = event.clientY - outer.top + 12;
  const isLeft = left + 18 > el.clientWidth - card.offsetWidth - 8;
  card.style.left = `${Math.max(4, isLeft ? left - card.offsetWidth - 18 : left + 18)}px`;
  card.style.top = `${Math.max(4, Math.min(top, el.clientHeight - card.offsetHeight - 4))}px`;
}

function showBrush(brush, ends, { scene, lanes }, { head, tall }) {
  const [from, to] = ends.map((x) => Math.max(scene.left, Math.min(scene.left + scene.span, x))).sort((p, q) => p - q);
  brush.hidden = false;
  Object.assign(brush.style, {
    left: `${from}px`,
    width: `${to - from}px`,
    top: `${head()}px`,
    height: `${lanes.length * tall()}px`,
  });
}

// In the overview, dragging inside the window moves it, and outside makes another.
export function pointAtOverview({ state, parts: { below }, size, zoom }) {
  let hold = null;
  const place = (event) => placeOf(event, below, state, size);
  const positionOf = ({ part }) => state.whole[0] + part * (state.whole[1] - state.whole[0]);
  below.addEventListener("pointerdown", (event) => {
    if (!state.lanes.length || event.button !== 0 || place(event).y < LANES.axis) return;
    const at = positionOf(place(event)), [from, to] = state.view;
    hold = { at, view: !isWhole(state) && at >= from && at <= to ? [from, to] : null };
    below.setPointerCapture(event.pointerId);
  });
  below.addEventListener("pointermove", (event) => {
    if (!hold) return;
    const at = positionOf(place(event)), [from, to] = state.whole;
    if (hold.view) zoom.show(hold.view.map((each) => each + at - hold.at));
    else if (Math.abs(at - hold.at) * state.scene.span > NEAR_PX * (to - from)) {
      zoom.show([Math.min(at, hold.at), Math.max(at, hold.at)]);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    below.addEventListener(name, () => {
      hold = null;
    });
  }
  below.addEventListener("dblclick", zoom.fit);
}
