// What a comparison of several brokers' disks says, as text and numbers.
import { bytes, count, plural } from "../shared/format.js";

const SOUND = ["alike", "lag"];
const ON_LEADER = ["more", "missing"]; // kinds of ranges that the replica does not have itself

// How far a comparison is, or how it ended.
export function comparedText({ state, checked, partitions, bytes: done, size }) {
  const part = `${count(checked)} of ${plural(partitions, "partition")}`;
  if (state === "running") return `Comparing: ${part}, ${bytes(done)} of ${bytes(size)}.`;
  if (state === "done") return `Compared ${plural(partitions, "partition")}, ${bytes(size)}.`;
  return `${state === "failed" ? "Failed" : "Canceled"} after ${part}.`;
}

// How many partitions have which verdict, and how many of them are not in the list.
export function verdictsText({ partitions, counts, left_out: leftOut }) {
  const told = counts.map(([verdict, n]) => `${count(n)} ${verdict}`).join(", ") || "not compared yet";
  return `${plural(partitions, "partition")}: ${told}` +
    (leftOut ? ` · ${plural(leftOut, "harmless one")} not listed` : "");
}

// Is nothing lost or damaged by this verdict?
export const isSound = (verdict) => SOUND.includes(verdict);

// Can the records of a range that differs be shown in the replica?
export const hasRecords = (kind) => !ON_LEADER.includes(kind);

// The broker that is `step` lanes below the leader, or the last one there.
export function leaderAlong({ brokers, leader }, step) {
  return brokers[Math.max(0, Math.min(brokers.length - 1, brokers.indexOf(leader) + step))];
}
