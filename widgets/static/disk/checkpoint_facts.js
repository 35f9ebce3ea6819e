// What CheckpointTable says about a directory and about a partition, in full.
import { h } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { extentOf, extentText, findingsOf, foundText, statements } from "./checkpoint_data.js";

export function directoryCard({ path, name, facts, findings }) {
  return h(
    "article",
    { class: "klw-card-of" },
    h("h4", { title: path }, name),
    h("dl", {}, ...facts.map(([name, text]) => h("div", {}, h("dt", {}, name), h("dd", {}, text)))),
    ...findings.map(findingBox),
  );
}

export function checkpointFacts(row) {
  const words = statements(row).flatMap((
    [name, text, why],
  ) => [h("dt", {}, name), h("dd", {}, text, h("small", {}, why))]);
  return [
    h("h4", {}, row.name, row.kind ? h("span", { class: "klw-chip" }, row.kind) : null),
    extentBar(row),
    ...findingsOf(row).map(findingBox),
    h("dl", {}, ...words),
  ].filter(Boolean);
}

function findingBox(each) {
  return h(
    "div",
    { class: "klw-contra", "data-severity": each.severity },
    h("b", {}, `${each.severity}: ${foundText(each)}`),
    h("p", {}, each.broker),
  );
}

// The log as a bar, each checkpoint as a mark.
function extentBar(row) {
  const extent = extentOf(row);
  if (!extent) return null;
  return h(
    "div",
    { class: "klw-extent", role: "img", "aria-label": `The log holds ${extentText(row)}` },
    h("i", { style: `left:${extent.from.toFixed(2)}%;right:${(100 - extent.to).toFixed(2)}%` }),
    ...extent.marks.map(({ place, isBad, text }) =>
      h("u", { style: `left:${place.toFixed(2)}%`, "data-bad": isBad, title: text })
    ),
    h("small", {}, count(extent.low)),
    h("small", {}, count(extent.high)),
  );
}
