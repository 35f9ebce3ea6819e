// The explorer's two pictures: the segments of the partition, and the map of the segment, each with its head.
import { button, choice, h } from "../shared/dom.js";
import { segmentMap } from "../segments/segment_map.js";
import { segmentStrip } from "../segments/segment_strip.js";

// A button that shows the Python code of a view.
export function pythonButton({ model, sheet }, view, label) {
  const made = button(`${label} as Python`, {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(made, `${label} as Python`, model.get("query")[view] ?? "# nothing is selected"),
  });
  made.setAttribute("aria-haspopup", "dialog");
  return made;
}

export function stripPanel(view) {
  const { root, announce, signal, model, selection } = view;
  const strip = segmentStrip({
    root,
    announce,
    signal,
    onSelect: (i) => selection.choose({ segment: model.get("_strip").base_offset[i], position: null, offset: null }),
  });
  const modes = choice(
    "Axis of the segments",
    [["bytes", "Bytes"], ["offsets", "Offsets"]],
    "bytes",
    (mode) => strip.setMode(mode),
  );
  const head = panelHead("Partition", modes.el, pythonButton(view, "segments", "Segments"));
  return { ...head, el: h("section", { class: "klw-panel" }, head.el, strip.el), strip };
}

// `onPick` gets the number of a batch; `onOpen` is called to show its records.
export function mapPanel(view, { onPick, onOpen }) {
  const { root, announce, signal, stats, model } = view,
    set = (name, value) => {
      model.set(name, value);
      model.save_changes();
    };
  const onView = (range) => set("view", range);
  const map = segmentMap({ root, announce, signal, stats, onSelect: onPick, onOpen, onView });
  const colors = choice(
    "Color of the batches",
    [["codec", "Compression"], ["producer", "Producer"], ["epoch", "Epoch"]],
    model.get("color_by"),
    (what) => set("color_by", what),
  );
  const head = panelHead("Segment", colors.el, map.tools, pythonButton(view, "batches", "Batches"));
  const legend = h("div", { class: "klw-legend" });
  return { ...head, el: h("section", { class: "klw-panel" }, head.el, map.el, legend), map, colors, legend };
}

function panelHead(text, ...tools) {
  const title = h("h3", {}, text), about = h("span", { class: "klw-about" });
  return { el: h("div", { class: "klw-phead" }, title, about, ...tools), title, about };
}
