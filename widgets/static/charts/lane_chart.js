// Lanes over an axis, with an overview below: pointing, picking, brushing a range, keys.
import { button, h } from "../shared/dom.js";
import { isModified, onKeys } from "../shared/frame.js";
import { fitCanvas, painter } from "../shared/host.js";
import { pointAtLanes, pointAtOverview } from "./lane_pointer.js";
import { LANES, laneScene } from "./lane_scene.js";
import { isWhole, itemAlong, laneState, laneZoom, placeAcross, rangeWithin } from "./lane_view.js";
import { inks } from "../shared/theme.js";

// A lane has `name`, `length`, `nearest(at)`, `newest(at)`, `position(i)` and `sentence(i)`; its items ascend by position.
// The picture is {least, tall(lanes), head(marks), paint(scene, state), paintBelow(scene, state), card(lane, at, scene), describe(lanes)}:
// the narrowest range, heights in pixels, painters, what a pointer shows as {title, facts}, and the chart as text.
export function laneChart({ root, picture, fitText, onPick, onView, announce, signal, stats }) {
  const state = laneState(), parts = laneParts(), { el, canvas } = parts;
  const size = { head: () => picture.head(state.marks), tall: () => picture.tall(state.lanes) };
  const ask = painter(canvas, () => paintChart({ state, parts, size, picture, root, stats }), signal);
  const zoom = laneZoom({ state, least: picture.least, onShow: ask, onView, signal });
  const setTall = () => {
    canvas.style.height = `${size.head() + state.lanes.length * size.tall()}px`;
  };
  function mark(lane, item) {
    state.picked = { lane, item };
    ask();
    if (lane >= 0) reveal(lane, item, { state, parts, size, zoom });
  }
  function pick(lane, item) {
    mark(lane, item);
    if (lane < 0) return;
    announce(item >= 0 ? state.lanes[lane].sentence(item) : state.lanes[lane].name);
    onPick(lane, item);
  }
  pointAtLanes({ state, parts, size, zoom, picture, ask, onPick: pick });
  pointAtOverview({ state, parts, size, zoom });
  laneKeys({ el, state, zoom, pick });
  return {
    el,
    tools: zoomTools(zoom, fitText),
    // Other lanes begin with the whole axis. The same lanes may come again with other items of a range: `picked` is where
    // the picked one is among them, if not where it was.
    setLanes(next, { span, isOther, picked = state.picked }) {
      state.lanes = next;
      const all = [span[0], Math.max(span[0] + picture.least, span[1])], { whole } = state;
      if (isOther || all[0] !== whole[0] || all[1] !== whole[1]) {
        state.cache = { ink: state.cache.ink };
        state.view = isOther || isWhole(state) ? [...all] : rangeWithin(state.view, all, picture.least);
        state.whole = all;
      }
      state.picked = isOther ? { lane: -1, item: -1 } : picked;
      setTall();
      el.hidden = !next.length;
      el.setAttribute("aria-label", `${picture.describe(next)} Plus and minus zoom, A and D pan, 0 shows everything.`);
      ask();
    },
    setMarks(next) {
      state.marks = next;
      setTall();
      ask();
    },
    setMode(next) {
      state.mode = next;
      ask();
    },
    // A range that has nothing of the axis shows all of it.
    setView(wanted) {
      const [from, to] = wanted?.length === 2 ? wanted : state.whole, [first, last] = state.whole;
      const isOutside = from >= last || to <= first;
      zoom.show(isOutside ? state.whole : [Math.max(from, first), Math.min(to, last)], false);
    },
    setPicked(lane, item) {
      if (lane !== state.picked.lane || item !== state.picked.item) mark(lane, item);
    },
    repaint() {
      state.cache.ink = null;
      ask();
    },
    get view() {
      return state.view;
    },
    get picked() {
      return state.picked;
    },
  };
}

function laneParts() {
  const canvas = h("canvas", { class: "klw-canvas" });
  const below = h("canvas", { class: "klw-canvas", style: `height:${LANES.axis + LANES.overview}px` });
  const card = h("div", { class: "klw-card", hidden: true }), brush = h("div", { class: "klw-brush", hidden: true });
  const box = h("div", { class: "klw-lanebox" }, canvas, brush);
  const el = h(
    "div",
    { class: "klw-lanes", tabindex: 0, role: "application", "aria-roledescription": "lanes" },
    box,
    below,
    card,
  );
  return { el, box, canvas, below, card, brush, pen: canvas.getContext("2d"), belowPen: below.getContext("2d") };
}

function paintChart({ state, parts, size, picture, root, stats }) {
  const start = performance.now(), { canvas, below, pen, belowPen } = parts;
  fitCanvas(canvas, pen);
  fitCanvas(below, belowPen);
  state.cache.ink ??= laneInks(root);
  const scene = state.scene = laneScene(pen, state.cache.ink, canvas.clientWidth, state.view);
  const shown = { ...state, head: size.head(), tall: size.tall() };
  pen.clearRect(0, 0, scene.width, canvas.clientHeight);
  belowPen.clearRect(0, 0, scene.width, below.clientHeight);
  if (state.lanes.length) {
    picture.paint(scene, shown);
    picture.paintBelow({ ...scene, pen: belowPen }, shown);
  }
  Object.assign(stats, {
    draws: (stats.draws ?? 0) + 1,
    lastDraw: performance.now() - start,
    view: [...state.view],
    picked: { ...state.picked },
  });
}

function laneInks(root) {
  const style = getComputedStyle(root);
  const more = ["area", "pick", "mark", "warm"].map((name) => [name, style.getPropertyValue(`--klw-${name}`).trim()]);
  return { ...inks(root), ...Object.fromEntries(more) };
}

// Move the view and the scroll position if an item is outside of them.
function reveal(lane, item, { state, parts: { box }, size, zoom }) {
  const head = size.head(), tall = size.tall(), top = head + lane * tall;
  if (item >= 0) zoom.reveal(state.lanes[lane].position(item));
  if (top < box.scrollTop || top + tall > box.scrollTop + box.clientHeight) box.scrollTop = top - head;
}

function laneKeys({ el, state, zoom, pick }) {
  const lane = () => Math.max(0, state.picked.lane);
  const along = (step) => {
    const item = itemAlong(state, step);
    if (item >= 0) pick(lane(), item);
  };
  const KEYS = {
    ArrowRight: () => along(1),
    ArrowLeft: () => along(-1),
    ArrowDown: () => pick(...placeAcross(state, 1)),
    ArrowUp: () => pick(...placeAcross(state, -1)),
    Home: () => pick(lane(), 0),
    End: () => pick(lane(), state.lanes[lane()].length - 1),
    "+": () => zoom.zoom(0.5),
    "=": () => zoom.zoom(0.5),
    "-": () => zoom.zoom(2),
    0: zoom.fit,
    a: () => zoom.pan(-0.25),
    d: () => zoom.pan(0.25),
  };
  onKeys(el, (event) => {
    const act = state.lanes.length && !isModified(event) && event.target === el && KEYS[event.key];
    if (!act) return false;
    act();
  });
}

function zoomTools(zoom, fitText) {
  return h(
    "div",
    { class: "klw-tools" },
    button("Zoom out (−)", { glyph: "minus", onclick: () => zoom.zoom(2) }),
    button("Zoom in (+)", { glyph: "plus", onclick: () => zoom.zoom(0.5) }),
    button(`${fitText} (0)`, { glyph: "fit", onclick: zoom.fit }),
  );
}
