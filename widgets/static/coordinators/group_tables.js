// The tables of GroupView: the partitions, the rules with their verdicts, and the rebalances.
import { dataGrid } from "../shared/rows.js";

const FINE = new Set(["in the log", "pending", "unknown"]);

// `rows()` returns a group's partitions.
export function committedTable({ signal, rows, onPick }) {
  return dataGrid({
    label: "Partitions",
    signal,
    rowHeight: 26,
    emptyText: "No offset is committed.",
    columns: [
      { name: "Partition", width: "minmax(96px, 1.4fr)", isName: true },
      { name: "Committed", width: "minmax(76px, .8fr)", number: true },
      { name: "Log end", width: "minmax(66px, .8fr)", number: true },
      { name: "Lag", width: "minmax(56px, .7fr)", number: true },
      { name: "State", width: "minmax(72px, .8fr)" },
      { name: "Committed at", width: "minmax(164px, 1.1fr)" },
      { name: "Expires", width: "minmax(164px, 1.1fr)" },
    ],
    cellsOf(i) {
      const { cells, state, reason } = rows()[i];
      return cells.map((text, k) => {
        if (k === 4) return { text, title: reason, kind: FINE.has(state) ? "" : "bad" };
        return k > 4 ? { text, kind: "quiet" } : text;
      });
    },
    rowKind: (i) => (FINE.has(rows()[i].state) ? "" : "bad"),
    onPick,
  });
}

// `rows()` returns [partition, rule, verdict, reason, Kafka's name] of each rule.
export function ruleTable({ signal, rows, onPick }) {
  return dataGrid({
    label: "Rules",
    signal,
    rowHeight: 26,
    emptyText: "No rules applied.",
    columns: [
      { name: "Partition", width: "minmax(90px, 1fr)", isName: true },
      { name: "Rule", width: "minmax(90px, 1fr)" },
      { name: "Verdict", width: "76px" },
      { name: "Why", width: "minmax(180px, 4fr)" },
    ],
    cellsOf(i) {
      const [where, rule, verdict, reason, kafka] = rows()[i];
      return [
        where,
        { text: rule, title: kafka },
        { text: verdict, kind: `verdict ${verdict}` },
        { text: reason, title: reason },
      ];
    },
    rowKind: (i) => (rows()[i][2] === "blocks" ? "bad" : ""),
    onPick: (i) => onPick(rows()[i]),
  });
}

// `rows()` returns the rebalances of a group.
export function rebalanceTable({ signal, rows, onPick }) {
  return dataGrid({
    label: "Rebalances",
    signal,
    rowHeight: 26,
    emptyText: "No rebalance is in the log.",
    columns: [
      { name: "Time", width: "minmax(164px, .9fr)" },
      { name: "What", width: "minmax(84px, .6fr)" },
      { name: "Generation", width: "80px", number: true },
      { name: "State", width: "minmax(70px, .6fr)" },
      { name: "Members", width: "72px", number: true },
      { name: "Why", width: "minmax(180px, 3fr)" },
    ],
    cellsOf: (i) => rows()[i].cells.map((text, k) => (k === 5 ? { text, title: text } : text)),
    onPick: (i) => onPick(rows()[i]),
  });
}
