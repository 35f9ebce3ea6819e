import assert from "node:assert/strict";
import test from "node:test";
import { itemAlong, placeAcross, rangeWithin } from "../../widgets/static/charts/lane_view.js";
import { markerLayout, placeOnStrip, regionShares } from "../../widgets/static/decisions/segment_regions.js";
import { recordsInView } from "../../widgets/static/coordinators/offset_records.js";
import { extentOf, isMarked, partitionsLike, statements } from "../../widgets/static/disk/checkpoint_data.js";
import {
  nodeSentence,
  nodesOnPath,
  rowOf,
  shareText,
  topicCount,
  usageTree,
} from "../../widgets/static/disk/disk_usage_data.js";
import { squarify, tilesOf, withRest } from "../../widgets/static/disk/treemap.js";
import { nextView, viewShowing } from "../../widgets/static/segments/map_view.js";
import { segmentAt, segmentSentence, stripScene, stripSpans } from "../../widgets/static/segments/strip_paint.js";

const area = ([, , w, h]) => w * h;

test("a treemap fills its box, and each area is in proportion to its value", () => {
  const rects = squarify([6, 3, 2, 1], [10, 20, 120, 100]);
  assert.deepEqual(rects.map((each) => Math.round(area(each))), [6000, 3000, 2000, 1000]);
  for (const [x, y, w, h] of rects) assert.ok(x >= 10 && y >= 20 && x + w <= 130.001 && y + h <= 120.001);
  assert.deepEqual(squarify([0, 0], [0, 0, 9, 9]).map(area), [0, 0]);
});

test("tiles too small for a name have nothing drawn inside, and the smallest nodes become one", () => {
  const leaf = (occupied) => ({ name: "x", kind: "file", occupied, size: occupied, note: "", children: [], path: [] });
  const node = { ...leaf(90), kind: "topic", children: [leaf(60), leaf(30)] };
  const tiles = tilesOf([node, leaf(10)], [0, 0, 400, 300]);
  assert.deepEqual(tiles.map(({ number, isBox }) => [number, isBox]), [[0, true], [null, false], [null, false], [
    1,
    false,
  ]]);
  assert.deepEqual(tilesOf([node], [0, 0, 70, 50]).map(({ isBox }) => isBox), [false]);
  const [first, rest] = withRest([leaf(5), leaf(3), leaf(2), leaf(0)], 2);
  assert.deepEqual([first.occupied, rest.occupied, rest.name], [5, 5, "2 smaller"]);
});

const usage = {
  title: "data",
  nodes: [ // key, name, parent, kind, size, occupied, note, quiet
    ["a", "a", -1, "topic", 300, 100, "", false],
    ["a-0", "0", 0, "partition", 300, 100, "1 segment", false],
    ["b", "b", -1, "topic", 100, 100, "", false],
  ],
};

test("a node says its size on the disk, its length if it has holes, and its share of what is open", () => {
  const root = usageTree(usage, null, null), [, topic, partition] = nodesOnPath(root, ["a", "a-0", "gone"]);
  assert.equal(nodeSentence(partition, topic), "partition 0 · 100 B on the disk, 300 B long · 100 % · 1 segment");
  assert.equal(shareText(topic, root), "50 %");
  assert.equal(shareText({ occupied: 1 }, { occupied: 10_000 }), "<0.1 %");
  assert.equal(shareText({ occupied: 0 }, { occupied: 0 }), "0 %");
  assert.equal(topicCount(root), 2);
});

test("a row of the list is found by its path: two files of a segment have parts of one name", () => {
  const files = [["x.index", "entries"], ["x.timeindex", "entries"]].map((path) => ({ key: path.at(-1), path }));
  assert.equal(rowOf(files, ["x.timeindex", "entries"]), 1);
  assert.equal(rowOf(files, ["x.log"]), -1);
  assert.equal(rowOf(files, undefined), -1);
});

const partition = (change = {}) => ({
  name: "orders-0",
  directory: "/data",
  kind: "",
  first: "10",
  end: "110",
  offsets: { recovery_point: "60", high_watermark: "210" },
  findings: { high_watermark: [{ severity: "error", found: "210", expected: "110", broker: "…" }] },
  epoch: null,
  topic_id: null,
  quorum: [],
  ...change,
});

test("checkpoints stand beside the log, and what is past its end is marked", () => {
  const { low, high, from, to, marks } = extentOf(partition());
  assert.deepEqual([low, high, from, to], [10n, 210n, 0, 50]);
  assert.deepEqual(marks.map(({ place, isBad, text }) => [place, isBad, text]), [
    [25, false, "recovery point 60"],
    [100, true, "high watermark 210"],
  ]);
  assert.equal(extentOf(partition({ end: null })), null);
  const said = Object.fromEntries(statements(partition()));
  assert.equal(said["log-start-offset-checkpoint"], "does not name it");
  assert.equal(said["replication-offset-checkpoint"], "210");
});

test("partitions are found by a part of their name, and those without a contradiction can be left out", () => {
  const fine = partition({ name: "Payments-1", findings: { epoch: [{ severity: "info" }] } }),
    rows = [partition(), fine];
  assert.deepEqual(rows.map(isMarked), [true, false]);
  assert.deepEqual(partitionsLike(rows, { only: "all", wanted: "pay" }), [fine]);
  assert.deepEqual(partitionsLike(rows, { only: "marked", wanted: "" }), [rows[0]]);
});

