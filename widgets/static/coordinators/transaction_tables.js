// The tables of TransactionLanes: the transactions of a partition, what is open, and the partitions.
import { count } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { OUTCOMES } from "./transaction_data.js";

// `rowOf(i)` returns the lane and the number of a transaction in it.
export function transactionTable({ signal, rowOf, onPick }) {
  return dataGrid({
    label: "Transactions",
    signal,
    rowHeight: 24,
    emptyText: "No transactions.",
    columns: [
      { name: "Producer", width: "minmax(110px, 1.3fr)" },
      { name: "Outcome", width: "minmax(78px, .7fr)" },
      { name: "First offset", width: "minmax(80px, .8fr)", number: true },
      { name: "Last offset", width: "minmax(80px, .8fr)", number: true },
      { name: "Marker", width: "minmax(72px, .8fr)", number: true },
      { name: "Records", width: "minmax(64px, .6fr)", number: true },
      { name: "Epoch", width: "minmax(56px, .5fr)", number: true },
    ],
    cellsOf: (row) => transactionCells(...rowOf(row)),
    onPick,
  });
}

export function transactionCells(lane, i) {
  const of = (field) => lane.exact(field, i), outcome = lane.outcome[i], hasBatches = of("batches") > 0n;
  return [
    lane.name,
    { text: OUTCOMES[outcome], kind: outcome ? "bad" : "" },
    hasBatches ? count(of("first")) : "–",
    hasBatches ? count(of("last")) : "–",
    of("marker") < 0n ? "–" : count(of("marker")),
    count(of("records")),
    { text: of("epoch") < 0n ? "–" : String(of("epoch")), kind: "quiet" },
  ];
}

// `entries()` returns the open transactions of the directory.
export function openTable({ signal, entries, onPick }) {
  const hangs = (i) => entries()[i].verdict === "hangs";
  return dataGrid({
    label: "Open",
    signal,
    rowHeight: 26,
    emptyText: "No transaction is open.",
    columns: [
      { name: "Partition", width: "minmax(90px, .8fr)", isName: true },
      { name: "Producer", width: "minmax(96px, .9fr)" },
      { name: "State", width: "minmax(72px, .6fr)" },
      { name: "First offset", width: "minmax(76px, .6fr)", number: true },
      { name: "Since", width: "minmax(164px, .9fr)" },
      { name: "Blocks", width: "64px", number: true },
      { name: "Verdict", width: "70px" },
      { name: "Why", width: "minmax(140px, 2fr)" },
    ],
    cellsOf: (i) =>
      entries()[i].cells.map((text, k) => {
        if (k === 6) return { text, kind: hangs(i) ? "bad" : "" };
        return k === 7 ? { text, title: text } : text;
      }),
    rowKind: (i) => (hangs(i) ? "bad" : ""),
    onPick: (i) => onPick(entries()[i]),
  });
}

// `entries()` returns the partitions that have transactions.
export function partitionTable({ signal, entries, onPick }) {
  return dataGrid({
    label: "Partitions",
    signal,
    rowHeight: 26,
    columns: [
      { name: "Partition", width: "minmax(130px, 1.5fr)", isName: true },
      { name: "Transactions", width: "minmax(92px, 1fr)", number: true },
      { name: "Aborted", width: "minmax(72px, .8fr)", number: true },
      { name: "Open", width: "minmax(56px, .6fr)", number: true },
      { name: "Last stable offset", width: "minmax(116px, 1fr)", number: true },
      { name: "Blocked offsets", width: "minmax(106px, 1fr)", number: true },
    ],
    cellsOf: (i) => entries()[i].cells,
    rowKind: (i) => (entries()[i].blocked ? "bad" : ""),
    onPick: (i) => onPick(entries()[i]),
  });
}
