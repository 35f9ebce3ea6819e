// The lanes of a group: pointing, picking, brushing time, keys.
import { button, h } from "./dom.js";
import { count, timestamp } from "./format.js";
import { KINDS } from "./group_data.js";
import { groupScene, headTall, LANES, laneTall, paintLanes, paintTimeOverview } from "./group_tracks.js";
import { fitCanvas, painter } from "./host.js";
import { inks } from "./theme.js";

const LEAST_MS = 20;

export function groupChart({ root, onPick, onView, announce, signal, stats }) {
  const canvas = h("canvas", { class: "klw-canvas" }), below = h("canvas", { class: "klw-canvas", style: `height:${LANES.axis + LANES.overview}px` });
  const card = h("div", { class: "klw-card", hidden: true }), brush = h("div", { class: "klw-brush", hidden: true });
  const box = h("div", { class: "klw-lanebox" }, canvas, brush);
  const el = h("div", { class: "klw-lanes", tabindex: 0, role: "application", "aria-roledescription": "lanes over time" }, box, below, card);
  const pen = canvas.getContext("2d"), belowPen = below.getContext("2d");
  let lanes = [], marks = [], whole = [0, 1], view = [0, 1], mode = "offsets", picked = { lane: -1, commit: -1 }, hover = null, scene = null, cache = {}, saving = 0;
  const head = () => headTall(marks);
  const ask = painter(canvas, paint, signal);
  signal.addEventListener("abort", () => clearTimeout(saving));

  function paint() {
    const start = performance.now();
    fitCanvas(canvas, pen);
    fitCanvas(below, belowPen);
    cache.ink ??= laneInks(root);
    scene = groupScene(pen, cache.ink, canvas.clientWidth, view);
    paintLanes(scene, { lanes, mode, picked, hover, marks });
    if (lanes.length) paintTimeOverview({ ...scene, pen: belowPen }, { lanes: cache.wholeLanes, whole, cache });
    Object.assign(stats, { draws: (stats.draws ?? 0) + 1, lastDraw: performance.now() - start, view: [...view], picked: { ...picked } });
  }
  const setTall = () => { canvas.style.height = `${head() + lanes.length * laneTall(lanes)}px`; };
  function show([from, to], isSaved = true) {
    const span = Math.max(LEAST_MS, Math.min(whole[1] - whole[0], to - from)), start = Math.max(whole[0], Math.min(whole[1] - span, from));
    view = [start, start + span];
    ask();
    if (!isSaved) return;
    clearTimeout(saving);
    saving = setTimeout(() => onView(isWhole() ? [] : [...view]), 150);
  }
  const isWhole = () => view[0] <= whole[0] && view[1] >= whole[1];
  const zoom = (factor, at = (view[0] + view[1]) / 2) => show([at - (at - view[0]) * factor, at + (view[1] - at) * factor]);
  const pan = (part) => show([view[0] + (view[1] - view[0]) * part, view[1] + (view[1] - view[0]) * part]);
  const fit = () => show(whole);

  function pick(lane, commit, { isTold = true } = {}) {
    picked = { lane, commit };
    ask();
    if (lane < 0) return;
    const time = lanes[lane].time[commit], top = head() + lane * laneTall(lanes);
    if (commit >= 0 && (time < view[0] || time > view[1])) show([time - (view[1] - view[0]) / 2, time + (view[1] - view[0]) / 2]);
    if (top < box.scrollTop || top + laneTall(lanes) > box.scrollTop + box.clientHeight) box.scrollTop = top - head();
    if (!isTold) return;
    announce(commit >= 0 ? lanes[lane].sentence(commit) : lanes[lane].name);
    onPick(lane, commit);
  }

  // Where a pointer is: time, lane, and whether on the names.
  function place(event, from = canvas) {
    const bounds = from.getBoundingClientRect(), x = event.clientX - bounds.left, y = event.clientY - bounds.top;
    const part = (x - scene.left) / scene.span, lane = Math.floor((y - head()) / laneTall(lanes));
    return { x, y, part, time: view[0] + part * (view[1] - view[0]), lane: lane >= 0 && lane < lanes.length ? lane : -1 };
  }
  function point(event) {
    const { x, part, time, lane } = place(event);
    hover = part >= 0 && part <= 1 ? time : null;
    ask();
    const mark = hover === null ? null : marks.find((each) => Math.abs(scene.x(each.time) - x) < 4);
    card.hidden = hover === null || (lane < 0 && !mark);
    if (card.hidden) return;
    const body = mark ? mark.facts.slice(0, 5) : laneFacts(lanes[lane], time);
    card.replaceChildren(h("strong", {}, mark ? mark.text : lanes[lane].name), h("dl", {}, ...body.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])));
    const outer = el.getBoundingClientRect(), left = event.clientX - outer.left, room = el.clientWidth - card.offsetWidth - 8;
    card.style.left = `${Math.max(4, left + 18 > room ? left - card.offsetWidth - 18 : left + 18)}px`;
    card.style.top = `${Math.max(4, Math.min(event.clientY - outer.top + 12, el.clientHeight - card.offsetHeight - 4))}px`;
  }
  function laneFacts(lane, time) {
    const end = lane.logEnd(time), committed = lane.committed(time), lag = lane.lag(time), text = (n) => (n === null ? "unknown" : count(Math.round(n)));
    const near = lane.nearest(time), isNear = near >= 0 && Math.abs(scene.x(lane.time[near]) - scene.x(time)) < 6;
    const facts = [["time", timestamp(Math.round(time))], ["log end offset", text(end)], ["committed", committed === null ? "nothing" : text(committed)], ["lag", text(lag)]];
    return isNear && lane.kind[near] > 0 ? [...facts, ["here", KINDS[lane.kind[near]]]] : facts;
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
    const [a, b] = [drag.x, now.x].map((x) => Math.max(scene.left, Math.min(scene.left + scene.span, x))).sort((p, q) => p - q);
    brush.hidden = false;
    Object.assign(brush.style, { left: `${a}px`, width: `${b - a}px`, top: `${head()}px`, height: `${lanes.length * laneTall(lanes)}px` });
  });
  canvas.addEventListener("pointerup", (event) => {
    const start = drag;
    drag = null;
    brush.hidden = true;
    if (!start) return;
    const now = place(event);
    if (start.isMoved) return show([Math.min(start.time, now.time), Math.max(start.time, now.time)]);
    if (now.lane >= 0) pick(now.lane, now.part < 0 || now.part > 1 ? lanes[now.lane].commitAt(view[1]) : lanes[now.lane].nearest(now.time));
  });
  canvas.addEventListener("pointercancel", () => { drag = null; brush.hidden = true; });
  canvas.addEventListener("pointerleave", () => { hover = null; card.hidden = true; ask(); });
  canvas.addEventListener("dblclick", fit);
  el.addEventListener("wheel", (event) => {
    const isMine = event.ctrlKey || event.metaKey, isSideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!lanes.length || !scene || (!isMine && !isSideways)) return;
    event.preventDefault();
    if (isSideways && !isMine) return pan((event.deltaX || event.deltaY) / scene.span);
    zoom(Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0022), place(event).time);
  }, { passive: false });

  // In the overview, dragging inside the window moves it, and outside makes another.
  let hold = null;
  const overviewTime = (event) => whole[0] + place(event, below).part * (whole[1] - whole[0]);
  below.addEventListener("pointerdown", (event) => {
    if (!lanes.length || event.button !== 0 || place(event, below).y < LANES.axis) return;
    const time = overviewTime(event), isInside = !isWhole() && time >= view[0] && time <= view[1];
    hold = { time, view: isInside ? [...view] : null };
    below.setPointerCapture(event.pointerId);
  });
  below.addEventListener("pointermove", (event) => {
    if (!hold) return;
    const time = overviewTime(event);
    if (hold.view) show(hold.view.map((each) => each + time - hold.time));
    else if (Math.abs(time - hold.time) * scene.span > 4 * (whole[1] - whole[0])) show([Math.min(time, hold.time), Math.max(time, hold.time)]);
  });
  for (const name of ["pointerup", "pointercancel"]) below.addEventListener(name, () => { hold = null; });
  below.addEventListener("dblclick", fit);

  const lane = () => Math.max(0, picked.lane);
  function along(step) {
    const last = lanes[lane()].length - 1, from = picked.commit < 0 ? (step > 0 ? -1 : last + 1) : picked.commit;
    pick(lane(), Math.max(0, Math.min(last, from + step)));
  }
  function across(step) {
    const next = picked.lane < 0 ? 0 : Math.max(0, Math.min(lanes.length - 1, picked.lane + step)), time = picked.commit < 0 ? view[1] : lanes[picked.lane].time[picked.commit];
    pick(next, lanes[next].nearest(time));
  }
  const KEYS = {
    ArrowRight: () => along(1), ArrowLeft: () => along(-1), ArrowDown: () => across(1), ArrowUp: () => across(-1),
    Home: () => pick(lane(), 0), End: () => pick(lane(), lanes[lane()].length - 1),
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), 0: fit, a: () => pan(-0.25), d: () => pan(0.25),
  };
  el.addEventListener("keydown", (event) => {
    const act = lanes.length && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
    if (!act || event.target !== el) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  const tools = h("div", { class: "klw-tools" },
    button("Zoom out (−)", { glyph: "minus", onclick: () => zoom(2) }),
    button("Zoom in (+)", { glyph: "plus", onclick: () => zoom(0.5) }),
    button("Show all time (0)", { glyph: "fit", onclick: fit }));

  return {
    el, tools,
    // Other lanes begin with all time; the same lanes may come again with more points of a window.
    setLanes(next, { span, isOther }) {
      lanes = next;
      if (isOther) {
        cache = { ...cache, overviewKey: null, wholeLanes: next };
        whole = wholeOf(span);
        view = [...whole];
        picked = { lane: -1, commit: -1 };
      }
      setTall();
      el.hidden = !lanes.length;
      el.setAttribute("aria-label", `${count(lanes.length)} partitions over time. Arrow keys move between commits and partitions, plus and minus zoom, A and D pan, 0 shows all time.`);
      ask();
    },
    setMarks(next) { marks = next; setTall(); ask(); },
    setMode(next) { mode = next; ask(); },
    setView(wanted) { if (wanted?.length === 2) show(wanted, false); else show(whole, false); },
    setPicked(lane, commit) { if (lane !== picked.lane || commit !== picked.commit) pick(lane, commit, { isTold: false }); },
    repaint() { cache.ink = null; ask(); },
    get view() { return view; },
    get picked() { return picked; },
  };
}

// All time, and a little more, so that the last state of each lane has some width.
function wholeOf(span) {
  if (!span.length) return [0, 1];
  return [span[0], Math.max(span[0] + LEAST_MS, span[1] + (span[1] - span[0]) * 0.02)];
}

function laneInks(root) {
  const style = getComputedStyle(root), ink = inks(root);
  return { ...ink, area: style.getPropertyValue("--klw-area").trim(), pick: style.getPropertyValue("--klw-pick").trim(), mark: style.getPropertyValue("--klw-mark").trim() };
}
