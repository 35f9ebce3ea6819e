// A rehearsed cleaning: the state of each batch and record of a round at the step shown.
import { Column, floorIndex } from "../shared/columns.js";
import { SEGMENT, StepRows } from "../players/step_rows.js";

const RECORD = 2, BATCH = 3;
export const LATER = 2 ** 31 - 1;
export const VERDICTS = ["", "copied", "rebuilt", "emptied", "gone"];
const DECIDES = new Set(["kept", "dropped"]);
const ON_BATCHES = new Set(["copied", "rebuilt", "emptied", "gone"]);
const ON_SEGMENTS = new Set(["read", "cleaned", "ready", "deleted", "swapped", "removed"]);

// Widths in the picture, in cells: a record or batch is 1 wide.
const BETWEEN_BATCHES = 0.16, BETWEEN_SEGMENTS = 0.9, EMPTY = 0.7;

export class CompactionData extends StepRows {
  constructor(sent) {
    super(sent);
    this.detail = sent.detail ?? "records";
    this.keys = sent.keys ?? [];
    this.reasons = sent.reasons ?? {};
    this.rounds = (sent.rounds ?? []).map((each) => new Round(each, this.detail));
    this.steps.forEach((_, i) => this.rounds[this.roundOf(i)]?.add(this, i));
  }
  roundOf(i) {
    return Math.max(0, floorIndex(this.rounds.map((each) => each.firstStep), i));
  }
  segmentOf(i) {
    return this.steps[i][SEGMENT];
  }
  record(i) {
    return this.steps[i][RECORD];
  }
  batch(i) {
    return this.steps[i][BATCH];
  }
  keyName(key, isShort = false) {
    return key < 0 ? "no key" : this.keys[key][isShort ? 0 : 1];
  }
  // The reason for a record or a batch, as text; "" without a decision.
  reasonText(code) {
    return this.reasons[code]?.[1] ?? "";
  }
  isKept(code) {
    return Boolean(this.reasons[code]?.[0]);
  }
  // The next step about a key or an offset after `at`; after the last step it starts over.
  find(text, at) {
    const wanted = text.trim().replaceAll(",", "");
    for (let k = 1; k <= this.length; k++) {
      const i = (at + k) % this.length, record = this.record(i), round = this.rounds[this.roundOf(i)];
      if (record < 0 || !round.records) continue;
      const key = round.records.key[record], names = key < 0 ? [] : this.keys[key];
      if (String(round.records.offset[record]) === wanted && DECIDES.has(this.role(i))) return i;
      if (names.includes(text.trim())) return i;
    }
    return -1;
  }
}

