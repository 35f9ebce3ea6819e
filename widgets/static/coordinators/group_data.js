// A group's lanes: what was committed for each partition over time, and how far its log went.
import { Column, floorIndex } from "../shared/columns.js";
import { count, timestamp } from "../shared/format.js";

export const KINDS = [
  "commit",
  "commit of a transaction",
  "pending: the transaction is open",
  "aborted with its transaction",
  "overtaken by a later commit",
  "tombstone",
  "commit below the one before",
];
export const PENDING = 2;
export const ABORTED = 3;
export const OVERTAKEN = 4;
export const TOMBSTONE = 5;
export const BACK = 6;
const WITHOUT_EFFECT = new Set([PENDING, ABORTED, OVERTAKEN]);

export class GroupLane {
  constructor({ name, partition, log_start: start, log_end: end, commits, ends, note }) {
    Object.assign(this, { name, partition, note, logs: commits.log, total: commits.total });
    this.start = start === null ? null : BigInt(start);
    this.end = end === null ? null : BigInt(end);
    this.time = new Column(commits.time).numbers();
    this.exactOffsets = new Column(commits.offset);
    this.offset = this.exactOffsets.numbers();
    this.kind = new Column(commits.kind).numbers();
    this.places = new Column(commits.place);
    this.endTime = new Column(ends.time).numbers();
    this.endOffset = new Column(ends.offset).numbers();
    this.effective = [...this.kind.keys()].filter((i) => !WITHOUT_EFFECT.has(this.kind[i]));
    this.effectiveTime = this.effective.map((i) => this.time[i]);
  }
  get length() {
    return this.time.length;
  }
  // The commit in force at a time: an index, -1 before the first.
  commitAt(time) {
    const row = floorIndex(this.effectiveTime, time);
    return row < 0 ? -1 : this.effective[row];
  }
  committed(time) {
    const i = this.commitAt(time);
    return i < 0 || this.kind[i] === TOMBSTONE ? null : this.offset[i];
  }
  logEnd(time) {
    const row = floorIndex(this.endTime, time);
    return row < 0 || this.endOffset[row] < 0 ? null : this.endOffset[row];
  }
  // Records between the two; null where one is unknown. A log whose timestamps are late had at least what the group had read.
  lag(time) {
    const committed = this.committed(time), end = this.logEnd(time);
    return committed === null || end === null || this.isBeyond(committed) ? null : Math.max(0, end - committed);
  }
  newest(time) {
    return this.commitAt(time);
  }
  position(i) {
    return this.time[i];
  }
  isBeyond(committed) {
    return this.end !== null && committed > Number(this.end);
  }
  // The lag at a time as text.
  lagText(time) {
    const lag = this.lag(time), committed = this.committed(time);
    if (lag !== null) return `lag ${count(Math.round(lag))}`;
    if (committed === null) return "nothing committed";
    return this.isBeyond(committed) ? "beyond the end" : "lag unknown";
  }
  // The commit nearest to a time, of any kind.
  nearest(time) {
    const before = floorIndex(this.time, time), after = before + 1;
    if (after >= this.length) return before;
    return before < 0 || this.time[after] - time < time - this.time[before] ? after : before;
  }
  // The record at the committed offset, if the log has one: a selection for the explorer.
  target(i) {
    if (this.partition === null) return null;
    const offset = i >= 0 && this.kind[i] !== TOMBSTONE ? this.exactOffsets.exact(i) : null;
    const exists = offset !== null && offset >= this.start && offset < this.end;
    return { partition: this.partition, offset: exists ? String(offset) : null };
  }
  record(i) {
    return { partition: this.logs[i], offset: String(this.places.exact(i)) };
  }
  find(offset) {
    for (let i = this.length - 1; i >= 0; i--) if (String(this.exactOffsets.exact(i)) === offset) return i;
    return -1;
  }
  findRecord(log, place) {
    for (let i = 0; i < this.length; i++) if (this.logs[i] === log && String(this.places.exact(i)) === place) return i;
    return -1;
  }
  facts(i) {
    const lag = this.lag(this.time[i]), end = this.logEnd(this.time[i]);
    return [
      ["time", timestamp(this.time[i])],
      ["committed", this.kind[i] === TOMBSTONE ? "none: tombstone" : count(this.exactOffsets.exact(i))],
      ["log end offset then", end === null ? "unknown" : count(end)],
      ["lag then", lag === null ? "unknown" : count(lag)],
      ["record", `offset ${count(this.places.exact(i))} of ${this.logs[i]}`],
    ];
  }
  sentence(i) {
    const what = this.kind[i] === TOMBSTONE ? "" : ` Offset ${count(this.exactOffsets.exact(i))}.`,
      lag = this.lag(this.time[i]);
    return `${this.name}: ${KINDS[this.kind[i]]}.${what} ${timestamp(this.time[i])}.${
      lag === null ? "" : ` Lag ${count(lag)}.`
    }`;
  }
}

