// The events of a cluster, with the state after each: what replicas hold, what moves, what waits.
import { StepRows } from "../players/step_rows.js";

const EVENT = 8, STATE = 9;

export class ReplicationData extends StepRows {
  constructor(sent) {
    super(sent);
    this.start = sent.start ??
      { replicas: [], isr: [], elr: [], produced: [], waiting: [], under_way: [], first: 0, leader: -1, epoch: -1 };
    this.brokers = this.start.replicas.map((each) => each.broker);
    const epochs = new Set();
    let longest = 0;
    for (let i = -1; i < this.length; i++) {
      const state = this.state(i);
      for (const { records, leo } of state.replicas) {
        for (const [, epoch] of records) epochs.add(epoch);
        longest = Math.max(longest, leo - state.first);
      }
    }
    this.epochs = [...epochs].sort((a, b) => a - b);
    this.longest = longest;
  }
  // What the lists show is the event, such as "fetch 1"; the chips keep the kinds of events.
  kind(i) {
    return this.steps[i][EVENT];
  }
  state(i) {
    return i < 0 ? this.start : this.steps[i][STATE];
  }
  // The replica that the controller has made the leader, if it knows that; otherwise null.
  leader(i) {
    const state = this.state(i), found = state.replicas.find((each) => each.broker === state.leader);
    return found?.role === "leader" ? found : null;
  }
  // The offsets at which a replica has another record than the leader.
  differing(i, replica) {
    const leader = this.leader(i), found = new Set();
    if (!leader || leader === replica) return found;
    const theirs = new Map(leader.records.map(([offset, epoch, name]) => [offset, `${epoch} ${name}`]));
    for (const [offset, epoch, name] of replica.records) {
      if (theirs.has(offset) && theirs.get(offset) !== `${epoch} ${name}`) found.add(offset);
    }
    return found;
  }
  // The promises that are broken at step i and were kept before it.
  newlyBroken(i) {
    const known = new Set();
    for (let k = 0; k < i; k++) for (const [kind] of this.state(k).broken) known.add(kind);
    return i < 0 ? [] : this.state(i).broken.filter(([kind]) => !known.has(kind));
  }
  // The columns of the table that grows, and its cells after step i.
  columns() {
    return [...this.brokers.flatMap((id) => [`LEO ${id}`, `HW ${id}`]), "remote LEO"];
  }
  cells(i) {
    const { replicas } = this.state(i), leader = this.leader(i);
    return [
      ...replicas.flatMap(({ leo, hw, role }) => [String(leo), hw < 0 || !isRunning(role) ? "–" : String(hw)]),
      leader ? remoteText(leader) : "–",
    ];
  }
  inWords(i) {
    const { replicas, leader, isr } = this.state(i);
    const each = replicas.map(({ broker, role, leo, hw }) =>
      `Broker ${broker}, ${role}: log end offset ${leo}${hw < 0 ? "" : `, high watermark ${hw}`}.`
    );
    return `${each.join(" ")} ${leader < 0 ? "No leader" : `Leader ${leader}`}, ISR ${isr.join(", ") || "empty"}.`;
  }
}

export const isRunning = (role) => role !== "dead" && role !== "stopped";

export function remoteText({ remote }) {
  return remote.map(([id, end]) => `${id}: ${end < 0 ? "?" : end}`).join(", ");
}
