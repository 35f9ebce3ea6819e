// A producer's transactions in a partition, ascending by offset.
import { Column, floorIndex } from "../shared/columns.js";
import { count, plural, range, timestamp } from "../shared/format.js";

export const OUTCOMES = ["committed", "aborted", "open"];
export const OPEN = 2;

export class TransactionLane {
  constructor({ producer, name, bars }, logEnd) {
    const { producer_id: _, ...rest } = bars;
    this.producer = producer;
    this.id = name;
    this.name = name ?? `producer ${producer}`;
    this.logEnd = Number(logEnd);
    this.column = Object.fromEntries(Object.entries(rest).map(([field, packed]) => [field, new Column(packed)]));
    this.first = this.column.first.numbers();
    this.last = this.column.last.numbers();
    this.marker = this.column.marker.numbers();
    this.outcome = this.column.outcome.numbers();
    this.open = [...this.outcome.keys()].filter((i) => this.outcome[i] === OPEN).length;
    this.aborted = [...this.outcome.keys()].filter((i) => this.outcome[i] === 1).length;
  }
  get length() {
    return this.first.length;
  }
  // Where a bar ends: at its marker; an open one continues to the log end offset.
  end(i) {
    return this.outcome[i] === OPEN ? this.logEnd : this.marker[i] + 1;
  }
  position(i) {
    return this.first[i];
  }
  newest() {
    return this.length - 1;
  }
  nearest(offset) {
    const before = floorIndex(this.first, offset), after = before + 1;
    if (before < 0) return this.length ? 0 : -1;
    if (after >= this.length || offset < this.end(before)) return before;
    return this.first[after] - offset < offset - this.end(before) ? after : before;
  }
  // The transaction that covers an offset, -1 if none does.
  at(offset) {
    const i = floorIndex(this.first, offset);
    return i >= 0 && offset < this.end(i) ? i : -1;
  }
  exact(field, i) {
    return this.column[field].exact(i);
  }
  about() {
    if (this.open) return `${count(this.length)} · ${this.open} open`;
    return this.aborted ? `${count(this.length)} · ${count(this.aborted)} aborted` : plural(this.length, "transaction");
  }
  facts(i) {
    const marker = this.exact("marker", i), epoch = this.exact("epoch", i), hasBatches = this.exact("batches", i) > 0n;
    return [
      ["outcome", OUTCOMES[this.outcome[i]]],
      [
        "records",
        hasBatches
          ? `${count(this.exact("records", i))} in ${plural(this.exact("batches", i), "batch", "batches")}`
          : "none in this log",
      ],
      ["offsets", hasBatches ? range(this.exact("first", i), this.exact("last", i)) : "–"],
      ["marker", marker < 0n ? "none yet" : `offset ${count(marker)}`],
      ["first batch's time", hasBatches ? timestamp(this.exact("time", i)) : "–"],
      ["producer id", count(this.producer)],
      ["producer epoch", epoch < 0n ? "–" : String(epoch)],
    ];
  }
  sentence(i) {
    const marker = this.exact("marker", i);
    return `${this.name}: ${OUTCOMES[this.outcome[i]]} transaction, from offset ${count(this.exact("first", i))}${
      marker < 0n ? "" : `, marker at ${count(marker)}`
    }. ${plural(this.exact("records", i), "record")}.`;
  }
}

// Neighboring bars of one outcome that a pixel cannot part are one run; `least` is a pixel in offsets.
export function barRuns(lane, [from, to], least) {
  const runs = [];
  let i = Math.max(0, floorIndex(lane.first, from));
  for (; i < lane.length && lane.first[i] <= to; i++) {
    const start = lane.first[i], end = lane.end(i), outcome = lane.outcome[i], last = runs.at(-1);
    if (end <= from) continue;
    const isNarrow = end - start < 4 * least;
    if (last && last.outcome === outcome && isNarrow && last.isNarrow && start - last.end < least) {
      last.end = end;
      last.lastItem = i;
    } else runs.push({ start, end, outcome, isNarrow, item: i, lastItem: i });
  }
  return runs;
}

// Each transaction as the number of its lane and its own there, the newest first.
export function newestFirst(lanes) {
  return lanes.flatMap((lane, i) => Array.from({ length: lane.length }, (_, k) => [i, k]))
    .sort((a, b) => lanes[b[0]].first[b[1]] - lanes[a[0]].first[a[1]]);
}

// The axis of a log's offsets, and a little more, so that its end is visible.
export function offsetSpan(start, end) {
  return [start, Math.max(start + 1, end) + Math.max(0.5, (end - start) * 0.012)];
}

// The transaction at an offset, as lane and number: first the picked one, then the one that begins there, then any.
export function transactionAt(lanes, at, picked) {
  if (picked.lane >= 0 && picked.item >= 0 && lanes[picked.lane]?.at(at) === picked.item) {
    return [picked.lane, picked.item];
  }
  const covering = lanes.map((each, i) => [i, each.at(at)]).filter(([, item]) => item >= 0);
  return covering.find(([i, item]) => lanes[i].first[item] === at) ?? covering[0] ?? [-1, -1];
}
