// The picture of a player of segments: all of them, the one that the step is in, and its batches.
import { choice, h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { playerSegments } from "./player_segments.js";
import { playerStage } from "./player_stage.js";

export function segmentViews({ root, pick, signal, stats, data }) {
  const extent = choice(
    "What the picture shows",
    [["follow", "Follow"], ["whole", "Whole segment"]],
    "follow",
    (what) => stage.setWhole(what === "whole"),
  );
  const segments = playerSegments({
    onPick: (number) => {
      const first = data().steps.findIndex((_, i) => data().segmentOf(i) === number);
      if (first >= 0) pick(first);
    },
  });
  const stage = playerStage({ root, onPick: pick, signal, stats });
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  return {
    above: [segments.el],
    panel: [h("div", { class: "klw-phead" }, title, about, extent.el), stage.el],
    setData(next) {
      stage.setData(next);
      segments.setData(next);
    },
    show(at, isSmooth) {
      stage.show(at, isSmooth);
      segments.show(at, data().stage(at));
      const segment = stage.segment;
      title.textContent = segment ? `Segment ${count(segment.base)}` : "No segment";
      about.textContent = about.title = segment ? segmentText(segment, at) : "";
      stage.el.parentElement.classList.toggle("klw-bare", !segment);
    },
    repaint: stage.repaint,
  };
}

function segmentText(segment, at) {
  if (!segment.length) return bytes(segment.size);
  return `${plural(segment.shownCount(at), "batch", "batches")} · ${
    plural(segment.entries(at).length, "index entry", "index entries")
  }`;
}
