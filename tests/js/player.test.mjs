import assert from "node:assert/strict";
import test from "node:test";
import { PlayerData } from "../../widgets/static/players/player_data.js";
import { stateRuns, viewOf } from "../../widgets/static/players/player_view.js";

const column = (numbers) => {
  const deltas = Uint32Array.from(numbers);
  return { base: "0", dtype: "u4", length: deltas.length, data: new DataView(deltas.buffer) };
};

// A segment of n batches of 100 bytes, one record each.
function segment(n, { base = 0, entries = [], size = n * 100 } = {}) {
  const rows = Array.from({ length: n }, (_, i) => i);
  return {
    base_offset: String(base),
    size,
    entries: column(entries),
    time_entries: column([]),
    batches: {
      position: column(rows.map((i) => i * 100)),
      size: column(rows.map(() => 100)),
      base_offset: column(rows.map((i) => base + i)),
      last_offset: column(rows.map((i) => base + i)),
    },
  };
}
const step = (
  role,
  position,
  { kind = 0, of = 0, size = 100 } = {},
) => [kind, of, position, size, role, "a file", "a reason", []];
const KINDS = [["one kind", "its meaning", 1], ["another", "its meaning", 1]];
const played = (segments, steps) => new PlayerData({ segments, steps, kinds: KINDS, left_out: 0 });

test("a recovery takes the index away and gives entries back one by one", () => {
  const data = played([segment(3, { entries: [100, 200] })], [
    step("valid", 0),
    step("skipped", 0),
    step("valid", 100),
    step("added", 100),
    step("valid", 200),
    step("added", 200),
  ]);
  assert.deepEqual([1, 3, 5].map((at) => [...data.segments[0].entries(at)]), [[], [100], [100, 200]]);
  assert.deepEqual([0, 1, 2].map((row) => data.segments[0].state(row, 2)), ["valid", "valid", ""]);
  assert.equal(data.segments[0].done(2), 200);
});

test("a look-up leaves the index as it lies on the disk", () => {
  const data = played([segment(3, { entries: [100] })], [
    step("probe", 100),
    step("entry", 100),
    step("passed", 100),
    step("found", 200),
  ]);
  assert.deepEqual([...data.segments[0].entries(0)], [100]);
  assert.deepEqual(data.segments[0].probes.map((each) => each.step), [0, 1]);
  assert.equal(data.segments[0].state(1, 3), "passed");
});

test("batches appear with the step that wrote them; those that were there before stay", () => {
  const steps = [step("skipped", 200), step("appended", 200), step("skipped", 300), step("appended", 300)];
  const { segments: [grown] } = played([segment(4)], steps);
  const shown = (at) => [0, 1, 2, 3].filter((row) => grown.isShown(row, at));
  assert.deepEqual([shown(0), shown(1), shown(3)], [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3]]);
  assert.deepEqual([grown.shownSize(1), grown.shownSize(3)], [300, 400]);
});

test("a segment has no bytes before the roll that begins it", () => {
  const data = played([segment(1), segment(1, { base: 1 })], [
    step("appended", 0),
    step("rolled", -1, { of: 1, size: -1 }),
    step("appended", 0, { of: 1 }),
  ]);
  assert.deepEqual([0, 1, 2].map((at) => data.segments[1].shownSize(at)), [0, 0, 100]);
  assert.deepEqual([0, 1, 2].map((at) => data.stage(at)), [0, 1, 1]);
});

test("what is cut is cut from its step on", () => {
  const { segments: [cut] } = played([segment(3)], [
    step("valid", 0),
    step("invalid", 100),
    step("cut", 100, { size: 200 }),
  ]);
  assert.equal(cut.cutFrom(1), Infinity);
  assert.equal(cut.cutFrom(2), 100);
  assert.equal(cut.fate(1), "");
  assert.equal(cut.fate(2), "cut");
});

test("steps without a segment leave on the stage what was there, the first ones what comes", () => {
  const data = played([segment(1), segment(1, { base: 1 })], [
    step("", -1, { of: -1 }),
    step("valid", 0, { of: 1 }),
    step("", -1, { of: -1 }),
  ]);
  assert.deepEqual([0, 1, 2].map((at) => data.stage(at)), [1, 1, 1]);
  assert.equal(data.touched(0), null);
});

test("the next step of a kind is looked for behind the current one, then from the first", () => {
  const data = played([segment(3)], [step("valid", 0), step("added", 0, { kind: 1 }), step("valid", 100)]);
  assert.equal(data.nextOfKind(1, 1), 1);
  assert.equal(data.nextOfKind(0, 0), 2);
  assert.equal(data.nextOfKind(0, 2), 0);
});

test("a segment of few batches is shown whole, of a long one what the step touches", () => {
  const few = played([segment(10)], [step("valid", 500)]);
  assert.deepEqual(viewOf(few, 0, null), [0, 1000]);
  const many = played([segment(1000)], [step("valid", 50_000), step("valid", 50_100), step("valid", 90_000)]);
  const first = viewOf(many, 0, null);
  assert.ok(first[0] <= 50_000 && first[1] >= 50_100 && first[1] - first[0] < 5000);
  assert.deepEqual(viewOf(many, 1, first), first, "a neighbour does not move the view");
  const far = viewOf(many, 2, first);
  assert.ok(far[0] <= 90_000 && far[1] >= 90_100);
});

test("a search is shown over the whole segment, its walk from the entry to the batch found", () => {
  const steps = [step("probe", 50_000), step("entry", 20_000), step("passed", 20_000), step("found", 20_100)];
  const data = played([segment(1000)], steps);
  assert.deepEqual(viewOf(data, 0, null), [0, 100_000]);
  const views = [1, 2, 3].map((at) => viewOf(data, at, null));
  assert.deepEqual(views[0], views[2], "the view does not move during the walk");
  assert.ok(views[0][0] < 20_000 && views[0][1] > 20_200);
});

test("very narrow batches in one state are one box", () => {
  const { segments: [long] } = played([segment(1000)], [step("valid", 0), step("valid", 100)]);
  const runs = stateRuns(long, 0, 999, 1, 500);
  assert.deepEqual(runs.map((run) => [run.state, run.from, run.to]), [["valid", 0, 200], ["", 200, 100_000]]);
  assert.equal(stateRuns(long, 0, 999, 1, 50).length, 1000);
});
