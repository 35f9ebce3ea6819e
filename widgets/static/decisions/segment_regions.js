// The strip of a log's segments in their regions, the markers above them, the legend and the gauge below.
import { h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";

export const REGION_NAMES = {
  clean: "clean",
  dirty: "dirty",
  waiting: "not cleanable yet",
  active: "active, never cleaned",
  deleted: "deleted by retention",
  held: "would be deleted, but an earlier segment is kept",
  kept: "kept",
};
const LEAST_WIDTH = 1.4;
const RIGHT_END = 0.72; // a marker after it has its name on its left

// The part of the strip that each segment takes: by size, but never too narrow to click.
export function regionShares(sizes) {
  const total = sizes.reduce((sum, each) => sum + each, 0);
  const widths = sizes.map((size) => Math.max(LEAST_WIDTH, (100 * size) / Math.max(1, total)));
  const whole = widths.reduce((sum, each) => sum + each, 0);
  return widths.map((each) => each / whole);
}

// Position of an offset on the strip, 0 to 1: exact between segments, interpolated by offset within one.
export function placeOnStrip(offset, { segments, end_offset: last }, shares) {
  let at = 0;
  for (let i = 0; i < segments.length; i++) {
    const base = BigInt(segments[i].base_offset), end = BigInt(segments[i + 1]?.base_offset ?? last);
    if (offset < end || i === segments.length - 1) {
      return at + shares[i] * Math.max(0, Math.min(1, end > base ? Number(offset - base) / Number(end - base) : 0));
    }
    at += shares[i];
  }
  return at;
}

// Where the markers are, from left to right, each in the first lane whose names it does not cover.
export function markerLayout(sent, shares) {
  const ends = [];
  return sent.markers.map(([name, offset]) => ({ name, offset, at: placeOnStrip(BigInt(offset), sent, shares) }))
    .sort((a, b) => a.at - b.at).map((each) => {
      const free = ends.findIndex((end) => each.at > end + 0.005), lane = free < 0 ? ends.length : free;
      const isLate = each.at > RIGHT_END;
      ends[lane] = isLate ? 2 : each.at + 0.0075 * (each.name.length + each.offset.length);
      return { ...each, lane, isLate };
    });
}

// `onPick` gets the number of a segment.
export function regionStrip(segments, shares, onPick) {
  return segments.map((segment, i) =>
    h(
      "button",
      {
        type: "button",
        class: "klw-region",
        role: "option",
        "data-region": segment.region,
        style: `flex-basis:${(shares[i] * 100).toFixed(3)}%`,
        onclick: () => onPick(i),
        title: `Segment ${count(segment.base_offset)}: ${REGION_NAMES[segment.region]}, ${bytes(segment.size)}`,
      },
      h("b", {}, count(segment.base_offset)),
      h("span", {}, bytes(segment.size)),
      h("em", {}, ...regionMarks(segment)),
    )
  );
}

function regionMarks({ tombstones, passed, ahead }) {
  const batches = (n, when) => `${plural(n, "batch", "batches")} with a delete horizon in the ${when}`;
  return [
    [tombstones, "tombstone", plural(tombstones ?? 0, "tombstone")],
    [passed, "passed", batches(passed ?? 0, "past")],
    [ahead, "ahead", batches(ahead ?? 0, "future")],
  ].filter(([n]) => n).map(([n, mark, title]) => h("small", { title }, h("i", { "data-mark": mark }), count(n)));
}

export function stripMarkers(layout) {
  return layout.map(({ name, offset, at, lane, isLate }) =>
    h(
      "span",
      {
        class: "klw-marker",
        "data-name": name === "checkpoint" ? "checkpoint" : "bound",
        "data-end": String(isLate),
        style: `left:${(at * 100).toFixed(3)}%;--lane:${lane}`,
      },
      h("i", {}),
      h("b", {}, name),
      count(offset),
    )
  );
}

export function regionLegend(segments) {
  const has = (test) => segments.some(test);
  const entries = Object.keys(REGION_NAMES).filter((name) => has((each) => each.region === name))
    .map((name) => [REGION_NAMES[name], { "data-region": name }]);
  if (has((each) => each.tombstones)) entries.push(["tombstones", { "data-mark": "tombstone" }]);
  if (has((each) => each.ahead)) entries.push(["delete horizon ahead", { "data-mark": "ahead" }]);
  if (has((each) => each.passed)) entries.push(["delete horizon passed", { "data-mark": "passed" }]);
  return entries.map(([text, attributes]) => h("span", {}, h("i", attributes), text));
}

// How much retention frees.
export function freedGauge({ freed, size, deleted, segments }) {
  const share = freed / Math.max(1, size);
  return [
    h("span", { class: "klw-gaugename" }, "Freed"),
    h(
      "span",
      { class: "klw-bar", role: "img", "aria-label": `retention frees ${bytes(freed)} of ${bytes(size)}` },
      h("i", { style: `width:${share * 100}%` }),
    ),
    h(
      "span",
      { class: "klw-gaugetext" },
      h("b", {}, bytes(freed)),
      ` of ${bytes(size)} · ${count(deleted)} of ${plural(segments.length, "segment")} deleted`,
    ),
  ];
}

// The dirty ratio beside its threshold.
export function dirtyGauge(sent) {
  const ratio = Math.round(sent.ratio * 1000) / 1000, above = sent.ratio > sent.threshold;
  if (!sent.is_compacted) {
    return [
      h("span", { class: "klw-gaugename" }, "Dirty ratio"),
      h("span", { class: "klw-gaugetext" }, "none: the log is not compacted"),
    ];
  }
  return [
    h("span", { class: "klw-gaugename" }, "Dirty ratio"),
    h(
      "span",
      { class: "klw-bar", role: "img", "aria-label": `dirty ratio ${ratio}, threshold ${sent.threshold}` },
      h("i", { style: `width:${sent.ratio * 100}%` }),
      h("u", { style: `left:${Math.min(1, sent.threshold) * 100}%` }),
    ),
    h(
      "span",
      { class: "klw-gaugetext" },
      h("b", { "data-above": String(above) }, ratio.toFixed(2)),
      ` ${above ? "above" : "not above"} ${sent.threshold} · ${bytes(sent.cleanable_bytes)} dirty, ${
        bytes(sent.clean_bytes)
      } clean, ${bytes(sent.uncleanable_bytes)} not cleanable`,
    ),
  ];
}
