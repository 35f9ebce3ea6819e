// A partition's segments on one line: by their bytes on disk, or by the offsets they hold.
import { h, pairList } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { onKeys } from "../shared/frame.js";
import { fitCanvas, painter } from "../shared/host.js";
import { paintStrip, segmentAt, segmentSentence, STRIP, stripScene, stripSpans } from "./strip_paint.js";
import { inks } from "../shared/theme.js";

export function segmentStrip({ root, onSelect, announce, signal }) {
  const canvas = h("canvas", { class: "klw-canvas", style: `height:${STRIP.height}px` });
  const card = h("div", { class: "klw-card", hidden: true });
  const el = h(
    "div",
    { class: "klw-strip", tabindex: 0, role: "application", "aria-roledescription": "segment strip" },
    canvas,
    card,
  );
  const pen = canvas.getContext("2d");
  const state = { data: null, spans: null, mode: "bytes", selected: -1, hover: -1, fresh: {}, scene: null, ink: null };
  const ask = painter(canvas, () => {
    fitCanvas(canvas, pen);
    state.ink ??= inks(root);
    state.scene = stripScene(pen, state.ink, canvas.clientWidth, state.spans);
    paintStrip(state.scene, state);
  }, signal);
  function pick(i) {
    const { data, selected, fresh } = state;
    if (!data || i < 0 || i >= data.size.length || i === selected) return;
    announce(segmentSentence(data, i, data.base_offset[i] in fresh));
    onSelect(i);
  }
  pointAtStrip({ state, canvas, card, ask, onPick: pick });
  onKeys(el, (event) => {
    const last = (state.data?.size.length ?? 0) - 1, { selected } = state;
    const target = { ArrowRight: selected + 1, ArrowLeft: selected - 1, Home: 0, End: last }[event.key];
    if (target === undefined || event.target !== el) return false;
    pick(Math.max(0, Math.min(last, target)));
  });
  const set = (changes) => {
    Object.assign(state, changes);
    ask();
  };
  return {
    el,
    setData(data) {
      card.hidden = true;
      set({ data, hover: -1, spans: data ? stripSpans(data, state.mode) : state.spans });
      if (!data) return;
      const what = `${data.name}: ${plural(data.size.length, "segment")}`;
      el.setAttribute("aria-label", `${what}. Left and right arrow keys move between segments.`);
    },
    // Base offset → the first new byte of that segment.
    setFresh: (fresh) => set({ fresh }),
    setMode: (mode) => set({ mode, spans: state.data ? stripSpans(state.data, mode) : state.spans }),
    setSelected: (selected) => set({ selected }),
    repaint: () => set({ ink: null }),
  };
}

function pointAtStrip({ state, canvas, card, ask, onPick }) {
  const pixel = (event) => event.clientX - canvas.getBoundingClientRect().left;
  const at = (event) => (state.scene ? segmentAt(pixel(event), state.scene, state.spans) : -1);
  canvas.addEventListener("pointermove", (event) => {
    if (!state.data) return;
    const i = at(event);
    if (i !== state.hover) {
      state.hover = i;
      ask();
    }
    card.hidden = i < 0;
    if (i >= 0) showSegmentCard(card, canvas, pixel(event), state.data, i);
  });
  canvas.addEventListener("pointerleave", () => {
    state.hover = -1;
    card.hidden = true;
    ask();
  });
  canvas.addEventListener("click", (event) => state.data && onPick(at(event)));
}

function showSegmentCard(card, canvas, px, data, i) {
  const pairs = [
    ["File", data.remote[i] ?? `${String(data.base_offset[i]).padStart(20, "0")}.log`],
    ["Size", `${count(data.size[i])} bytes`],
  ];
  if (data.modified[i]) pairs.push(["Modified", data.modified[i]]);
  if (data.remote[i]) pairs.push(["State", "in the remote tier, not on this disk"]);
  if (data.is_active[i]) pairs.push(["State", "active: the broker appends to it"]);
  if (data.findings[i]) pairs.push(["Findings", String(data.findings[i])]);
  card.replaceChildren(h("strong", {}, `Segment ${count(data.base_offset[i])}`), pairList(pairs));
  const isLeft = px + 18 > canvas.clientWidth - card.offsetWidth - 8;
  card.style.left = `${Math.max(0, isLeft ? px - card.offsetWidth - 18 : px + 18)}px`;
  card.style.top = `${STRIP.top + STRIP.tall + 6}px`;
}
