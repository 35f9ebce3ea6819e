import assert from "node:assert/strict";
import test from "node:test";
import { byteTicks, clampView, countTicks, zoomView } from "../../widgets/static/charts/axis.js";

test("bytes are marked at powers of two", () => {
  assert.deepEqual(
    byteTicks(0, 4096, 4).map(({ text }) => text),
    ["0", "1 KiB", "2 KiB", "3 KiB", "4 KiB"].map((each) => each),
  );
});

test("deep in a large file labels still differ from each other", () => {
  const labels = byteTicks(11_248_138, 11_249_290, 8).map(({ text }) => text);
  assert.equal(new Set(labels).size, labels.length);
});

test("a quarter of a MiB is said as such", () => {
  assert.deepEqual(byteTicks(2 ** 20, 2 ** 21, 4).map(({ text }) => text), [
    "1 MiB",
    "1.25 MiB",
    "1.5 MiB",
    "1.75 MiB",
    "2 MiB",
  ]);
});

test("offsets are marked at ones, twos and fives", () => {
  assert.deepEqual(countTicks(0, 1000, 5).map(({ text }) => text), ["0", "200", "400", "600", "800", "1,000"]);
});

test("an axis of no length has no ticks", () => {
  assert.deepEqual(byteTicks(5, 5, 3), []);
  assert.deepEqual(countTicks(5, 5, 3), []);
});

test("a view stays inside the file and does not vanish", () => {
  assert.deepEqual(clampView(-50, 50, 1000), [0, 100]);
  assert.deepEqual(clampView(990, 1090, 1000), [900, 1000]);
  assert.deepEqual(clampView(500, 501, 1000), [500, 564]);
  assert.deepEqual(clampView(0, 5000, 1000), [0, 1000]);
  assert.deepEqual(clampView(0, 10, 20), [0, 20]);
});

test("zooming keeps the place under the pointer", () => {
  const [from, to] = zoomView([0, 100], 0.5, 25);
  assert.deepEqual([from, to], [12.5, 62.5]);
});
