// The segment map: every batch of a segment on the axis of the file's bytes, with its index entries and times.
import { clampView } from "../charts/axis.js";
import { button, h } from "../shared/dom.js";
import { fitCanvas, painter } from "../shared/host.js";
import { mapKeys, pointAtMap, turnWheelOnMap } from "./map_pointer.js";
import { mapZoom, nextView } from "./map_view.js";
import { inks } from "../shared/theme.js";
import { LAYOUT } from "./track_layout.js";
import { mapSummary, paintTracks } from "./tracks.js";

export function segmentMap({ root, onSelect, onView, onOpen, announce, signal, stats }) {
  const state = { data: null, view: [0, 1], selected: -1, offset: null, hover: -1, scene: null, cache: {} };
  const parts = mapParts(), { el, canvas, card } = parts;
  const ask = painter(canvas, () => paintMap({ state, parts, root, stats }), signal);
  const zoom = mapZoom({ state, onShow: ask, onView, signal });
  function pick(i, isRevealed = false) {
    if (i < 0 || i >= state.data.length) return;
    state.selected = i;
    state.offset = null;
    if (isRevealed) zoom.reveal(i);
    announce(state.data.sentence(i));
    ask();
    onSelect(i);
  }
  pointAtMap({ state, parts, zoom, ask, onPick: pick });
  turnWheelOnMap({ state, parts, zoom, signal });
  mapKeys({ state, el, zoom, onPick: pick, onOpen });
  return {
    el,
    tools: mapTools(state, zoom),
    // `isSame`: the segment that is shown, with other contents; the view is kept, and the selection if it only grew.
    setData(data, wanted, { isSame = false, isGrown = false } = {}) {
      const oldSize = state.data?.fileSize ?? 0;
      Object.assign(state, { data, cache: {}, hover: -1 });
      card.hidden = true;
      card.dataset.batch = "";
      if (!isGrown) state.selected = -1;
      if (data) {
        state.view = nextView({ view: state.view, oldSize, size: data.fileSize, wanted, isSame });
        el.setAttribute("aria-label", mapLabel(data));
      }
      ask();
    },
    // A batch, and the offset of the record in it that is selected (a BigInt), if one is.
    setSelected(i, record = null) {
      if (i === state.selected && record === state.offset) return;
      if (i >= 0 && i !== state.selected) zoom.reveal(i);
      Object.assign(state, { selected: i, offset: record });
      ask();
    },
    setView(wanted) {
      const { data, view } = state;
      if (!data || wanted?.length !== 2 || (wanted[0] === view[0] && wanted[1] === view[1])) return;
      state.view = clampView(wanted[0], wanted[1], data.fileSize);
      ask();
    },
    repaint() {
      state.cache = {};
      ask();
    },
  };
}

function mapParts() {
  const canvas = h("canvas", { class: "klw-canvas", style: `height:${LAYOUT.height}px` });
  const card = h("div", { class: "klw-card", hidden: true });
  const hint = h("div", { class: "klw-hint", hidden: true }, "Click the map, or hold Ctrl, to zoom with the wheel");
  const el = h(
    "div",
    { class: "klw-map", tabindex: 0, role: "application", "aria-roledescription": "segment map" },
    canvas,
    card,
    hint,
  );
  return { el, canvas, card, hint, pen: canvas.getContext("2d") };
}

function paintMap({ state, parts: { canvas, pen }, root, stats }) {
  const { data, view, selected, hover, offset } = state;
  if (!data) return;
  const start = performance.now();
  if (fitCanvas(canvas, pen)) state.cache = {};
  const cache = state.cache, ink = cache.ink ??= inks(root);
  state.scene = paintTracks(pen, data, {
    width: canvas.clientWidth,
    ink,
    view,
    mark: { selected, hover, offset },
    cache,
  });
  Object.assign(stats, {
    draws: (stats.draws ?? 0) + 1,
    lastDraw: performance.now() - start,
    view: [...view],
    shown: cache.shown,
    times: state.scene.times,
  });
}

function mapLabel(data) {
  return `${data.name}: ${
    mapSummary(data)
  }. Arrow keys move between batches, plus and minus zoom, A and D pan, Enter shows the records.`;
}

function mapTools(state, zoom) {
  return h(
    "div",
    { class: "klw-tools" },
    button("Zoom out (−)", { glyph: "minus", onclick: () => state.data && zoom.zoom(2) }),
    button("Zoom in (+)", { glyph: "plus", onclick: () => state.data && zoom.zoom(0.5) }),
    button("Show the whole segment (0)", { glyph: "fit", onclick: () => state.data && zoom.fit() }),
  );
}
