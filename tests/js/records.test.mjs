import assert from "node:assert/strict";
import test from "node:test";
import { unfoldBins } from "../../widgets/static/records/histogram_bins.js";
import { fromFirstWord, plainWords } from "../../widgets/static/records/record_list.js";
import { profileText } from "../../widgets/static/records/record_columns.js";
import { coloredJson, hexText } from "../../widgets/static/records/record_pane.js";
import { widerSearch, withTerm } from "../../widgets/static/records/record_query.js";

test("the words of a query that can be seen in a cell", () => {
  assert.deepEqual(plainWords('paid "two words" -not key:Id-7 $.a.b:foo $.n="x y"'), [
    "paid",
    "two words",
    "id-7",
    "foo",
    "x y",
  ]);
  assert.deepEqual(plainWords("/re+/i key:/x y/ offset:10..20 time:2026-03-01 is:tombstone $.a>100 header.trace"), []);
});

test("a cell begins shortly before the first word", () => {
  const text = `${"x".repeat(100)}teapot and more`;
  assert.equal(fromFirstWord(text, ["teapot"]), `…${"x".repeat(16)}teapot and more`);
  assert.equal(fromFirstWord("a teapot", ["teapot"]), "a teapot");
  assert.equal(fromFirstWord(text, ["cup"]), text);
});

test("bins begin at the first and end after the last that holds anything", () => {
  const data = new DataView(Uint8Array.from([0, 3, 0, 5, 0]).buffer);
  const bins = unfoldBins({ start: "1000", width: "16", counts: { base: "0", dtype: "u1", length: 5, data } });
  assert.deepEqual([bins.from, bins.to, bins.max], [1016, 1064, 5]);
  const none = unfoldBins({ start: "0", width: "1", counts: { base: "0", dtype: "same", length: 0, data: null } });
  assert.equal(none.max, 0);
});

test("bytes in hex", () => {
  assert.equal(hexText(Uint8Array.from([0, 255, 16]), " "), "00 ff 10");
});

function withoutBrowser() {
  globalThis.document = {
    createElement: () => ({
      dataset: {},
      setAttribute() {},
      addEventListener() {},
      append(...text) {
        this.text = text.join("");
      },
    }),
  };
}

test("colored JSON keeps every character", () => {
  withoutBrowser();
  const text = '{\n  "a\\"b": [1.5e3, -2, true, "x: y"]\n}';
  assert.equal(coloredJson(text).map((part) => part.text ?? part).join(""), text);
});

test("each name and literal of JSON has the path that a query reads", () => {
  withoutBrowser();
  const found = [], text = '{"a": {"b c": [{"d": "x"}, {"d": null}]}, "e-f": -1.5, "g\\"h": true}';
  const parts = coloredJson(text, (path, literal) => {
    found.push([path, literal]);
    return () => {};
  });
  assert.equal(parts.map((part) => part.text ?? part).join(""), text);
  assert.deepEqual(found.filter(([, literal]) => literal), [
    ['$.a["b c"].d', '"x"'],
    ['$.a["b c"].d', "null"],
    ["$.e-f", "-1.5"],
    ['$["g\\"h"]', "true"],
  ]);
});

test("a condition is added once, and to the whole of a query", () => {
  assert.equal(withTerm("", "$.a=1"), "$.a=1");
  assert.equal(withTerm("paid", "$.a=1"), "paid $.a=1");
  assert.equal(withTerm("paid $.a=1", "$.a=1"), "paid $.a=1");
  assert.equal(withTerm("paid or late", "-$.a=1"), "(paid or late) -$.a=1");
});

test("a search that found nothing goes on where there is more", () => {
  const choices = { topic_count: 8, partition_count: 3 };
  assert.deepEqual(widerSearch(choices, "orders", ""), ["Search all 8 topics", { topic: "", partition: "" }]);
  assert.equal(widerSearch(choices, "", ""), null);
  assert.equal(widerSearch({ topic_count: 1, partition_count: 1 }, "orders", ""), null);
  assert.deepEqual(widerSearch({ topic_count: 1, partition_count: 3 }, "orders", "orders-0")[1], { partition: "" });
});

test("a profile in few words", () => {
  assert.equal(profileText({ none: 0, distinct: 90, low: 3, high: 1200 }), "3 – 1,200");
  assert.equal(profileText({ none: 5, distinct: 2, top: [["paid", 9, null]] }), "2 distinct · 5 none");
  assert.equal(profileText({ none: 0, distinct: 1, top: [["paid", 9, null]] }), "paid");
  assert.equal(profileText({ none: 500, distinct: 0 }), "500 none");
});
