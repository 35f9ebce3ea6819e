import assert from "node:assert/strict";
import test from "node:test";
import { barRuns, TransactionLane } from "../../widgets/static/coordinators/transaction_data.js";

const list = (values) => ({
  base: "-1",
  dtype: "u4",
  length: values.length,
  data: new DataView(Uint32Array.from(values, (each) => each + 1).buffer),
});
// Committed 10–19 with its marker at 24, aborted 30–39 with its marker at 40, open from 50.
const lane = (change = {}) =>
  new TransactionLane({
    producer: "7",
    name: "shop",
    bars: {
      producer_id: list([7, 7, 7]),
      epoch: list([0, 0, 1]),
      first: list([10, 30, 50]),
      last: list([19, 39, 52]),
      marker: list([24, 40, -1]),
      outcome: list([0, 1, 2]),
      batches: list([1, 2, 1]),
      records: list([10, 10, 3]),
      time: list([5, 6, -1]),
      ...change,
    },
  }, "60");

test("a transaction reaches to its marker, an open one to the log end offset", () => {
  const shop = lane();
  assert.deepEqual([9, 10, 24, 25, 40, 41, 50, 59, 60].map((offset) => shop.at(offset)), [
    -1,
    0,
    0,
    -1,
    1,
    -1,
    2,
    2,
    -1,
  ]);
  assert.deepEqual([0, 26, 28, 44, 48, 99].map((offset) => shop.nearest(offset)), [0, 0, 1, 1, 2, 2]);
});

test("facts and sentences name outcome, marker and records", () => {
  const shop = lane(), facts = Object.fromEntries(shop.facts(1));
  assert.equal(facts.outcome, "aborted");
  assert.equal(facts.records, "10 in 2 batches");
  assert.equal(facts.marker, "offset 40");
  assert.equal(Object.fromEntries(shop.facts(2)).marker, "none yet");
  assert.match(shop.sentence(2), /^shop: open transaction, from offset 50\. 3 records\.$/);
  assert.equal(shop.about(), "3 · 1 open");
});

test("of a transaction whose batches are gone only the marker is told", () => {
  const facts = Object.fromEntries(lane({ batches: list([0, 2, 1]), epoch: list([-1, 0, 1]) }).facts(0));
  assert.equal(facts.records, "none in this log");
  assert.equal(facts.offsets, "–");
  assert.equal(facts["producer epoch"], "–");
});

test("narrow neighbors of one outcome are one run; wide ones, other outcomes and gaps are not", () => {
  const outcome = [0, 0, 0, 1, 0], first = [0, 2, 4, 6, 30];
  const many = new TransactionLane({
    producer: "1",
    name: null,
    bars: {
      ...Object.fromEntries(
        ["producer_id", "epoch", "batches", "records", "time"].map((name) => [name, list([1, 1, 1, 1, 1])]),
      ),
      first: list(first),
      last: list(first),
      marker: list(first.map((each) => each + 1)),
      outcome: list(outcome),
    },
  }, "40");
  assert.deepEqual(barRuns(many, [0, 40], 2).map(({ start, end, item, lastItem }) => [start, end, item, lastItem]), [
    [0, 6, 0, 2],
    [6, 8, 3, 3],
    [30, 32, 4, 4],
  ]);
  assert.equal(barRuns(many, [0, 40], 0.1).length, 5);
  assert.deepEqual(barRuns(many, [10, 20], 0.1), []);
  assert.equal(many.name, "producer 1");
});
