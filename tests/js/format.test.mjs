import assert from "node:assert/strict";
import test from "node:test";
import { count, plural, range, shortTime } from "../../widgets/static/shared/format.js";

test("counts are exact for BigInts and texts of digits", () => {
  assert.deepEqual([count(1234567), count(9223372036854775807n), count("-1234"), count("n/a")], [
    "1,234,567",
    "9,223,372,036,854,775,807",
    "-1,234",
    "n/a",
  ]);
});

test("an axis shows the part of a time that differs", () => {
  const noon = Date.UTC(2026, 0, 31, 12, 5, 6, 7);
  assert.deepEqual([1000, 3_600_000, 864_000_000, 8.64e10].map((span) => shortTime(noon, span)), [
    "12:05:06.007",
    "12:05:06",
    "01-31 12:05",
    "2026-01-31",
  ]);
});

test("plurals and ranges read as words", () => {
  assert.deepEqual([plural(1, "batch", "batches"), plural(0, "record")], ["1 batch", "0 records"]);
  assert.deepEqual([range(5n, 5n), range(1000, 2000)], ["5", "1,000 – 2,000"]);
});
