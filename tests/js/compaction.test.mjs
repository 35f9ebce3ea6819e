import assert from "node:assert/strict";
import test from "node:test";
import { CompactionData } from "../../widgets/static/compaction/compaction_data.js";
import { cellsInView } from "../../widgets/static/compaction/compaction_view.js";

const column = (numbers) => {
  const base = Math.min(0, ...numbers), deltas = Uint32Array.from(numbers, (each) => each - base);
  return { base: String(base), dtype: "u4", length: deltas.length, data: new DataView(deltas.buffer) };
};
const KINDS = [["one kind", "its meaning", 1]];
const step = (
  role,
  { segment = 0, record = -1, batch = -1 } = {},
) => [0, segment, record, batch, role, "a file", "a reason", []];

// One segment of two batches with two records each, keys 0 1 and 0 2, and an active segment with an empty batch.
function sent(steps, { firstSteps = [0], detail = "records" } = {}) {
  const round = {
    now: "now",
    ratio: 1,
    threshold: 0.5,
    first_dirty_offset: "0",
    first_uncleanable_offset: "4",
    segments: [["0", 200, "dirty"], ["4", 60, "active"]],
    first_batches: column([0, 2, 3]),
    first_records: column([0, 2, 4, 4]),
    batches: {
      base_offset: column([0, 2, 4]),
      last_offset: column([1, 3, 4]),
      size: column([100, 100, 60]),
      count: column([2, 2, 0]),
      flags: column([0, 0, 0]),
      verdict: column([2, 1, 0]),
      new_size: column([80, 100, 0]),
      kept: column([1, 2, 0]),
    },
    records: detail === "records"
      ? {
        offset: column([0, 1, 2, 3]),
        key: column([0, 1, 0, 2]),
        tombstone: column([0, 0, 0, 1]),
        control: column([-1, -1, -1, -1]),
        reason: column([20, 1, 1, 3]),
        newer: column([2, -1, -1, -1]),
      }
      : null,
  };
  return {
    detail,
    steps,
    kinds: KINDS,
    left_out: 0,
    keys: [["a", "tea-a"], ["b", "tea-b"], ["c", "tea-c"]],
    reasons: { 1: [true, "newest"], 3: [true, "tombstone"], 20: [false, "superseded"] },
    rounds: firstSteps.map((first_step) => ({ ...round, first_step })),
  };
}
const MAPPED = [0, 1, 2, 3].map((record) => step("mapped", { record, batch: record >> 1 }));
const ROUND = [
  ...MAPPED,
  step("grouped"),
  step("dropped", { record: 0, batch: 0 }),
  step("kept", { record: 1, batch: 0 }),
  step("rebuilt", { batch: 0 }),
  step("kept", { record: 2, batch: 1 }),
  step("kept", { record: 3, batch: 1 }),
  step("copied", { batch: 1 }),
  step("cleaned"),
  step("ready"),
  step("deleted"),
  step("swapped"),
  step("removed"),
];

test("a record is undecided, then mapped, then kept or dropped", () => {
  const data = new CompactionData(sent(ROUND)), [round] = data.rounds;
  assert.deepEqual([0, 1].map((at) => round.state(1, at, data)), ["", "mapped"]);
  assert.deepEqual([4, 5].map((at) => round.state(0, at, data)), ["mapped", "dropped"]);
  assert.equal(round.state(3, 9, data), "kept");
});

test("a batch has its verdict from its step on", () => {
  const [round] = new CompactionData(sent(ROUND)).rounds;
  assert.deepEqual([6, 7].map((at) => round.verdict(0, at)), ["", "rebuilt"]);
  assert.equal(round.verdict(2, 15), "", "the active segment is not judged");
});

test("where single batches are not told of, they are judged with their segment", () => {
  const data = new CompactionData(sent([step("grouped"), step("cleaned")], { detail: "segments" })),
    [round] = data.rounds;
  assert.deepEqual([0, 1].map((b) => round.verdict(b, 0)), ["", ""]);
  assert.deepEqual([0, 1].map((b) => round.verdict(b, 1)), ["rebuilt", "copied"]);
});

test("the map has the newest record of each key, in the order in which keys came", () => {
  const [round] = new CompactionData(sent(ROUND)).rounds;
  assert.deepEqual(round.entries(1), [[0, 0], [1, 1]]);
  assert.deepEqual(round.entries(2), [[0, 2], [1, 1]]);
  assert.deepEqual(round.entries(15), [[0, 2], [1, 1], [2, 3]]);
});

test("a new segment is .cleaned, .swap, and then in place of the old one", () => {
  const [round] = new CompactionData(sent(ROUND)).rounds, [group] = round.groups;
  assert.deepEqual([11, 12, 14].map((at) => round.suffix(group, at)), [".cleaned", ".swap", ""]);
  assert.deepEqual([12, 13, 15].map((at) => round.fate(0, at)), ["", "deleted", "removed"]);
});

test("a key is found by its short and its full name, an offset where it is decided", () => {
  const data = new CompactionData(sent(ROUND));
  assert.equal(data.find("tea-a", 2), 5);
  assert.equal(data.find("a", 15), 0, "after the last comes the first");
  assert.equal(data.find("3", 0), 9);
  assert.equal(data.find("z", 0), -1);
});

test("a step belongs to the round that it was told in", () => {
  const data = new CompactionData(sent([...MAPPED, ...MAPPED], { firstSteps: [0, 4] }));
  assert.deepEqual([0, 3, 4, 7].map((i) => data.roundOf(i)), [0, 0, 1, 1]);
  assert.equal(data.rounds[1].state(0, 3, data), "");
  assert.equal(data.rounds[1].state(0, 4, data), "mapped");
});

test("batches lie side by side without a record out of place, empty ones too", () => {
  const data = new CompactionData(sent(ROUND)), [round] = data.rounds;
  assert.deepEqual([0, 1, 2, 3].map((r) => round.batchAt(round.placeOf(r) + 0.5)), [0, 0, 1, 1]);
  assert.ok(round.from[2] > round.to[1] && round.to[2] > round.from[2]);
  assert.deepEqual(round.touched(data, 5), [0, 1]);
  assert.deepEqual(round.touched(data, 4), [round.segmentFrom[0], round.segmentTo[0]]);
});

test("few cells are shown whole; of many those around the step, and the view rests while it can", () => {
  assert.deepEqual(cellsInView({ wide: 10 }, [3, 4], { span: 1000, least: 50, view: null }), [0, 1000 / 58]);
  const many = { wide: 500 }, options = { span: 1000, least: 50 };
  const first = cellsInView(many, [100, 101], { ...options, view: null });
  assert.ok(first[0] < 100 && first[1] > 101 && first[1] - first[0] === 20);
  assert.deepEqual(cellsInView(many, [101, 102], { ...options, view: first }), first);
  assert.notDeepEqual(cellsInView(many, [300, 301], { ...options, view: first }), first);
  assert.deepEqual(cellsInView(many, [300, 301], { ...options, view: first, isWhole: true }), [0, 500]);
});
