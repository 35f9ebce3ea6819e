import assert from "node:assert/strict";
import test from "node:test";
import { orderBy, placesIn, sortKey } from "../../widgets/static/table/row_order.js";
import { trackOfAtLeast } from "../../widgets/static/table/least_widths.js";
import { samePrefix } from "../../widgets/static/shared/dom.js";
import { csvOf, jsonOf, plainCell, tsvOf } from "../../widgets/static/table/row_texts.js";

const sorted = (texts, isDown = false) =>
  Array.from(orderBy(texts.length, (i) => sortKey(texts[i]), isDown), (i) => texts[i]);

test("numbers, sizes, shares and durations are sorted by what they say", () => {
  assert.deepEqual(sorted(["10", "9", "1,234", "-5"]), ["-5", "9", "10", "1,234"]);
  assert.deepEqual(sorted(["2 KiB", "1.5 MiB", "900 B"], true), ["1.5 MiB", "2 KiB", "900 B"]);
  assert.deepEqual(sorted(["9.5 %", "64.2 %", "10.0 %"]), ["9.5 %", "10.0 %", "64.2 %"]);
  assert.deepEqual(sorted(["2 h", "90 s", "5 min"]), ["90 s", "5 min", "2 h"]);
});

test("offsets that JavaScript's numbers cannot tell apart are sorted exactly", () => {
  const low = "9,007,199,254,740,992", high = "9,007,199,254,740,993";
  assert.deepEqual(sorted([high, low, "7"]), ["7", low, high]);
});

test("other texts are sorted as a reader does, and no value is last both ways", () => {
  assert.deepEqual(sorted(["orders-10", "–", "Orders-2", "", "a"]), ["a", "Orders-2", "orders-10", "–", ""]);
  assert.deepEqual(sorted(["orders-10", "–", "orders-2"], true), ["orders-10", "orders-2", "–"]);
  assert.deepEqual(sorted(["2026-03-02 10:00", "2026-03-01 23:59"]), ["2026-03-01 23:59", "2026-03-02 10:00"]);
});

test("equal rows keep their order, and every row has its place", () => {
  const order = orderBy(4, (i) => sortKey(["b", "a", "b", "a"][i]), false);
  assert.deepEqual([...order], [1, 3, 0, 2]);
  assert.deepEqual([...placesIn(order)], [2, 0, 3, 1]);
});

test("a cell that is taken along is whole, and a number has no commas", () => {
  assert.equal(plainCell({ text: "1,234,567" }, true), "1234567");
  assert.equal(plainCell("1,234", false), "1,234");
  assert.equal(plainCell({ text: "…cut", whole: "all of it, not cut" }), "all of it, not cut");
  assert.equal(plainCell({ text: "kind", after: "place", under: "what was found" }), "kind place what was found");
  assert.equal(plainCell(null), "");
});

test("what a separator would split is quoted", () => {
  assert.equal(tsvOf(null, [["a", "b\tc"], ['say "x"', "d\ne"]]), 'a\t"b\tc"\n"say ""x"""\t"d\ne"');
  assert.equal(csvOf(["n", "t"], [["1", "a,b"]]), 'n,t\r\n1,"a,b"');
  assert.deepEqual(JSON.parse(jsonOf(["n", "t"], [["12", "12"], ["9007199254740993", ""]], [true, false])), [
    { n: 12, t: "12" },
    { n: "9007199254740993", t: "" },
  ]);
});

test("names that begin alike have a prefix of whole words, and each name keeps an end of its own", () => {
  const team = "a-very-long-name.of-a-team.";
  assert.equal(samePrefix([`${team}orders.0001.public`, `${team}others.0002.public`]), team);
  assert.equal(samePrefix([`${team}orders-0`, `${team}orders-1`]), team);
  assert.equal(samePrefix([`${team}orders-0`, `${team}orders-0`]), "");
  assert.equal(samePrefix(["orders-0", "orders-1"]), "");
  assert.equal(samePrefix([`${team}orders.0001.public`, "payments"]), "");
  assert.equal(samePrefix([]), "");
});

test("a track has room for its heading, and grows as it did", () => {
  assert.equal(trackOfAtLeast("64px", [80, 90]), "minmax(max(64px, 80px), max(64px, 90px))");
  assert.equal(trackOfAtLeast("minmax(0,1fr)", [80, 90]), "minmax(max(0px, 80px), 1fr)");
  assert.equal(trackOfAtLeast("minmax(var(--a, 60px), .32fr)", [80, 90]), "minmax(max(var(--a, 60px), 80px), .32fr)");
  assert.equal(trackOfAtLeast("64px", undefined), "64px");
});
