import assert from "node:assert/strict";
import test from "node:test";
import { bytePages } from "../../widgets/static/bytes/byte_pages.js";
import { byteTexts } from "../../widgets/static/bytes/byte_row.js";
import { commitAtSelection, pickedAgain, timeSpan } from "../../widgets/static/coordinators/group_data.js";
import { newestFirst, offsetSpan, transactionAt } from "../../widgets/static/coordinators/transaction_data.js";
import { shortFile } from "../../widgets/static/players/player_steps.js";
import {
  brushAfterKey,
  brushOf,
  brushText,
  timeDomain,
  timeScale,
} from "../../widgets/static/records/histogram_bins.js";
import { queryOfTime } from "../../widgets/static/records/record_query.js";
import { kindsOf, requestCells, requestOf, requestsLike } from "../../widgets/static/requests/request_rows.js";
import { findingTotals } from "../../widgets/static/verification/finding_filter.js";

const NO_PICK = { lane: -1, item: -1 };

test("transactions are listed newest first, and found by an offset in them", () => {
  const lane = (...spans) => ({
    length: spans.length,
    first: spans.map(([first]) => first),
    at: (offset) => spans.findIndex(([first, last]) => first <= offset && offset <= last),
  });
  const lanes = [lane([0, 9], [30, 39]), lane([5, 20])];
  assert.deepEqual(newestFirst(lanes), [[0, 1], [1, 0], [0, 0]]);
  assert.deepEqual(transactionAt(lanes, 7, NO_PICK), [0, 0]);
  assert.deepEqual(transactionAt(lanes, 5, NO_PICK), [1, 0]); // it begins there
  assert.deepEqual(transactionAt(lanes, 7, { lane: 1, item: 0 }), [1, 0]); // picked already
  assert.deepEqual(transactionAt(lanes, 25, NO_PICK), [-1, -1]);
  assert.deepEqual(offsetSpan(0, 1000), [0, 1012]);
  assert.deepEqual(offsetSpan(0, 0), [0, 1.5]);
});

test("a selection is a partition of the group, a commit in it, or the record of a commit", () => {
  const lane = (partition, offsets) => ({
    partition,
    target: (i) => ({ partition, offset: offsets[i] ?? null }),
    record: (i) => ({ partition: "__consumer_offsets-0", offset: String(i + 100) }),
    find: (offset) => offsets.lastIndexOf(offset),
    findRecord: (log, place) => (log === "__consumer_offsets-0" && partition === "b-0" && place === "101" ? 1 : -1),
  });
  const lanes = [lane("a-0", ["7"]), lane("b-0", ["3", "8"])];
  const at = (partition, offset, picked = NO_PICK) => commitAtSelection(lanes, { partition, offset }, picked);
  assert.deepEqual(at("a-0", null), [0, -1]);
  assert.deepEqual([at("b-0", "8"), at("b-0", "9")], [[1, 1], [1, -1]]);
  assert.deepEqual([at("__consumer_offsets-0", "101"), at("c-0", "1"), at(null, null)], [[1, 1], [-1, -1], [-1, -1]]);
  assert.deepEqual(at("b-0", "3", { lane: 1, item: 0 }), [1, 0]);
  assert.deepEqual([timeSpan([]), timeSpan([100, 200])], [[0, 1], [100, 202]]);
});

test("a picked commit is found again among the commits of a range", () => {
  const lane = (name, places) => ({
    name,
    record: (i) => ({ partition: "__consumer_offsets-0", offset: places[i] }),
    findRecord: (_log, place) => places.indexOf(place),
  });
  const all = [lane("a-0", ["1", "2"]), lane("b-0", ["3", "5", "9"])], ofRange = [lane("b-0", ["5", "7", "9"])];
  assert.deepEqual(pickedAgain(ofRange, all, { lane: 1, item: 1 }), { lane: 0, item: 0 });
  assert.deepEqual(pickedAgain(ofRange, all, { lane: 1, item: 0 }), { lane: 0, item: -1 });
  assert.deepEqual(pickedAgain(ofRange, all, { lane: 1, item: -1 }), { lane: 0, item: -1 });
  assert.deepEqual(pickedAgain(ofRange, all, { lane: 0, item: 1 }), NO_PICK);
  assert.deepEqual(pickedAgain(ofRange, [], NO_PICK), NO_PICK);
});

test("a brush is in whole milliseconds, moves and grows by keys, and names its day once", () => {
  assert.deepEqual([brushOf([1.4, 9.6]), brushOf([5, 5]), brushOf([])], [[1, 10], null, null]);
  const range = { from: 0, to: 4000 };
  assert.deepEqual(brushAfterKey(null, range, 1, false), [1800, 2200]);
  assert.deepEqual(brushAfterKey([1000, 2000], range, -1, false), [900, 1900]);
  assert.deepEqual(brushAfterKey([1000, 2000], range, 1, true), [1000, 2100]);
  assert.deepEqual(brushAfterKey([1000, 1050], range, -1, true), [1000, 1100]);
  const noon = Date.UTC(2026, 0, 2, 12), day = 86_400_000;
  assert.equal(brushText([noon, noon + 1000]), "2026-01-02T12:00:00.000Z – 12:00:01.000Z");
  assert.match(brushText([noon, noon + day]), /^2026-01-02T.* – 2026-01-03T/);
});

