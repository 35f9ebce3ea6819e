import assert from "node:assert/strict";
import test from "node:test";
import { binBatches, binTimes, paintBins } from "../../widgets/static/segments/binning.js";

const batches = (sizes, more = {}) => {
  const position = [], end = [];
  let at = 0;
  for (const size of sizes) {
    position.push(at);
    end.push(at += size);
  }
  const zeros = sizes.map(() => 0);
  return {
    position,
    end,
    category: zeros,
    attributes: zeros,
    problem: zeros,
    time: zeros,
    missing: zeros,
    categories: [{ color: "#000000" }, { color: "#ffffff" }],
    ...more,
  };
};

test("the bins hold all bytes of the view, each once", () => {
  const data = batches([100, 300, 50, 550], { category: [0, 1, 0, 1] });
  const { bytes } = binBatches(data, 0, 1000, 10);
  assert.ok(Math.abs(bytes.reduce((a, b) => a + b) - 10) < 1e-4);
  assert.ok(Math.abs(bytes[1 * 2 + 1] - 1) < 1e-6, "the second column is all of category 1");
});

test("a batch that begins before the view counts with its visible part only", () => {
  const { bytes } = binBatches(batches([100, 100]), 50, 150, 10);
  assert.ok(Math.abs(bytes.reduce((a, b) => a + b) - 10) < 1e-4);
});

test("one damaged batch among thousands still leaves a mark", () => {
  const problem = new Array(5000).fill(0);
  problem[2500] = 14;
  const { flags } = binBatches(batches(new Array(5000).fill(10), { problem }), 0, 50_000, 50);
  assert.deepEqual([...flags].map((flag, x) => (flag & 2 ? x : -1)).filter((x) => x >= 0), [25]);
});

test("a column of two categories shows both, in proportion", () => {
  const data = batches([30, 70], { category: [0, 1] });
  const image = paintBins(binBatches(data, 0, 100, 1), [[255, 0, 0], [0, 0, 255]], {
    height: 10,
    data: new Uint8ClampedArray(40),
  });
  const red = [...image.data].filter((value, at) => at % 4 === 0 && value === 255).length;
  assert.equal(red, 3);
});

test("times leave out batches without one and damaged ones", () => {
  const { low, high } = binTimes(batches([10, 10, 10, 10], { time: [5, -1, 9, 7], problem: [0, 0, 14, 0] }), 0, 40, 1);
  assert.deepEqual([low[0], high[0]], [5, 7]);
});

test("one gap in the offsets among thousands of batches still leaves a mark", () => {
  const missing = new Array(5000).fill(0);
  missing[2500] = 3;
  const { flags } = binBatches(batches(new Array(5000).fill(10), { missing }), 0, 50_000, 50);
  assert.equal(flags.filter((bits) => bits & 4).length, 1);
});