class Round {
  constructor(sent, detail) {
    const numbers = (packed) => new Column(packed).numbers();
    this.firstStep = sent.first_step;
    this.now = sent.now;
    this.ratio = sent.ratio;
    this.threshold = sent.threshold;
    this.firstDirty = sent.first_dirty_offset;
    this.end = sent.first_uncleanable_offset;
    this.segments = sent.segments.map(([base, size, region]) => ({ base, size, region, steps: {} }));
    this.firstBatches = numbers(sent.first_batches);
    this.firstRecords = numbers(sent.first_records);
    this.batches = Object.fromEntries(Object.entries(sent.batches).map(([name, packed]) => [name, numbers(packed)]));
    this.records = sent.records &&
      Object.fromEntries(Object.entries(sent.records).map(([name, packed]) => [name, numbers(packed)]));
    this.count = this.batches.size.length;
    this.mapped = this.records && new Int32Array(this.records.offset.length).fill(LATER);
    this.decided = this.records && new Int32Array(this.records.offset.length).fill(LATER);
    this.judged = new Int32Array(this.count).fill(LATER);
    this.unmapped = new Int32Array(this.count).fill(LATER);
    this.mapSteps = [];
    this.mapRecords = [];
    this.groups = [];
    this.layOut(detail);
  }
  // Where each batch begins and ends in the picture, in cells.
  layOut(detail) {
    this.from = new Float64Array(this.count);
    this.to = new Float64Array(this.count);
    this.segmentFrom = [];
    this.segmentTo = [];
    let at = 0;
    this.segments.forEach((_, s) => {
      this.segmentFrom.push(at);
      for (let b = this.firstBatches[s]; b < this.firstBatches[s + 1]; b++) {
        const wide = detail === "records" ? this.firstRecords[b + 1] - this.firstRecords[b] || EMPTY : 1;
        this.from[b] = at;
        this.to[b] = at + wide;
        at += wide + BETWEEN_BATCHES;
      }
      if (this.firstBatches[s] === this.firstBatches[s + 1]) at += EMPTY;
      this.segmentTo.push(at - BETWEEN_BATCHES);
      at += BETWEEN_SEGMENTS;
    });
    this.wide = Math.max(1, at - BETWEEN_SEGMENTS);
  }
  add(data, i) {
    const role = data.role(i), record = data.record(i), batch = data.batch(i), segment = data.segmentOf(i);
    if (role === "mapped" && record >= 0) {
      this.mapped[record] = i;
      this.mapSteps.push(i);
      this.mapRecords.push(record);
    } else if (DECIDES.has(role) && record >= 0) this.decided[record] = i;
    else if (ON_BATCHES.has(role)) this.judged[batch] = i;
    else if (role === "unmapped") this.unmapped[batch] = i;
    else if (role === "grouped") this.groups.push({ step: i, first: segment, last: segment });
    if (ON_SEGMENTS.has(role) && segment >= 0) this.segments[segment].steps[role] = i;
    if (role === "cleaned") {
      const group = this.groups.findLast((each) => each.first <= segment);
      if (group) group.last = Math.max(group.last, segment);
      // Without steps about single batches, they are decided with their segment.
      for (let b = this.firstBatches[segment]; b < this.firstBatches[segment + 1]; b++) {
        this.judged[b] = Math.min(i, this.judged[b]);
      }
    }
  }
  segmentOfBatch(b) {
    return floorIndex(this.firstBatches, b);
  }
  batchAt(place) {
    return Math.max(0, Math.min(this.count - 1, floorIndex(this.from, place)));
  }
  batchOfRecord(r) {
    return floorIndex(this.firstRecords, r);
  }
  placeOf(r) {
    const b = this.batchOfRecord(r);
    return this.from[b] + r - this.firstRecords[b];
  }
  fate(segment, at) {
    const { steps } = this.segments[segment];
    if (steps.removed <= at) return "removed";
    return steps.deleted <= at ? "deleted" : "";
  }
  groupOf(segment) {
    return this.groups.find((each) => each.first <= segment && segment <= each.last) ?? null;
  }
  // The name of a group's new segment at step `at`.
  suffix(group, at) {
    const { steps } = this.segments[group.first];
    if (steps.swapped <= at) return "";
    return steps.ready <= at ? ".swap" : ".cleaned";
  }
  // "mapped", "kept", "dropped" or "" of a record.
  state(r, at, data) {
    if (this.decided[r] <= at) return data.isKept(this.records.reason[r]) ? "kept" : "dropped";
    return this.mapped[r] <= at ? "mapped" : "";
  }
  verdict(b, at) {
    return this.judged[b] <= at ? VERDICTS[this.batches.verdict[b]] : "";
  }
  // The offset map at step `at`: keys in order of appearance, with their newest record.
  entries(at) {
    const count = floorIndex(this.mapSteps, at) + 1, newest = new Map();
    for (let k = 0; k < count; k++) newest.set(this.records.key[this.mapRecords[k]], this.mapRecords[k]);
    return [...newest];
  }
  // The records of a key, ascending.
  recordsOf(key) {
    const found = [];
    if (key >= 0) {
      this.records.key.forEach((each, r) => {
        if (each === key) found.push(r);
      });
    }
    return found;
  }
  // The cells that a step is about: [from, to), or null.
  touched(data, i) {
    const record = data.record(i), batch = data.batch(i), segment = data.segmentOf(i);
    if (record >= 0) return [this.placeOf(record), this.placeOf(record) + 1];
    if (batch >= 0) return [this.from[batch], this.to[batch]];
    const group = data.role(i) === "grouped" || data.role(i) === "ready" || data.role(i) === "swapped"
      ? this.groupOf(segment)
      : null;
    if (group) return [this.segmentFrom[group.first], this.segmentTo[group.last]];
    return segment >= 0 ? [this.segmentFrom[segment], this.segmentTo[segment]] : null;
  }
}
