import assert from "node:assert/strict";
import test from "node:test";
import { Column, floorIndex, typedView } from "../../widgets/static/shared/columns.js";

const packed = (base, dtype, Type, values) => {
  const data = Type.from(values);
  return new Column({ base, dtype, length: values.length, data: new DataView(data.buffer) });
};

test("offsets above 2^53 stay exact", () => {
  const column = packed("9223372036854775000", "u2", Uint16Array, [0, 7, 807]);
  assert.equal(column.exact(2), 9223372036854775807n);
});

test("a column of one value needs no data", () => {
  const column = new Column({ base: "-1", dtype: "same", length: 3, data: null });
  assert.deepEqual([...column.numbers()], [-1, -1, -1]);
  assert.equal(column.exact(1), -1n);
});

test("a column that is shorter than announced is refused", () => {
  assert.throws(
    () => new Column({ base: "0", dtype: "u1", length: 4, data: new DataView(new ArrayBuffer(3)) }),
    /3 values \(expected 4\)/,
  );
});

test("buffers at odd places are copied and read right", () => {
  const bytes = new Uint8Array([99, 99, 99, 1, 0, 0, 0, 2, 0, 0, 0]);
  assert.deepEqual([...typedView(new DataView(bytes.buffer, 3), Uint32Array)], [1, 2]);
});

test("after() finds the first row above a value, across 64 bits", () => {
  const column = packed("9007199254740993", "u1", Uint8Array, [0, 1, 1, 5]);
  assert.equal(column.after(9007199254740994n), 3);
  assert.equal(column.after(0n), 0);
  assert.equal(column.after(9007199254740998n), 4);
});

test("floorIndex gives the last element that is at most x", () => {
  assert.deepEqual([-1, 0, 5, 9, 12].map((x) => floorIndex([0, 5, 9], x)), [-1, 0, 1, 2, 2]);
});
