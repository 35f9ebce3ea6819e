import assert from "node:assert/strict";
import test from "node:test";
import {
  comparedText,
  hasRecords,
  isSound,
  leaderAlong,
  verdictsText,
} from "../../widgets/static/replication/replica_data.js";

test("a comparison says how far it is, and how it ended", () => {
  const progress = { checked: 2, partitions: 3, bytes: 2048, size: 4096 };
  const text = (state) => comparedText({ ...progress, state });
  assert.equal(text("running"), "Comparing: 2 of 3 partitions, 2 KiB of 4 KiB.");
  assert.equal(text("done"), "Compared 3 partitions, 4 KiB.");
  assert.equal(text("failed"), "Failed after 2 of 3 partitions.");
  assert.equal(text("cancelled"), "Canceled after 2 of 3 partitions.");
});

test("the verdicts are counted, with those that the list has no room for", () => {
  const counts = [["loss", 1], ["alike", 1200]];
  assert.equal(verdictsText({ partitions: 1201, counts, left_out: 0 }), "1,201 partitions: 1 loss, 1,200 alike");
  assert.equal(verdictsText({ partitions: 1, counts: [], left_out: 0 }), "1 partition: not compared yet");
  assert.match(verdictsText({ partitions: 1201, counts, left_out: 201 }), / · 201 harmless ones not listed$/);
  assert.deepEqual(["alike", "lag", "loss", "damage"].map(isSound), [true, true, false, false]);
  assert.deepEqual(["different", "extra", "missing", "more"].map(hasRecords), [true, true, false, false]);
});

test("the leader moves from lane to lane and stops at the ends", () => {
  const brokers = ["1", "2", "3"];
  assert.equal(leaderAlong({ brokers, leader: "2" }, 1), "3");
  assert.equal(leaderAlong({ brokers, leader: "3" }, 1), "3");
  assert.equal(leaderAlong({ brokers, leader: "1" }, -1), "1");
});
