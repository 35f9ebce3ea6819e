// What GroupView says about what is selected: a partition and its commit, a rule, or a rebalance.
import { button, h, pairList } from "../shared/dom.js";
import { KINDS } from "./group_data.js";

const reasonText = (...children) => h("p", { class: "klw-why" }, ...children);

// A lane or a row of the table, either may be missing; `commit` is a commit of the lane, -1 for none; `go` selects a
// record.
export function partitionFacts({ lane, commit, row, go }) {
  if (!lane && !row) {
    const text = "Click a lane or a row for details. Drag across the lanes to choose a time.";
    return [h("p", { class: "klw-meaning" }, text)];
  }
  const parts = [h("h4", {}, lane?.name ?? row.name)];
  if (row?.reason) parts.push(reasonText(`${row.reason}.`));
  if (lane && commit >= 0) parts.push(...commitFacts(lane, commit, go));
  if (row) parts.push(reasonText(h("b", {}, "Now.")), pairList(row.facts));
  if (lane?.note) parts.push(h("p", { class: "klw-meaning" }, lane.note));
  return parts;
}

function commitFacts(lane, commit, go) {
  const next = button("Select the record at the committed offset", {
    text: "Next record to read",
    kind: "klw-framed",
    onclick: () => go(lane.target(commit)),
  });
  const own = button("Select the record of this commit", {
    text: "Record of the commit",
    kind: "klw-framed",
    onclick: () => go(lane.record(commit)),
  });
  const hasNext = lane.partition !== null && lane.target(commit).offset !== null;
  return [
    reasonText(h("b", {}, `${KINDS[lane.kind[commit]]}.`)),
    pairList(lane.facts(commit)),
    h("div", { class: "klw-goes" }, hasNext && next, own),
  ];
}

export function ruleFacts([where, rule, verdict, reason, kafka]) {
  return [
    h("h4", {}, rule),
    reasonText(`${reason}.`),
    pairList([["partition", where || "the whole group"], ["verdict", verdict], ["Kafka", kafka]]),
  ];
}

export function rebalanceFacts({ label, cells, facts }) {
  return [h("h4", {}, label), reasonText(cells[5] ? `${cells[5]}.` : "The log does not say why."), pairList(facts)];
}
