// The line above the records: which of them a consumer would get, and whether the newest come first.
import { button, choice, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { followButton } from "../shared/follow_button.js";
import { columnPicker } from "./column_picker.js";

const LEVELS = [
  ["read_uncommitted", "including open and aborted transactions"],
  ["read_committed", "without aborted records, up to the last stable offset"],
];

// `fields()` resolves to the paths of the fields that can be columns.
export function recordBar({ model, sheet, fields, onChange, onFollow }) {
  const columns = button("Choose the columns, fields of keys and values among them", {
    glyph: "columns",
    text: "Columns",
    kind: "klw-framed",
    isLive: true,
    onclick: () =>
      columnPicker({
        sheet,
        from: columns,
        chosen: () => model.get("columns"),
        fields,
        onChange: (names) => onChange({ columns: names }),
      }),
  });
  columns.setAttribute("aria-haspopup", "dialog");
  const ends = choice("Order of time", [["oldest", "Oldest first"], ["newest", "Newest first"]], "oldest", (end) => {
    return onChange({ order: "time", newest_first: end === "newest" });
  });
  for (const each of ends.el.children) each.dataset.live = "disable";
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
  const sample = h("span", { class: "klw-sum klw-sample" });
  const follow = followButton({ model, sentence: () => liveText(model), onFollow });
  function show() {
    follow.show();
    const isByTime = model.get("order") === "time";
    ends.show(isByTime ? (model.get("newest_first") ? "newest" : "oldest") : "");
    level.value = model.get("isolation_level") ?? LEVELS[0][0];
    level.title = LEVELS.find(([name]) => name === level.value)?.[1] ?? "";
  }
  return {
    el: h(
      "div",
      { class: "klw-listbar" },
      ends.el,
      follow.el,
      follow.about,
      level,
      sample,
      columns,
    ),
    show,
    follow,
    // Of how many listed records the heads of the columns say what is in them; 0: nothing is said.
    setSample(of, listed) {
      const text = of < listed ? `a sample of ${count(of)} of ${plural(listed, "record")}` : plural(of, "record");
      sample.textContent = of ? `in the heads: ${text}` : "";
    },
  };
}

// What is known of the writing: a log that is written begins with the newest record.
function liveText(model) {
  const { is_written: isWritten, since } = model.get("_live");
  if (since) return `${model.get("follow") ? "following" : "followed"} since ${since} UTC`;
  return isWritten ? `a log is being written${model.get("newest_first") ? ": the newest come first" : ""}` : "";
}
