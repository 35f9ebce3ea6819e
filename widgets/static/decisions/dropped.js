// What a cleaning of a log would drop: its size before and afterwards, and each reason with records and bytes.
import { button, h } from "../shared/dom.js";
import { bytes, count } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { stateNote } from "../shared/state.js";

export function droppedPane({ model, ask, signal }) {
  let rows = [];
  const said = h("div", { class: "klw-said" });
  const grid = dataGrid({
    label: "Reasons",
    signal,
    rowHeight: 26,
    emptyText: "No record is dropped.",
    columns: [
      { name: "Fate", width: "78px" },
      { name: "Records", width: "90px", number: true },
      { name: "Size", width: "84px", number: true },
      { name: "Why", width: "minmax(200px, 1fr)" },
    ],
    cellsOf(i) {
      const [isKept, reason, records, size] = rows[i];
      return [
        { text: isKept ? "kept" : "dropped", kind: isKept ? "quiet" : "bad" },
        count(records),
        bytes(size),
        { text: reason, title: reason },
      ];
    },
  });
  const el = h("div", { class: "klw-dropped" }, said, grid.el);
  const read = () =>
    button("Find what a cleaning would drop", {
      text: "Read the records",
      kind: "klw-framed",
      isLive: true,
      onclick: () => ask("plan"),
    });
  const asks = "The log has more than 64 MiB. To find what a cleaning would drop, all of its records are read.";
  return {
    el,
    // Returns how many records are dropped; null: not known.
    show(plan) {
      rows = plan.reasons ?? [];
      grid.el.hidden = plan.state !== "done" || !rows.length;
      grid.setCount(rows.length);
      said.replaceChildren(...{
        waits:
          () => [model.isLive ? stateNote("empty", asks, read()) : stateNote("absent", `This is ${model.absence}.`)],
        running: () => [stateNote("loading", "Reading the records…")],
        failed: () => [stateNote("failed", `A cleaning fails: ${plan.error}.`)],
        done: () => [sizeBar(plan), h("p", {}, `${plan.lead}${[plan.summary, ...plan.rounds].join(". ")}.`)],
      }[plan.state]());
      return plan.state === "done" ? rows.reduce((sum, row) => sum + (row[0] ? 0 : row[2]), 0) : null;
    },
  };
}

function sizeBar({ size, size_after: after }) {
  const share = after / Math.max(1, size);
  return h(
    "div",
    { class: "klw-gauge" },
    h("span", { class: "klw-gaugename" }, "Left"),
    h(
      "span",
      { class: "klw-bar", role: "img", "aria-label": `${bytes(size)} become ${bytes(after)}` },
      h("i", { style: `width:${100 * share}%` }),
    ),
    h("span", { class: "klw-gaugetext" }, h("b", {}, bytes(after)), ` of ${bytes(size)}`),
  );
}
