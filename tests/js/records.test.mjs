import assert from "node:assert/strict";
import test from "node:test";
import { unfoldBins } from "../../widgets/static/records/histogram_bins.js";
import { fromFirstWord, plainWords } from "../../widgets/static/records/record_list.js";
import { coloredJson, hexText } from "../../widgets/static/records/record_pane.js";

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

test("colored JSON keeps every character", () => {
  globalThis.document = {
    createElement: () => ({
      setAttribute() {},
      append(...text) {
        this.text = text.join("");
      },
    }),
  };
  const text = '{\n  "a\\"b": [1.5e3, -2, true, "x: y"]\n}';
  assert.equal(coloredJson(text).map((part) => part.text ?? part).join(""), text);
});