test("segments take the room of their bytes, an empty one enough to be clicked", () => {
  const shares = regionShares([900, 100, 0]);
  assert.ok(Math.abs(shares[0] / shares[1] - 9) < 1e-9 && shares[2] > 0.01);
  assert.ok(Math.abs(shares.reduce((a, b) => a + b) - 1) < 1e-9);
  assert.deepEqual(regionShares([0, 0]), [0.5, 0.5]);
});

test("markers lie between the offsets of segments, and names that would touch go to another lane", () => {
  const sent = { segments: [{ base_offset: "0" }, { base_offset: "100" }], end_offset: "200" }, shares = [0.25, 0.75];
  assert.deepEqual([0n, 50n, 100n, 150n, 500n].map((at) => placeOnStrip(at, sent, shares)), [0, 0.125, 0.25, 0.625, 1]);
  const markers = [["first dirty", "104"], ["checkpoint", "100"], ["end", "200"]];
  const layout = markerLayout({ ...sent, markers }, shares);
  assert.deepEqual(layout.map(({ name, lane, isLate }) => [name, lane, isLate]), [
    ["checkpoint", 0, false],
    ["first dirty", 1, false],
    ["end", 0, true],
  ]);
});

test("a range stays on its axis and is not narrower than allowed", () => {
  assert.deepEqual(rangeWithin([-50, 20], [0, 100], 10), [0, 70]);
  assert.deepEqual(rangeWithin([90, 130], [0, 100], 10), [60, 100]);
  assert.deepEqual(rangeWithin([50, 51], [0, 100], 10), [50, 60]);
  assert.deepEqual(rangeWithin([-9, 999], [0, 100], 10), [0, 100]);
});

test("arrow keys go along a lane and across to the nearest item", () => {
  const lane = (places) => ({
    length: places.length,
    position: (i) => places[i],
    nearest: (at) =>
      places.reduce((best, each, i) => (Math.abs(each - at) < Math.abs(places[best] - at) ? i : best), 0),
  });
  const state = { lanes: [lane([10, 20, 90]), lane([15, 80])], picked: { lane: 0, item: 2 }, view: [0, 100] };
  assert.deepEqual([itemAlong(state, 1), itemAlong(state, -1)], [2, 1]);
  assert.deepEqual(placeAcross(state, 1), [1, 1]);
  const unpicked = { ...state, picked: { lane: -1, item: -1 } };
  assert.deepEqual([itemAlong(unpicked, 1), itemAlong(unpicked, -1)], [0, 2]);
  assert.deepEqual(placeAcross(unpicked, 1), [0, 2]);
  assert.equal(itemAlong({ lanes: [lane([])], picked: unpicked.picked }, 1), -1);
});

test("a segment that grew keeps its view, unless it was shown as a whole", () => {
  const view = { oldSize: 1000, size: 1500, isSame: true };
  assert.deepEqual(nextView({ ...view, view: [200, 400] }), [200, 400]);
  assert.deepEqual(nextView({ ...view, view: [0, 1000] }), [0, 1500]);
  assert.deepEqual(nextView({ ...view, view: [200, 400], isSame: false }), [0, 1500]);
  assert.deepEqual(nextView({ ...view, view: [0, 1000], isSame: false, wanted: [100, 300] }), [100, 300]);
});

test("the view moves only to a batch that is outside of it, and widens for one that is larger", () => {
  assert.deepEqual(viewShowing([100, 200], 120, 150), [100, 200]);
  assert.deepEqual(viewShowing([100, 200], 400, 450), [350, 450]);
  assert.deepEqual(viewShowing([100, 200], 400, 600), [360, 640]);
});

test("a pixel of the strip belongs to the segment that is drawn there", () => {
  const data = {
    size: [100, 300],
    base_offset: ["0", "50"],
    next_offset: ["50", "60"],
    is_active: [false, true],
    remote: ["0_400.log", null],
  };
  const spans = stripSpans(data, "bytes"), scene = stripScene(null, {}, 560, spans), { x } = scene;
  assert.deepEqual([x(0) - 1, x(0) + 1, x(100) - 1, x(100) + 1, 560].map((px) => segmentAt(px, scene, spans)), [
    -1,
    0,
    0,
    1,
    1,
  ]);
  assert.equal(
    segmentSentence({ ...data, findings: [0, 2] }, 1, false),
    "Segment 2 of 2: base offset 50, 300 B, active, 2 findings.",
  );
  assert.equal(
    segmentSentence({ ...data, findings: [0, 2] }, 0, true),
    "Segment 1 of 2: base offset 0, 100 B, written since following began, in the remote tier.",
  );
});

test("the records in view have the one that the step is about, else the last one read", () => {
  const records = Array.from({ length: 20 }, (_, i) => [String(i), i < 12 ? "cached" : "unread"]), wide = 10 * 46;
  assert.deepEqual(recordsInView(records, new Set(["3"]), wide), [0, 10]);
  assert.deepEqual(recordsInView(records, new Set(["2", "9"]), wide), [3, 13]);
  assert.deepEqual(recordsInView(records, new Set(), wide), [5, 15]);
  assert.deepEqual(recordsInView(records, new Set(["19"]), wide), [10, 20]);
  assert.deepEqual(recordsInView(records.slice(0, 2), new Set(), 0), [0, 2]);
});
