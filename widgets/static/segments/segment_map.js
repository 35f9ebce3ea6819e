// The segment map: every batch of a segment on the axis of the file's bytes, with its index entries and times.
import { clampView, zoomView } from "../charts/axis.js";
import { button, h } from "../shared/dom.js";
import { fitCanvas, glider, painter } from "../shared/host.js";
import { mapSummary, paintTracks } from "./tracks.js";
import { LAYOUT } from "./track_layout.js";
import { inks } from "../shared/theme.js";

const HINT_MS = 1600;

export function segmentMap({ root, onSelect, onView, onOpen, announce, signal, stats }) {
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
  const pen = canvas.getContext("2d");
  let data = null,
    view = [0, 1],
    selected = -1,
    offset = null,
    hover = -1,
    scene = null,
    cache = {},
    saving = 0,
    hiding = 0;
  const ask = painter(canvas, paint, signal);
  const glide = glider((a, b) => show([a, b]), signal);
  signal.addEventListener("abort", () => {
    clearTimeout(saving);
    clearTimeout(hiding);
  });

  function paint() {
    if (!data) return;
    const start = performance.now();
    if (fitCanvas(canvas, pen)) cache = {};
    cache.ink ??= inks(root);
    scene = paintTracks(pen, data, {
      width: canvas.clientWidth,
      ink: cache.ink,
      view,
      mark: { selected, hover, offset },
      cache,
    });
    Object.assign(stats, {
      draws: (stats.draws ?? 0) + 1,
      lastDraw: performance.now() - start,
      view: [...view],
      shown: cache.shown,
      times: scene.times,
    });
  }
  function show(wanted) {
    view = clampView(wanted[0], wanted[1], data.fileSize);
    ask();
    clearTimeout(saving);
    saving = setTimeout(() => onView([...view]), 150);
  }
  const jump = (wanted) => glide.go(view, clampView(wanted[0], wanted[1], data.fileSize));
  const zoom = (factor, at = (view[0] + view[1]) / 2) => jump(zoomView(view, factor, at));
  const fit = () => jump([0, data.fileSize]);

  function place(event) {
    const box = canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
    const part = (x - scene.left) / scene.span;
    return { x, y, part, at: view[0] + part * (view[1] - view[0]), inOverview: y < LAYOUT.axis[0] };
  }
  function pick(i, follow) {
    if (i < 0 || i >= data.length) return;
    selected = i;
    offset = null;
    if (follow) reveal(i);
    announce(data.sentence(i));
    ask();
    onSelect(i);
  }
  function reveal(i) {
    const span = view[1] - view[0], start = data.position[i], end = data.end[i];
    if (start >= view[0] && end <= view[1]) return;
    if (end - start > span) return jump([start - (end - start) * 0.2, end + (end - start) * 0.2]);
    jump([start - span / 2, start + span / 2]);
  }

  function point(event) {
    const { x, y, at, inOverview } = place(event), i = inOverview || x < scene.left ? -1 : data.batchAt(at);
    if (i !== hover) {
      hover = i;
      ask();
    }
    const inTail = !inOverview && at >= data.validSize && at < data.fileSize;
    card.hidden = i < 0 && !inTail;
    if (card.hidden) return;
    if (card.dataset.batch !== String(i)) {
      const { title, pairs } = i < 0 ? data.describeTail() : data.describe(i);
      card.dataset.batch = i;
      card.replaceChildren(
        h("strong", {}, title),
        h("dl", {}, ...pairs.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])),
      );
    }
    const room = canvas.clientWidth - card.offsetWidth - 8;
    card.style.left = `${Math.max(0, x + 18 > room ? x - card.offsetWidth - 18 : x + 18)}px`;
    card.style.top = `${Math.max(-8, Math.min(y - 24, LAYOUT.height - card.offsetHeight + 40))}px`;
  }
  const leave = () => {
    hover = -1;
    card.hidden = true;
    ask();
  };

  let drag = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!data || event.button !== 0) return;
    glide.stop();
    const at = place(event);
    drag = { ...at, from: event.clientX, view: [...view], moved: false };
    if (at.inOverview && (at.part * data.fileSize < view[0] || at.part * data.fileSize > view[1])) {
      const span = view[1] - view[0], middle = at.part * data.fileSize;
      show([middle - span / 2, middle + span / 2]);
      drag.view = [...view];
    }
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!data || !scene) return;
    if (!drag) return point(event);
    const moved = event.clientX - drag.from;
    if (Math.abs(moved) > 3) drag.moved = true;
    if (!drag.moved) return;
    card.hidden = true;
    const scale = drag.inOverview ? data.fileSize / scene.span : -(drag.view[1] - drag.view[0]) / scene.span;
    show([drag.view[0] + moved * scale, drag.view[1] + moved * scale]);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved && !drag.inOverview) {
      const i = data.batchAt(place(event).at);
      if (i >= 0) pick(i, false);
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => {
    drag = null;
  });
  canvas.addEventListener("pointerleave", leave);
  canvas.addEventListener("dblclick", (event) => {
    const i = place(event).inOverview ? -1 : data.batchAt(place(event).at);
    if (i < 0) return fit();
    const margin = (data.end[i] - data.position[i]) * 1.5;
    jump([data.position[i] - margin, data.end[i] + margin]);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!data || !scene) return;
    const sideways = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const mine = event.ctrlKey || event.metaKey || el.contains(document.activeElement);
    if (!sideways && !mine) return showHint();
    event.preventDefault();
    glide.stop();
    if (sideways) {
      const step = ((event.deltaX || event.deltaY) / scene.span) * (view[1] - view[0]);
      return show([view[0] + step, view[1] + step]);
    }
    const { part, inOverview } = place(event), within = Math.min(1, Math.max(0, part));
    const at = inOverview ? within * data.fileSize : view[0] + within * (view[1] - view[0]);
    show(zoomView(view, Math.exp(Math.max(-240, Math.min(240, event.deltaY)) * 0.0022), at));
  }, { passive: false });
  function showHint() {
    if (!hint.hidden) return;
    hint.hidden = false;
    hiding = setTimeout(() => {
      hint.hidden = true;
    }, HINT_MS);
  }

  const pan = (part) => jump([view[0] + (view[1] - view[0]) * part, view[1] + (view[1] - view[0]) * part]);
  const KEYS = {
    ArrowRight: () => pick(Math.min(data.length - 1, selected + 1), true),
    ArrowLeft: () => pick(Math.max(0, selected - 1), true),
    Home: () => pick(0, true),
    End: () => pick(data.length - 1, true),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    w: () => zoom(0.5),
    "-": () => zoom(2),
    s: () => zoom(2),
    a: () => pan(-0.25),
    d: () => pan(0.25),
    0: fit,
    Enter: () => {
      if (selected >= 0) onOpen(selected);
    },
  };
  el.addEventListener("keydown", (event) => {
    const act = data && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS[event.key];
    if (!act || event.target !== el) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  });

  const tools = h(
    "div",
    { class: "klw-tools" },
    button("Zoom out (−)", { glyph: "minus", onclick: () => data && zoom(2) }),
    button("Zoom in (+)", { glyph: "plus", onclick: () => data && zoom(0.5) }),
    button("Show the whole segment (0)", { glyph: "fit", onclick: () => data && fit() }),
  );

  return {
    el,
    tools,
    // `isSame`: the segment that is shown, with other contents; the view stays, and the selection if it only grew.
    setData(next, firstView, { isSame = false, isGrown = false } = {}) {
      const size = data?.fileSize ?? 0, isWhole = view[0] <= 0 && view[1] >= size;
      data = next;
      cache = {};
      hover = -1;
      card.hidden = true;
      card.dataset.batch = "";
      if (!isGrown) selected = -1;
      if (data) {
        view = isSame && !isWhole
          ? clampView(view[0], view[1], data.fileSize)
          : isSame
          ? [0, Math.max(1, data.fileSize)]
          : firstView?.length === 2
          ? clampView(firstView[0], firstView[1], data.fileSize)
          : [0, Math.max(1, data.fileSize)];
        el.setAttribute(
          "aria-label",
          `${data.name}: ${
            mapSummary(data)
          }. Arrow keys move between batches, plus and minus zoom, A and D pan, Enter shows the records.`,
        );
      }
      ask();
    },
    // A batch, and the offset of the record in it that is selected (a BigInt), if one is.
    setSelected(i, record = null) {
      if (i === selected && record === offset) return;
      if (i >= 0 && i !== selected) reveal(i);
      selected = i;
      offset = record;
      ask();
    },
    setView(wanted) {
      if (!data || wanted?.length !== 2 || (wanted[0] === view[0] && wanted[1] === view[1])) return;
      view = clampView(wanted[0], wanted[1], data.fileSize);
      ask();
    },
    repaint() {
      cache = {};
      ask();
    },
  };
}