// The values of a lane in each column of pixels of a view, and their range.
export function sampleLane(lane, view, span, mode) {
  const wide = Math.max(2, Math.ceil(span)),
    low = new Float64Array(wide).fill(NaN),
    high = new Float64Array(wide).fill(NaN);
  let least = Infinity, most = -Infinity;
  for (let x = 0; x < wide; x++) {
    const time = view[0] + ((x + 0.5) / wide) * (view[1] - view[0]),
      committed = lane.committed(time),
      end = lane.logEnd(time);
    if (mode === "lag") {
      const lag = lane.lag(time);
      if (lag === null) continue;
      [low[x], high[x]] = [0, lag];
    } else {
      if (committed !== null) low[x] = committed;
      if (end !== null) high[x] = end;
    }
    for (const value of [low[x], high[x]]) {
      if (!Number.isNaN(value)) [least, most] = [Math.min(least, value), Math.max(most, value)];
    }
  }
  if (mode !== "lag") {
    for (let i = 0; i < lane.length; i++) {
      if (!WITHOUT_EFFECT.has(lane.kind[i]) || lane.time[i] < view[0] || lane.time[i] > view[1]) continue;
      [least, most] = [Math.min(least, lane.offset[i]), Math.max(most, lane.offset[i])];
    }
  }
  if (!(most >= least)) [least, most] = [0, 1];
  if (most === least) most = least + 1;
  return { low, high, least, most, wide };
}

// The sum of the known lags in each of `wide` columns of a span of time.
export function totalLag(lanes, [from, to], wide) {
  const sums = new Float64Array(wide);
  for (let x = 0; x < wide; x++) {
    const time = from + ((x + 0.5) / wide) * (to - from);
    for (const lane of lanes) sums[x] += lane.lag(time) ?? 0;
  }
  return sums;
}

// All time, and a little more, so that the last state of each lane has some width.
export function timeSpan([from, to]) {
  return from === undefined ? [0, 1] : [from, to + (to - from) * 0.02];
}

// Where a commit that was picked is among lanes that came again: a range of time has other commits than the whole.
export function pickedAgain(lanes, before, { lane, item }) {
  const own = before[lane], at = own ? lanes.findIndex(({ name }) => name === own.name) : -1;
  if (at < 0 || item < 0) return { lane: at, item: -1 };
  const { partition, offset } = own.record(item);
  return { lane: at, item: lanes[at].findRecord(partition, offset) };
}

// What a selection is here, as lane and commit: what is picked already, a partition of the group, or a commit's record.
export function commitAtSelection(lanes, { partition, offset }, picked) {
  const isIt = (each) => each && each.partition === partition && each.offset === offset, own = lanes[picked.lane];
  const isPicked = own && (isIt(own.target(picked.item)) || (picked.item >= 0 && isIt(own.record(picked.item))));
  if (isPicked) return [picked.lane, picked.item];
  const ofGroup = lanes.findIndex((each) => each.partition !== null && each.partition === partition);
  if (ofGroup >= 0 || offset === null) {
    return [ofGroup, ofGroup >= 0 && offset !== null ? lanes[ofGroup].find(offset) : -1];
  }
  const ofLog = lanes.findIndex((each) => each.findRecord(partition, offset) >= 0);
  return [ofLog, ofLog >= 0 ? lanes[ofLog].findRecord(partition, offset) : -1];
}
