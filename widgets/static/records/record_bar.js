// The line above the records: which of them a consumer would get, and whether the newest come first.
import { choice, h } from "../shared/dom.js";

const LEVELS = [
  ["read_uncommitted", "also of open and aborted transactions"],
  ["read_committed", "without aborted records, up to the last stable offset"],
];

export function recordBar({ model, onChange }) {
  const ends = choice("Order of time", [["oldest", "Oldest first"], ["newest", "Newest first"]], "oldest", (end) => {
    return onChange({ order: "time", newest_first: end === "newest" });
  });
  const level = h(
    "select",
    {
      class: "klw-input klw-select",
      "aria-label": "Isolation level",
      "data-live": "disable",
      "data-lm-suppress-shortcuts": "true",
      onchange: () => onChange({ isolation_level: level.value }) === false && show(),
    },
    ...LEVELS.map(([name, what]) => h("option", { value: name, title: what }, name)),
  );
  const tools = h("span", { class: "klw-tools" });
  function show() {
    const isByTime = model.get("order") === "time";
    ends.show(isByTime ? (model.get("newest_first") ? "newest" : "oldest") : "");
    level.value = model.get("isolation_level") ?? LEVELS[0][0];
    level.title = LEVELS.find(([name]) => name === level.value)?.[1] ?? "";
  }
  return {
    el: h("div", { class: "klw-listbar" }, ends.el, level, h("span", { class: "klw-sum" }), tools),
    tools,
    show,
  };
}