test("the axis of the histogram has room for the bins and for those behind them", () => {
  const bins = { from: 10, to: 20, max: 3 }, behind = { from: 0, to: 100, max: 9 };
  assert.deepEqual([timeDomain(bins, behind), timeDomain(bins, null)], [{ from: 0, to: 100 }, { from: 10, to: 20 }]);
  assert.equal(timeDomain({ ...bins, max: 0 }, null), null);
  const { x, time } = timeScale({ from: 0, to: 100 }, 228);
  assert.deepEqual([x(0), x(50), x(100)], [14, 114, 214]);
  assert.deepEqual([time(114), time(-5), time(999)], [50, 0, 100]);
});

test("a time replaces the one that a query names", () => {
  const text = "1970-01-01T00:00:01.000..1970-01-01T00:00:01.999";
  assert.equal(queryOfTime("tea time:2026-01-01.. -key:x", [1000, 2000]), `tea -key:x time:${text}`);
  assert.equal(queryOfTime("", [1000, 2000]), `time:${text}`);
  assert.equal(queryOfTime("tea or -coffee", [1000, 2000]), `(tea or -coffee) time:${text}`);
  assert.equal(queryOfTime("oregano", [1000, 2000]), `oregano time:${text}`);
});

const row = (number, kind, client, clientId) =>
  requestOf([number, 0, kind, 12, client, clientId, "orders", 90, 67, 0.05, 1, 50, 0.2, 151, ""]);

test("requests are filtered by kind and by a part of the client, the newest first", () => {
  const all = [
    row(1, "Fetch", "10.0.0.1:9", "Tea"),
    row(2, null, "10.0.0.2:9", null),
    row(3, "Fetch", "10.0.0.2:9", "b"),
  ];
  const numbers = (kind, client) => requestsLike(all, kind, client).map(({ number }) => number);
  assert.deepEqual([numbers("", ""), numbers("Fetch", ""), numbers("", "tea"), numbers("", "0.2")], [
    [3, 2, 1],
    [3, 1],
    [1],
    [3, 2],
  ]);
  assert.deepEqual(kindsOf(all, "Produce"), ["Fetch", "Produce"]);
});

test("a request is slow by its own time, not by what it waited for others", () => {
  const kindOfTotal = (request) => requestCells(request)[11].kind, waited = row(1, "Fetch", "a", "b");
  assert.equal(kindOfTotal(waited), "bad");
  assert.equal(kindOfTotal({ ...waited, times: [0, 1, 150, 0] }), "");
  assert.deepEqual(requestCells(row(1, null, "a:1", null)).slice(2, 4), [
    { text: "unknown", kind: "kind" },
    { text: "a:1", title: "a:1" },
  ]);
});

test("bytes are fetched once for each page, and know their fields", async () => {
  const asked = [], came = [];
  const pages = bytePages({
    size: 5000,
    onPage: () => came.push(asked.length),
    fetch: (start, stop) => {
      asked.push([start, stop]);
      const field = { start: start + 2, size: 3, level: 0, name: 'a"b', leaf: true };
      return Promise.resolve({
        start,
        fields: [field],
        masks: [[start, start + 1]],
        buffers: [new DataView(new ArrayBuffer(stop - start))],
      });
    },
  });
  assert.equal(pages.with(4100), null);
  assert.equal(pages.with(4999), null);
  await new Promise(setImmediate);
  assert.deepEqual([asked, came], [[[4096, 5000]], [1]]);
  const page = pages.with(4100);
  assert.deepEqual([page.start, page.masked[0], page.masked[1], page.owner[1], page.owner[2]], [4096, 1, 0, -1, 0]);
  assert.equal(pages.fieldAt(4098).key, "4098-3-0-ab");
  assert.equal(pages.fieldAt(4097), null);
  assert.deepEqual([pages.fieldsIn(0, 4098).size, pages.fieldsIn(4100, 4200).size], [0, 1]);
});

test("a page that did not come is asked for again", async () => {
  let answers = 0;
  const pages = bytePages({ size: 10, onPage: () => {}, fetch: () => Promise.resolve(void answers++) });
  for (let i = 0; i < 2; i++) {
    pages.with(0);
    await new Promise(setImmediate);
  }
  assert.equal(answers, 2);
});

test("a byte is two digits, and a character only if it is one of ASCII", () => {
  assert.deepEqual([byteTexts(0), byteTexts(65), byteTexts(127), byteTexts(255)], [["00", "·"], ["41", "A"], [
    "7f",
    "·",
  ], [
    "ff",
    "·",
  ]]);
});

test("findings are counted over all partitions, and errors apart", () => {
  assert.deepEqual(findingTotals({ a: { error: 2, warning: 1 }, b: { info: 3 } }), { all: 6, errors: 2 });
  assert.deepEqual(findingTotals({}), { all: 0, errors: 0 });
});

test("the name of a segment file keeps its number", () => {
  assert.equal(shortFile("00000000000000000442.log"), "…442.log");
  assert.equal(shortFile("00000000000000000000.log"), "…0.log");
  assert.equal(shortFile("__consumer_offsets-0"), "__consumer_offsets-0");
});
