// The records of a coordinator's log as boxes in a row: what each is by now, and which of them the step is about.
import { h } from "../shared/dom.js";
import { count } from "../shared/format.js";

// What a record of the log is by now: a word, and the glyph that shows it without color.
export const LOOKS = {
  unread: ["not read", ""],
  written: ["written, not in memory", ""],
  cached: ["offset in memory", "●"],
  pending: ["waits for its transaction", "◌"],
  superseded: ["replaced by a later record", ""],
  dropped: ["dropped: the transaction aborted", "×"],
  removed: ["removed by a tombstone", "×"],
  tombstone: ["tombstone", "†"],
  marker: ["transaction marker", "▮"],
  group: ["state of a group", "◆"],
  ignored: ["ignored", ""],
  invalid: ["not readable", "!"],
};
const CELL = 46, MOST_CELLS = 64, LEAST_CELLS = 4, BEFORE = 0.6;

// Which records fit in a width in pixels, [first, stop): the last one touched is among them, or the last one read.
export function recordsInView(records, touched, width) {
  const room = Math.max(LEAST_CELLS, Math.min(MOST_CELLS, Math.floor(width / CELL)));
  const latest = records.findLastIndex(([offset]) => touched.has(offset));
  const current = latest >= 0 ? latest : records.findLastIndex(([, look]) => look !== "unread");
  const first = Math.max(0, Math.min(records.length - room, current - Math.floor(room * BEFORE)));
  return [first, Math.min(records.length, first + room)];
}

// `onPick` gets an offset.
export function recordBox([offset, look], isNow, onPick) {
  const [text, glyph] = LOOKS[look];
  return h(
    "button",
    {
      type: "button",
      class: "klw-record",
      tabindex: -1,
      "data-record": look,
      "data-now": String(isNow),
      title: `Offset ${count(offset)}: ${text}`,
      onclick: () => onPick(offset),
    },
    h("b", {}, glyph),
    h("small", {}, count(offset)),
  );
}

export function recordLegend(records) {
  const present = new Set(records.map(([, look]) => look));
  return Object.entries(LOOKS).filter(([look]) => present.has(look)).map(([look, [text, glyph]]) =>
    h("span", {}, h("i", { class: "klw-record", "data-record": look }, glyph), text)
  );
}
