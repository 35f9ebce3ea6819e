import assert from "node:assert/strict";
import test from "node:test";
import { bytes, count, duration, plural, range, shortTime, timestamp } from "../../widgets/static/shared/format.js";

test("sizes have one digit after the point below ten", () => {
  assert.deepEqual([0, 1, 1023, 1024, 1536, 10240, 805306368].map(bytes), [
    "0 B",
    "1 B",
    "1,023 B",
    "1 KiB",
    "1.5 KiB",
    "10 KiB",
    "768 MiB",
  ]);
});

test("counts are exact for BigInts and texts of digits", () => {
  assert.deepEqual([count(1234567), count(9223372036854775807n), count("-1234"), count("n/a")], [
    "1,234,567",
    "9,223,372,036,854,775,807",
    "-1,234",
    "n/a",
  ]);
});

test("no timestamp and impossible ones are said, not thrown", () => {
  assert.equal(timestamp(-1), "no timestamp");
  assert.equal(timestamp(9223372036854775807n), "9,223,372,036,854,775,807 ms");
  assert.equal(timestamp(0), "1970-01-01 00:00:00.000");
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

test("durations, plurals and ranges read as words", () => {
  assert.deepEqual([12, 1500, 90_000, 7_200_000, 864_000_000].map(duration), [
    "12 ms",
    "1.5 s",
    "1.5 min",
    "2 h",
    "10 days",
  ]);
  assert.deepEqual([plural(1, "batch", "batches"), plural(0, "record")], ["1 batch", "0 records"]);
  assert.deepEqual([range(5n, 5n), range(1000, 2000)], ["5", "1,000 – 2,000"]);
});
