import assert from "node:assert/strict";
import test from "node:test";
import { choicesOf, matching } from "../../widgets/static/verification/finding_filter.js";
import { pageStore } from "../../widgets/static/shared/pages.js";
import { SegmentData, tailText } from "../../widgets/static/segments/segment_data.js";
import { stripSpans } from "../../widgets/static/segments/strip_paint.js";
import { Column } from "../../widgets/static/shared/columns.js";
import { OTHER } from "../../widgets/static/shared/theme.js";
import { sumUpward, visibleNodes } from "../../widgets/static/explorer/tree_nodes.js";

const same = (base, length) => ({ base: String(base), dtype: "same", length, data: null });
const list = (values) => ({
  base: "0",
  dtype: "u4",
  length: values.length,
  data: new DataView(Uint32Array.from(values).buffer),
});
const segment = (change = {}) =>
  new SegmentData({
    name: "x.log",
    segment: "10",
    fates: list([0, 2, 0]),
    file_size: 300,
    valid_size: 300,
    stop: "end",
    problem_words: { 14: "the CRC does not match" },
    batches: {
      position: list([0, 100, 200]),
      size: same(100, 3),
      base_offset: list([10, 20, 40]),
      last_offset: list([19, 29, 49]),
      record_count: same(10, 3),
      max_timestamp: list([5, 6, 7]),
      producer_id: same(-1, 3),
      producer_epoch: same(-1, 3),
      leader_epoch: same(0, 3),
      attributes: list([0, 0x11, 0x30]),
      magic: same(2, 3),
      problem: same(0, 3),
    },
    offset_index: { offset: list([29]), position: list([100]) },
    offset_index_dropped: 0,
    time_index: { timestamp: list([6]), offset: list([29]), position: list([100]) },
    ...change,
  });

test("bytes belong to batches, and none to what lies behind them", () => {
  const data = segment();
  assert.deepEqual([0, 99, 100, 299, 300].map((at) => data.batchAt(at)), [0, 0, 1, 2, -1]);
  assert.deepEqual([100, 150].map((at) => data.batchAtPosition(at)), [1, -1]);
});

test("of many producers, those with the most bytes have colors of their own, and the others one", () => {
  const few = segment().categories, data = segment();
  assert.equal(few.length, 2);
  const count = 20, numbers = Array.from({ length: count }, (_, i) => i);
  Object.assign(data, { length: count, attributes: new Float64Array(count) });
  data.columns.producer_id = new Column(list(numbers));
  data.columns.size = new Column(list(numbers.map((i) => 100 + i)));
  data.colorBy("producer");
  const own = data.categories.filter(({ color }) => color !== OTHER);
  assert.deepEqual(own.map(({ text }) => text), numbers.slice(-7).map((i) => `producer ${i}`));
  assert.equal(new Set(own.map(({ color }) => color)).size, 7);
});

test("offsets that no batch has are missing before the next one", () => {
  const data = segment({ segment: "7" });
  assert.deepEqual([...data.missing], [3, 0, 10]);
  assert.deepEqual([0, 1, 2].map((i) => data.missingText(i)), ["offsets 7 – 9", "", "offsets 30 – 39"]);
  assert.match(data.sentence(2), /Missing before: offsets 30 – 39/);
});

test("a look-up starts at the last entry at or before the offset, else at the start of the file", () => {
  const data = segment();
  assert.deepEqual([10n, 28n, 29n, 49n].map((offset) => data.entryFor(offset)), [-1, -1, 0, 0]);
  assert.deepEqual([data.target(1, null), data.target(1, 25n)], [20n, 25n]);
});

test("a description names codec, kind and problem", () => {
  const data = segment();
  data.setFindings([{ batch_position: 100, severity: "error", found: "the CRC is wrong" }]);
  assert.match(data.sentence(1), /gzip.*transactional, aborted.*CRC is wrong/);
  assert.match(data.sentence(2), /control batch/);
  assert.deepEqual([...data.problem], [0, 255, 0]);
});

