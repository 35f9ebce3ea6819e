import assert from "node:assert/strict";
import test from "node:test";
import { ABORTED, GroupLane, sampleLane, TOMBSTONE, totalLag } from "../../widgets/static/coordinators/group_data.js";
import { timestamp } from "../../widgets/static/shared/format.js";
import { timeTicks } from "../../widgets/static/charts/time_axis.js";

const list = (values) => ({
  base: "-1",
  dtype: "u4",
  length: values.length,
  data: new DataView(Uint32Array.from(values, (each) => each + 1).buffer),
});
const lane = (
  { time = [10, 20, 30], offset = [5, 8, 3], kind = [0, ABORTED, 0], ends = [[0, 25], [6, 12]], ...rest } = {},
) =>
  new GroupLane({
    name: "orders-0",
    partition: "orders-0",
    log_start: "4",
    log_end: "12",
    note: "",
    commits: {
      time: list(time),
      offset: list(offset),
      kind: list(kind),
      place: list(time.map((_, i) => i + 100)),
      log: time.map(() => "__consumer_offsets-1"),
      total: time.length,
    },
    ends: { time: list(ends[0]), offset: list(ends[1]) },
    ...rest,
  });

test("a commit without effect changes neither offset nor lag", () => {
  const orders = lane();
  assert.deepEqual([5, 10, 20, 29, 30].map((time) => orders.committed(time)), [null, 5, 5, 5, 3]);
  assert.deepEqual([10, 24, 25, 30].map((time) => orders.lag(time)), [1, 1, 7, 9]);
});

test("after a tombstone nothing is committed and no lag is known", () => {
  const orders = lane({ kind: [0, TOMBSTONE, 0] });
  assert.deepEqual([15, 20, 30].map((time) => orders.committed(time)), [5, null, 3]);
  assert.equal(orders.lag(22), null);
});

test("a lag is unknown where the log end offset is, or the log never had the commit; it is never below zero", () => {
  assert.equal(lane({ ends: [[], []] }).lag(15), null);
  assert.equal(lane({ ends: [[0, 25], [-1, 12]] }).lag(15), null);
  assert.equal(lane({ offset: [13, 8, 3] }).lag(15), null, "beyond the log end offset, 12");
  assert.equal(lane({ offset: [10, 8, 3] }).lag(15), 0, "the timestamps say 6");
});

test("the lag in words tells what is beyond the end from what is unknown", () => {
  assert.equal(lane().lagText(15), "lag 1");
  assert.equal(lane().lagText(5), "nothing committed");
  assert.equal(lane({ offset: [40, 8, 3] }).lagText(15), "beyond the end");
  assert.equal(lane({ ends: [[], []] }).lagText(15), "lag unknown");
});

test("commits without effect are within the range, too", () => {
  const { least, most } = sampleLane(lane({ offset: [5, 90, 3] }), [10, 40], 3, "offsets");
  assert.deepEqual([least, most], [3, 90]);
});

test("the nearest commit is of any kind", () => {
  const orders = lane();
  assert.deepEqual([0, 14, 16, 26, 99].map((time) => orders.nearest(time)), [0, 0, 1, 2, 2]);
});

test("a record is selected only where the log has the committed offset", () => {
  const orders = lane({ offset: [5, 8, 3] });
  assert.deepEqual(orders.target(0), { partition: "orders-0", offset: "5" });
  assert.deepEqual(orders.target(2), { partition: "orders-0", offset: null }, "below the log start offset");
  assert.deepEqual(
    lane({ offset: [12, 8, 3] }).target(0),
    { partition: "orders-0", offset: null },
    "the log end offset has no record yet",
  );
  assert.equal(lane({ partition: null, log_start: null, log_end: null }).target(0), null);
  assert.deepEqual(orders.record(1), { partition: "__consumer_offsets-1", offset: "101" });
  assert.deepEqual([orders.find("8"), orders.find("9"), orders.findRecord("__consumer_offsets-1", "102")], [1, -1, 2]);
});

test("samples have both lines and their range; the sum counts the known lags", () => {
  const orders = lane(), { low, high, least, most } = sampleLane(orders, [10, 40], 3, "offsets");
  assert.deepEqual([[...low], [...high], least, most], [[5, 5, 3], [6, 12, 12], 3, 12]);
  assert.deepEqual([...sampleLane(orders, [10, 40], 3, "lag").high], [1, 7, 9]);
  assert.deepEqual([...totalLag([orders, lane({ ends: [[], []] })], [10, 40], 3)], [1, 7, 9]);
});

test("ticks of time are round, few, and say the date only where it changes", () => {
  const noon = Date.UTC(2026, 0, 31, 12),
    texts = (from, to, most) => timeTicks(from, to, most).map((each) => each.text);
  assert.deepEqual(texts(noon, noon + 2500, 4), ["2026-01-31 12:00:00 UTC", "12:00:01", "12:00:02"]);
  const quarters = ["2026-01-31 12:15 UTC", "12:30", "12:45", "13:00"];
  assert.deepEqual(texts(noon + 1, noon + 60 * 60_000, 5), quarters);
  const halves = ["2026-01-31 12:00 UTC", "2026-02-01", "12:00"];
  assert.deepEqual(texts(noon, noon + 24 * 3_600_000, 3), halves);
  assert.ok(timeTicks(0, noon, 10).length <= 11);
  assert.deepEqual(timeTicks(5, 5, 10), []);
});

test("ticks and times are round in the zone of the page, on both sides of a change of its clocks", () => {
  const noon = Date.UTC(2026, 9, 24, 12),
    texts = (zone) => {
      globalThis.document = { documentElement: { dataset: { klwZone: zone } } };
      const found = [timestamp(noon), timestamp(noon + 86_400_000), timeTicks(noon, noon + 9 * 3_600_000, 5)[0].text];
      delete globalThis.document;
      return found;
    };
  assert.deepEqual(texts("Europe/Berlin"), [
    "2026-10-24T14:00:00.000+02",
    "2026-10-25T13:00:00.000+01",
    "2026-10-24 15:00 +02",
  ]);
  assert.deepEqual(texts("Asia/Kolkata")[0], "2026-10-24T17:30:00.000+05:30");
  assert.equal(timestamp(noon), "2026-10-24T12:00:00.000Z");
});
