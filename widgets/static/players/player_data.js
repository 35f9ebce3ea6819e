// The steps of a player: the state of each batch, index entry and segment at the step shown.
import { Column, floorIndex } from "../shared/columns.js";
import { POSITION, ROLE, SEGMENT, SIZE, StepRows } from "./step_rows.js";

export const NEVER = 2 ** 31 - 1;
const ON_BATCHES = new Set(["passed", "found", "valid", "invalid", "appended"]);
const FATES = new Set(["kept", "deletable", "gone", "removed", "recovered", "cut"]);
const WALK = new Set(["entry", "passed", "found"]);
const PROBES = new Set(["probe", "entry", "time probe", "time entry"]);

export class PlayerData extends StepRows {
  constructor(sent) {
    super(sent);
    this.isGrowing = this.steps.some((step) => step[ROLE] === "appended");
    this.segments = (sent.segments ?? []).map((each) => new PlayedSegment(each));
    this.steps.forEach((step, i) => {
      if (step[SEGMENT] >= 0) this.segments[step[SEGMENT]].add(step, i, this.isGrowing);
    });
    for (const each of this.segments) each.settle();
    this.stages = stagesOf(this.steps);
  }
  segmentOf(i) {
    return this.steps[i][SEGMENT];
  }
  // The segment on the stage at a step: its own, or the segment of the nearest step with one.
  stage(i) {
    return i < 0 ? -1 : this.stages[i];
  }
  // The bytes that a step touched, [from, to), or null.
  touched(i) {
    const step = this.steps[i];
    return !step || step[POSITION] < 0 ? null : [step[POSITION], step[POSITION] + Math.max(1, step[SIZE])];
  }
  // The bytes of all steps of a walk around step i: from the index entry found to the batch found.
  walk(i) {
    const segment = this.segmentOf(i), isWalk = (k) => this.segmentOf(k) === segment && WALK.has(this.role(k));
    let first = i, last = i, from = Infinity, to = 0;
    while (first > 0 && isWalk(first - 1)) first--;
    while (last + 1 < this.length && isWalk(last + 1)) last++;
    for (let k = first; k <= last; k++) {
      const [a, b] = this.touched(k) ?? [Infinity, 0];
      from = Math.min(from, a);
      to = Math.max(to, b);
    }
    return [from, to];
  }
}

class PlayedSegment {
  constructor({ base_offset: base, size, batches, entries, time_entries: timeEntries }) {
    this.base = base;
    this.size = size;
    this.position = new Column(batches.position).numbers();
    this.bytes = new Column(batches.size).numbers();
    this.baseOffset = new Column(batches.base_offset);
    this.lastOffset = new Column(batches.last_offset);
    this.length = this.position.length;
    this.onDisk = new Column(entries).numbers();
    this.timeEntries = new Column(timeEntries).numbers();
    this.firstStep = new Int32Array(this.length).fill(NEVER);
    this.role = new Array(this.length).fill("");
    this.reveal = null;
    this.added = [];
    this.probes = [];
    this.cuts = [];
    this.fates = [];
    this.progress = [];
    this.born = -1;
    this.rebuilds = false;
  }
  add(step, i, isGrowing) {
    const role = step[ROLE], at = step[POSITION], row = at < 0 ? -1 : this.rowAt(at);
    if (
      ON_BATCHES.has(role) && row >= 0 && this.position[row] === at &&
      (this.firstStep[row] === NEVER || role === "invalid")
    ) {
      this.firstStep[row] = Math.min(i, this.firstStep[row]);
      this.role[row] = role;
    }
    if (role === "valid" || role === "appended") this.progress.push([i, at + step[SIZE]]);
    if (role === "added") this.added.push({ position: at, step: i });
    if (role === "added" || role === "skipped") this.rebuilds = true;
    if (isGrowing && row >= 0) {
      this.reveal ??= new Int32Array(this.length).fill(NEVER);
      this.reveal[row] = Math.min(i, this.reveal[row]);
    }
    if (PROBES.has(role)) this.probes.push({ position: at, step: i, role });
    if (role === "cut") this.cuts.push({ from: at, to: at + step[SIZE], step: i });
    if (role === "gone") this.cuts.push({ from: 0, to: this.size, step: i });
    if (role === "rolled") this.born = i;
    if (FATES.has(role)) this.fates.push([i, role]);
  }
  // Batches that no step names came with the batch before them; those before the first existed already.
  settle() {
    if (!this.reveal) return;
    let last = -1;
    for (let row = 0; row < this.length; row++) {
      last = this.reveal[row] = this.reveal[row] === NEVER ? last : this.reveal[row];
    }
  }
  end(row) {
    return this.position[row] + this.bytes[row];
  }
  rowAt(byte) {
    return floorIndex(this.position, byte);
  }
  isShown(row, at) {
    return this.reveal === null || this.reveal[row] <= at;
  }
  shownCount(at) {
    return this.reveal === null ? this.length : this.reveal.reduce((n, step) => n + (step <= at), 0);
  }
  // The state of a batch at step `at`; "" without one.
  state(row, at) {
    return this.firstStep[row] <= at ? this.role[row] : "";
  }
  cutFrom(at) {
    return this.cuts.reduce((from, cut) => (cut.step <= at ? Math.min(from, cut.from) : from), Infinity);
  }
  // Positions of the index entries that exist at step `at`.
  entries(at) {
    if (!this.rebuilds) return this.onDisk;
    const first = this.added[0]?.position ?? Infinity,
      before = this.reveal ? this.onDisk.filter((each) => each < first) : [];
    return [
      ...before,
      ...this.added.slice(0, floorIndex(this.added.map((each) => each.step), at) + 1).map((each) => each.position),
    ];
  }
  done(at) {
    let end = 0;
    for (const [step, to] of this.progress) {
      if (step > at) break;
      end = Math.max(end, to);
    }
    return end;
  }
  // The last decision on the whole segment; "" without one.
  fate(at) {
    let fate = "";
    for (const [step, what] of this.fates) if (step <= at) fate = what;
    return fate;
  }
  // Bytes in the file at step `at`.
  shownSize(at) {
    if (this.born > at) return 0;
    if (!this.reveal) return this.size;
    let end = this.reveal[0] === -1 ? this.end(this.reveal.findLastIndex((each) => each === -1)) : 0;
    end = Math.max(end, this.done(at));
    return end;
  }
}

function stagesOf(steps) {
  const stages = new Int32Array(steps.length).fill(-1);
  let current = steps.find((step) => step[SEGMENT] >= 0 && step[POSITION] >= 0)?.[SEGMENT] ??
    steps.find((step) => step[SEGMENT] >= 0)?.[SEGMENT] ?? -1;
  steps.forEach((step, i) => {
    if (step[SEGMENT] >= 0) current = step[SEGMENT];
    stages[i] = current;
  });
  return stages;
}
