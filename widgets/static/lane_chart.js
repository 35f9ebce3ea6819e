// Lanes over an axis, with an overview below: pointing, picking, brushing a range, keys.
import { button, h } from "./dom.js";
import { fitCanvas, painter } from "./host.js";
import { LANES, laneScene } from "./lane_scene.js";
import { inks } from "./theme.js";

const MOST_FACTS = 6;

// A lane has `name`, `length`, `nearest(at)`, `newest(at)`, `position(i)` and `sentence(i)`; its items ascend by position.
// The picture is {least, tall(lanes), head(marks), paint(scene, state), paintBelow(scene, state), card(lane, at, scene), describe(lanes)}:
// the narrowest range, heights in pixels, painters, what a pointer is told as {title, facts}, and the chart in words.
export function laneChart({ root, picture, fitText, onPick, onView, announce, signal, stats }) {
  const canvas = h("canvas", { class: "klw-canvas" }),
    below = h("canvas", { class: "klw-canvas", style: `height:${LANES.axis + LANES.overview}px` });
  const card = h("div", { class: "klw-card", hidden: true }), brush = h("div", { class: "klw-brush", hidden: true });
  const box = h("div", { class: "klw-lanebox" }, canvas, brush);
  const el = h(
    "div",
    { class: "klw-lanes", tabindex: 0, role: "application", "aria-roledescription": "lanes" },
    box,
    below,
    card,
  );
  const pen = canvas.getContext("2d"), belowPen = below.getContext("2d");
  let lanes = [],
    marks = [],
    whole = [0, 1],
    view = [0, 1],
    mode = "",
    picked = { lane: -1, item: -1 },
    hover = null,
    scene = null,
    cache = {},
    saving = 0;
  const head = () => picture.head(marks), tall = () => picture.tall(lanes);
  const ask = painter(canvas, paint, signal);
  signal.addEventListener("abort", () => clearTimeout(saving));

  function paint() {
    const start = performance.now();
    fitCanvas(canvas, pen);
    fitCanvas(below, belowPen);
    cache.ink ??= laneInks(root);
    scene = laneScene(pen, cache.ink, canvas.clientWidth, view);
    const state = { lanes, mode, picked, hover, marks, whole, cache, head: head(), tall: tall() };
    pen.clearRect(0, 0, scene.width, canvas.clientHeight);
    belowPen.clearRect(0, 0, scene.width, below.clientHeight);
    if (lanes.length) {
      picture.paint(scene, state);
      picture.paintBelow({ ...scene, pen: belowPen }, state);
    }
    Object.assign(stats, {
      draws: (stats.draws ?? 0) + 1,
      lastDraw: performance.now() - start,
      view: [...view],
      picked: { ...picked },
    });
  }
  const setTall = () => {
    canvas.style.height = `${head() + lanes.length * tall()}px`;
  };
  function show([from, to], isSaved = true) {
    const span = Math.max(picture.least, Math.min(whole[1] - whole[0], to - from)),
      start = Math.max(whole[0], Math.min(whole[1] - span, from));
    view = [start, start + span];
    ask();
    if (!isSaved) return;
    clearTimeout(saving);
    saving = setTimeout(() => onView(isWhole() ? [] : [...view]), 150);
  }
  const isWhole = () => view[0] <= whole[0] && view[1] >= whole[1];
  const zoom = (factor, at = (view[0] + view[1]) / 2) =>
    show([at - (at - view[0]) * factor, at + (view[1] - at) * factor]);
  const pan = (part) => show([view[0] + (view[1] - view[0]) * part, view[1] + (view[1] - view[0]) * part]);
  const fit = () => show(whole);

  function pick(lane, item, { isTold = true } = {}) {
    picked = { lane, item };
    ask();
    if (lane < 0) return;
    const at = item < 0 ? null : lanes[lane].position(item), top = head() + lane * tall();
    if (at !== null && (at < view[0] || at > view[1])) {
      show([at - (view[1] - view[0]) / 2, at + (view[1] - view[0]) / 2]);
    }
    if (top < box.scrollTop || top + tall() > box.scrollTop + box.clientHeight) box.scrollTop = top - head();
    if (!isTold) return;
    announce(item >= 0 ? lanes[lane].sentence(item) : lanes[lane].name);
    onPick(lane, item);
  }

  // Where a pointer is: on the axis, in which lane, and left or right of the lanes.
  function place(event, from = canvas) {
    const bounds = from.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const part = (x - scene.left) / scene.span, lane = Math.floor((y - head()) / tall());
    return { x, y, part, at: view[0] + part * (view[1] - view[0]), lane: lane >= 0 && lane < lanes.length ? lane : -1 };
  }
  function point(event) {
    const { x, part, at, lane } = place(event);
    hover = part >= 0 && part <= 1 ? at : null;
    ask();
    const mark = hover === null ? null : marks.find((each) => each.facts && Math.abs(scene.x(each.time) - x) < 4);
    card.hidden = hover === null || (lane < 0 && !mark);
    if (card.hidden) return;
    const { title, facts } = mark ?? picture.card(lanes[lane], at, scene);
    card.replaceChildren(
      h("strong", {}, title),
      h("dl", {}, ...facts.slice(0, MOST_FACTS).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
    );
    const outer = el.getBoundingClientRect(),
      left = event.clientX - outer.left,
      room = el.clientWidth - card.offsetWidth - 8;
    card.style.left = `${Math.max(4, left + 18 > room ? left - card.offsetWidth - 18 : left + 18)}px`;
    card.style.top = `${
      Math.max(4, Math.min(event.clientY - outer.top + 12, el.clientHeight - card.offsetHeight - 4))
    }px`;
  }

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!lanes.length || event.button !== 0) return;
    drag = { ...place(event), isMoved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!lanes.length || !scene) return;
    if (!drag) return point(event);
    const now = place(event);
    if (Math.abs(now.x - drag.x) > 4) drag.isMoved = true;
    if (!drag.isMoved) return;
    card.hidden = true;
    const [a, b] = [drag.x, now.x].map((x) => Math.max(scene.left, Math.min(scene.left + scene.span, x))).sort((p, q) =>
      p - q
    );
    brush.hidden = false;
    Object.assign(brush.style, {
      left: `${a}px`,
      width: `${b - a}px`,
      top: `${head()}px`,
      height: `${lanes.length * tall()}px`,
    });
  });
  canvas.addEventListener("pointerup", (event) => {
    const start = drag;
    drag = null;
    brush.hidden = true;
    if (!start) return;
    const now = place(event);
    if (start.isMoved) return show([Math.min(start.at, now.at), Math.max(start.at, now.at)]);
    if (now.lane >= 0) {
      pick(now.lane, now.part < 0 || now.part > 1 ? lanes[now.lane].newest(view[1]) : lanes[now.lane].nearest(now.at));
    }
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
    brush.hidden = true;
  });
  canvas.addEventListener("pointerleave", () => {
    hover = null;
    card.hidden = true;
    ask();
  });
  canvas.addEventListener("dblclick", fit);
  el.addEventListener("wheel", (event) => {
    const isMine = event.ctrlKey || event.metaKey,
      isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!lanes.length || !scene || (!isMine && !isSideways)) return;
    event.preventDefault();
    if (isSideways && !isMine) return pan((event.deltaX || event.deltaY) / scene.span);
    zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0022), place(event).at);
  }, { passive: false });

  // In the overview, dragging inside the window moves it, and outside makes another.
  let hold = null;
  const overviewPlace = (event) => whole[0] + place(event, below).part * (whole[1] - whole[0]);
  below.addEventListener("pointerdown", (event) => {
    if (!lanes.length || event.button !== 0 || place(event, below).y < LANES.axis) return;
    const at = overviewPlace(event), isInside = !isWhole() && at >= view[0] && at <= view[1];
    hold = { at, view: isInside ? [...view] : null };
    below.setPointerCapture(event.pointerId);
  });
  below.addEventListener("pointermove", (event) => {
    if (!hold) return;
    const at = overviewPlace(event);
    if (hold.view) show(hold.view.map((each) => each + at - hold.at));
    else if (Math.abs(at - hold.at) * scene.span > 4 * (whole[1] - whole[0])) {
      show([Math.min(at, hold.at), Math.max(at, hold.at)]);
    }
  });
  for (const name of ["pointerup", "pointercancel"]) {
    below.addEventListener(name, () => {
      hold = null;
    });
  }
  below.addEventListener("dblclick", fit);

  const lane = () => Math.max(0, picked.lane);
  function along(step) {
    const last = lanes[lane()].length - 1, from = picked.item < 0 ? (step > 0 ? -1 : last + 1) : picked.item;
    if (last >= 0) pick(lane(), Math.max(0, Math.min(last, from + step)));
  }
  function across(step) {
    const next = picked.lane < 0 ? 0 : Math.max(0, Math.min(lanes.length - 1, picked.lane + step));
    pick(next, lanes[next].nearest(picked.item < 0 ? view[1] : lanes[picked.lane].position(picked.item)));
  }
  const KEYS = {
    ArrowRight: () => along(1),
    ArrowLeft: () => along(-1),
    ArrowDown: () => across(1),
    ArrowUp: () => across(-1),
    Home: () => pick(lane(), 0),
    End: () => pick(lane(), lanes[lane()].length - 1),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: fit,
    a: () => pan(-0.25),
    d: () => pan(0.25),
  };
  el.addEventListener("keydown", (event) => {
    const act = lanes.length && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
    if (!act || event.target !== el) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  const tools = h(
    "div",
    { class: "klw-tools" },
    button("Zoom out (−)", { glyph: "minus", onclick: () => zoom(2) }),
    button("Zoom in (+)", { glyph: "plus", onclick: () => zoom(0.5) }),
    button(`${fitText} (0)`, { glyph: "fit", onclick: fit }),
  );

  return {
    el,
    tools,
    // Other lanes begin with the whole axis; the same lanes may come again with more items of a range.
    setLanes(next, { span, isOther }) {
      lanes = next;
      const all = [span[0], Math.max(span[0] + picture.least, span[1])];
      const isWhole = view[0] === whole[0] && view[1] === whole[1];
      if (isOther || all[0] !== whole[0] || all[1] !== whole[1]) {
        cache = { ink: cache.ink };
        whole = all;
        if (isOther || isWhole) view = [...whole];
      }
      if (isOther) {
        picked = { lane: -1, item: -1 };
      }
      setTall();
      el.hidden = !lanes.length;
      el.setAttribute("aria-label", `${picture.describe(lanes)} Plus and minus zoom, A and D pan, 0 shows everything.`);
      ask();
    },
    setMarks(next) {
      marks = next;
      setTall();
      ask();
    },
    setMode(next) {
      mode = next;
      ask();
    },
    setView(wanted) {
      if (wanted?.length === 2) show(wanted, false);
      else show(whole, false);
    },
    setPicked(lane, item) {
      if (lane !== picked.lane || item !== picked.item) pick(lane, item, { isTold: false });
    },
    repaint() {
      cache.ink = null;
      ask();
    },
    get view() {
      return view;
    },
    get picked() {
      return picked;
    },
  };
}

function laneInks(root) {
  const style = getComputedStyle(root),
    more = ["area", "pick", "mark", "warm"].map((name) => [name, style.getPropertyValue(`--klw-${name}`).trim()]);
  return { ...inks(root), ...Object.fromEntries(more) };
}
