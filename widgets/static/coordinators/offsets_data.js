// The steps of a coordinator, with its log's records and the offsets in memory after each of them.
import { StepRows } from "../players/step_rows.js";

const EFFECT = 8, KEPT = 256;
const WITHOUT_VALUE = new Set(["written", "marker", "ignored", "invalid", "group"]);

export class OffsetsData extends StepRows {
  constructor(sent) {
    super(sent);
    this.logs = sent.logs ?? [];
    this.effects = this.steps.map((step) => effectOf(step));
    this.kept = new Map(); // state after every 256th step, so that a step back replays few
    this.unread = new Map();
    this.effects.forEach((effect, i) => {
      if (effect.role === "loading") this.unread.set(i, this.readBy(i));
    });
    this.current = null;
  }
  effect(i) {
    return this.effects[i];
  }
  // The records that the load beginning at step i reads.
  readBy(i) {
    const { log } = this.effects[i], found = [];
    for (let k = i + 1; k < this.length; k++) {
      const { role, at, count, log: other } = this.effects[k];
      if (other !== log) continue;
      if (role === "loading" || role === "loaded" || role === "unloaded") break;
      if (at >= 0n) { for (let n = 0n; n < count; n++) found.push(at + n); }
    }
    return found;
  }
  // The state after step i: the log it concerns, the looks of that log's records by offset, the offsets in memory.
  stateAt(i) {
    if (this.current?.step !== i) {
      const from = this.current && this.current.step < i ? this.current : this.nearest(i);
      for (let k = from.step + 1; k <= i; k++) {
        this.apply(from.logs, k);
        from.step = k;
        if (k % KEPT === KEPT - 1 && !this.kept.has(k)) this.kept.set(k, copied(from));
      }
      this.current = from;
    }
    const log = this.logAt(i), { records, entries } = this.current.logs.get(log) ?? nothing();
    const sorted = [...entries.values()].sort((a, b) =>
      (a.state === "pending") - (b.state === "pending") || compare(a.group, b.group) || compare(a.where, b.where)
    );
    return { log: this.logs[log] ?? "", records: [...records].sort((a, b) => compare(a[0], b[0])), entries: sorted };
  }
  nearest(i) {
    for (let k = i - ((i + 1) % KEPT); k >= 0; k -= KEPT) if (this.kept.has(k)) return copied(this.kept.get(k));
    return { step: -1, logs: new Map() };
  }
  logAt(i) {
    for (let k = i; k >= 0; k--) if (this.effects[k].role) return this.effects[k].log;
    return this.effects.find((each) => each.role)?.log ?? -1;
  }
  apply(logs, i) {
    const { role, log, at, count, group, where, offset, record, producer } = this.effects[i];
    if (!role) return;
    if (!logs.has(log)) logs.set(log, nothing());
    const state = logs.get(log),
      { records, entries, groups } = state,
      key = JSON.stringify([group, where]),
      pending = JSON.stringify([group, where, String(producer)]);
    const end = (entry, look) => {
      if (entry) records.set(entry.record, look);
    };
    if (role === "loading") {
      Object.assign(state, nothing());
      for (const each of this.unread.get(i)) state.records.set(each, "unread");
      return;
    }
    if (role === "unloaded") {
      entries.clear();
      for (const each of records.keys()) records.set(each, "unread");
      return;
    }
    if (WITHOUT_VALUE.has(role) && at >= 0n) { for (let n = 0n; n < count; n++) records.set(at + n, role); }
    if (role === "group") {
      const before = groups.get(group);
      if (before !== undefined && before !== at && records.has(before)) records.set(before, "superseded");
      groups.set(group, at);
    } else if (role === "cached" && offset !== null) {
      end(entries.get(key), "superseded");
      records.set(at, "cached");
      entries.set(key, { group, where, offset, record: at, state: "cached" });
    } else if (role === "pending" && offset !== null) {
      end(entries.get(pending), "superseded");
      records.set(at, "pending");
      entries.set(pending, { group, where, offset, record: at, state: "pending" });
    } else if (role === "settled" && offset !== null) {
      entries.delete(pending);
      end(entries.get(key), "superseded");
      records.set(record, "cached");
      entries.set(key, { group, where, offset, record, state: "cached" });
    } else if (role === "dropped" && offset !== null) {
      entries.delete(pending);
      records.set(record, "dropped");
    } else if (role === "tombstone") {
      records.set(at, "tombstone");
      const gone = producer < 0n ? key : pending;
      end(entries.get(gone), "removed");
      entries.delete(gone);
    } else if (role === "expired" && entries.has(key)) entries.set(key, { ...entries.get(key), state: "expired" });
  }
  // The records that step i is about: those it reads or writes, and the one of its offset.
  touched(i) {
    const { role, at, count, record } = this.effects[i], found = new Set();
    if (!role) return found;
    if (at >= 0n) { for (let n = 0n; n < count; n++) found.add(at + n); }
    if (record >= 0n) found.add(record);
    return found;
  }
  // The first step about a record of a log, from step `from` on, otherwise before it; -1 if there is none.
  stepOf(log, offset, from) {
    const isAbout = (k) => this.logs[this.effects[k].log] === log && this.touched(k).has(offset);
    for (let k = from; k < this.length; k++) if (isAbout(k)) return k;
    for (let k = Math.min(from, this.length) - 1; k >= 0; k--) if (isAbout(k)) return k;
    return -1;
  }
}

function effectOf(step) {
  const [log, at, count, group, where, offset, record, , producer] = step[EFFECT];
  return {
    role: step[4],
    log,
    at: BigInt(at),
    count: BigInt(count),
    group,
    where,
    offset,
    record: BigInt(record),
    producer: BigInt(producer),
  };
}

const nothing = () => ({ records: new Map(), entries: new Map(), groups: new Map() });
const copied = ({ step, logs }) => ({
  step,
  logs: new Map(
    [...logs].map((
      [log, { records, entries, groups }],
    ) => [log, { records: new Map(records), entries: new Map(entries), groups: new Map(groups) }]),
  ),
});
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
