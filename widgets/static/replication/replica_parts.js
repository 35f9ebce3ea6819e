// What surrounds the lanes of a partition: the leader, the legend, the ranges that differ, the findings.
import { button, choice, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { epochNames, MARKS } from "./replica_chart.js";
import { hasRecords } from "./replica_data.js";

const MOST_BUTTONS = 8;

// The broker taken as the leader: buttons, or a list of many. `onLead` returns false to refuse a choice.
export function leaderChoice({ brokers, leader }, onLead) {
  const label = "Broker taken as the leader";
  if (brokers.length <= MOST_BUTTONS) return choice(label, brokers.map((each) => [each, each]), leader, onLead).el;
  const select = h(
    "select",
    {
      class: "klw-input",
      "aria-label": label,
      onchange: () => {
        if (!onLead(select.value)) select.value = leader;
      },
    },
    ...brokers.map((each) => h("option", { value: each }, each)),
  );
  select.value = leader;
  return select;
}

export function laneLegend(state) {
  return [
    ...epochNames(state).map(([name, color]) => h("span", {}, h("i", { style: `--swatch:${color}` }), name)),
    ...MARKS.map(([mark, text]) => h("span", {}, h("i", { "data-lane": mark }), text)),
  ];
}

// `onShow` gets the broker and the first offset of a range; without it, nothing can be shown.
export function rangeLines({ differs, leader }, onShow) {
  const sentence = (text) => [h("p", { class: "klw-meaning" }, text)];
  if (differs === null) return sentence("Comparing the records…");
  if (!differs.length) return sentence(`All replicas have the records of broker ${leader}.`);
  return differs.map(([broker, kind, offset, text]) =>
    h(
      "p",
      {},
      h("i", { "data-lane": kind }),
      h("strong", {}, `Broker ${broker}`),
      h("span", {}, text),
      onShow && hasRecords(kind)
        ? button(`Show offset ${count(offset)} of broker ${broker} in Explore`, {
          glyph: "goto",
          onclick: () => onShow({ broker, offset }),
        })
        : null,
    )
  );
}

export function findingLines({ findings, left_out: leftOut }) {
  const sentence = (text) => h("p", { class: "klw-meaning" }, text);
  if (!findings.length) return [sentence("No findings: the replicas hold the same records.")];
  const lines = findings.map(([severity, kind, found, meaning]) =>
    h(
      "div",
      { class: "klw-finding", "data-severity": severity },
      h("strong", {}, kind),
      h("p", {}, `${found}.`, meaning ? h("span", {}, ` ${meaning}`) : null),
    )
  );
  return leftOut ? [...lines, sentence(`${plural(leftOut, "more finding")}.`)] : lines;
}
