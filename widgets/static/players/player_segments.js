// The segments of a partition in a row, as wide as they are large, with the state of each.
import { h } from "../shared/dom.js";
import { bytes, count } from "../shared/format.js";

const MOST = 48;
const WORDS = {
  kept: "kept",
  deletable: "deletable",
  gone: "renamed .deleted",
  removed: "files removed",
  recovered: "recovered",
  cut: "recovered, end truncated",
};

export function playerSegments({ onPick }) {
  const el = h("div", { class: "klw-segs", role: "group", "aria-label": "Segments", hidden: true });
  let data = null, first = -1, boxes = [];

  // If there are very many segments, those around the current one are shown.
  function build(stage) {
    const n = data.segments.length, from = Math.max(0, Math.min(n - MOST, stage - (MOST >> 1)));
    if (from === first) return;
    first = from;
    boxes = data.segments.slice(from, from + MOST).map((segment, k) => {
      const name = h("b", {}, count(segment.base)), fill = h("i", {}), note = h("small", {});
      const made = h(
        "button",
        {
          type: "button",
          class: "klw-seg",
          style: `flex-grow:${Math.max(1, segment.size)}`,
          onclick: () => onPick(from + k),
        },
        fill,
        name,
        note,
      );
      return { made, fill, note, segment };
    });
    el.replaceChildren(...boxes.map((each) => each.made));
  }

  return {
    el,
    setData(next) {
      data = next;
      first = -1;
      el.hidden = next.segments.length < 2;
    },
    show(at, stage) {
      if (!data || el.hidden) return;
      build(Math.max(0, stage));
      boxes.forEach(({ made, fill, note, segment }, k) => {
        const fate = segment.fate(at), size = Math.max(1, segment.size), shown = segment.shownSize(at);
        made.hidden = segment.born > at;
        made.dataset.fate = fate;
        made.setAttribute("aria-current", String(first + k === stage));
        fill.style.width = `${(100 * (segment.reveal ? shown : segment.done(at))) / size}%`;
        note.textContent = WORDS[fate] ?? "";
        made.title = `Segment ${count(segment.base)}, ${bytes(segment.reveal ? shown : segment.size)}${
          fate ? `: ${WORDS[fate]}` : ""
        }`;
        made.setAttribute("aria-label", made.title);
      });
    },
  };
}