test("what follows the last batch is said in words", () => {
  assert.equal(tailText(segment()), "");
  assert.equal(tailText(segment({ file_size: 340, stop: "unfinished batch" })), "40 B of an incomplete batch");
});

test("segments lie end to end by bytes, and at their offsets by offsets", () => {
  const segments = { size: [100, 50], base_offset: ["1000", "1500"], next_offset: ["1200", "1600"] };
  assert.deepEqual(stripSpans(segments, "bytes"), { starts: [0, 100], ends: [100, 150], total: 150 });
  assert.deepEqual(stripSpans(segments, "offsets"), { starts: [0, 500], ends: [200, 600], total: 600, origin: 1000 });
});

const nodes = [
  { key: "t orders", name: "orders", parent: -1, kind: "topic" },
  { key: "orders-0", name: "0", parent: 0, kind: "partition" },
  { key: "orders-1", name: "1", parent: 0, kind: "partition" },
  { key: "t clicks", name: "clicks", parent: -1, kind: "topic" },
  { key: "clicks-0", name: "0", parent: 3, kind: "partition" },
];

test("the tree shows what is open", () => {
  assert.deepEqual(visibleNodes(nodes, new Set(["t clicks"]), "").map(({ key }) => key), [
    "t orders",
    "t clicks",
    "clicks-0",
  ]);
});

test("a filter shows matches with their topic, and a matching topic with all it has", () => {
  assert.deepEqual(visibleNodes(nodes, new Set(), "ders-1").map(({ key }) => key), ["t orders", "orders-1"]);
  assert.deepEqual(visibleNodes(nodes, new Set(), "clicks").map(({ key }) => key), ["t clicks", "clicks-0"]);
});

test("a page is asked for once, and an answer that comes too late is dropped", async () => {
  const calls = [];
  let changes = 0;
  const store = pageStore({
    fetch: (start) => new Promise((resolve) => calls.push([start, resolve])),
    changed: () => changes++,
  });
  assert.equal(store.row(3), null);
  assert.equal(store.row(4), null);
  assert.equal(calls.length, 1);
  store.reset([["first"]]);
  calls[0][1]([["late"]]);
  await Promise.resolve();
  assert.deepEqual(store.row(0), ["first"]);
  assert.equal(changes, 0);
});

test("findings are summed upward, and a topic is verified when all its partitions are", () => {
  const nodes = [
    { key: "topic a", parent: -1, kind: "topic" },
    { key: "a-0", parent: 0, kind: "partition" },
    { key: "a-1", parent: 0, kind: "partition" },
    { key: "files", parent: -1, kind: "files" },
    { key: "/x/meta.properties", parent: 3, kind: "file" },
  ];
  const counts = { "a-0": { error: 2 }, "a-1": { warning: 1 }, "/x/meta.properties": { error: 1 } };
  const sums = sumUpward(nodes, counts, ["a-0"], ["a-0"]);
  assert.deepEqual(sums[0], { error: 2, warning: 1, partitions: 2, verified: 1, changed: 1 });
  assert.deepEqual(sums[3], { error: 1, warning: 0, partitions: 0, verified: 0, changed: 0 });
});

test("findings are filtered, and each choice counts those that it would show", () => {
  const rows = [
    { severity: "error", kind: "crc", topic: "a" },
    { severity: "error", kind: "gap", topic: "a" },
    { severity: "warning", kind: "crc", topic: "b" },
    { severity: "warning", kind: "lock", topic: null },
  ];
  const asked = { severity: "error", kind: "", topic: "" };
  assert.equal(matching(rows, asked).length, 2);
  assert.deepEqual(choicesOf(rows, asked, "topic"), [["a", 2], ["b", 0]]);
  assert.deepEqual(choicesOf(rows, { ...asked, kind: "crc" }, "kind"), [["crc", 1], ["gap", 1], ["lock", 0]]);
});
