// The lists under the map: records, batches, index entries, findings. Screen readers read them instead of the map.
import { count, plural, timestamp } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { TIME_WIDTH } from "../shared/zone.js";

export function recordList({ store, absence, onPick, onOpen, onWindow, batchOf, signal }) {
  return dataGrid({
    load: (start, stop) => store.load(start, stop).then((rows) => rows.map((row) => row && recordCells(row))),
    label: "Records",
    signal,
    onPick,
    onOpen,
    onWindow,
    emptyText: "No records here.",
    columns: [
      { name: "Offset", width: "92px", number: true },
      { name: "Timestamp", width: TIME_WIDTH },
      { name: "Key", width: "minmax(90px,.8fr)", isOfRecords: true },
      { name: "Value", width: "minmax(150px,3fr)", isOfRecords: true },
      { name: "Headers", width: "minmax(70px,.4fr)", isOfRecords: true },
      { name: "Batch", width: "64px", number: true },
    ],
    cellsOf(i) {
      const row = store.row(i);
      if (!row) {
        const text = store.isLacking(i) ? absence() : null; // null: the row is on its way
        return text && ["–", "", "", { text, kind: "quiet" }, "", ""];
      }
      return recordCells(row);
    },
    rowKind: (i) => batchOf(i, store),
  });
}

function recordCells([offset, time, key, value, headers, batch, note]) {
  if (note && !offset) {
    return [{ text: "—", kind: "bad" }, "", "", { text: note, kind: "bad" }, "", {
      text: count(batch),
      kind: "quiet",
    }];
  }
  return [
    count(offset),
    time === null ? { text: "none", kind: "null" } : timestamp(time),
    cellOf(key),
    note ? { text: note, kind: "quiet" } : cellOf(value),
    cellOf(headers),
    { text: count(batch), kind: "quiet" },
  ];
}

// [text, kind]: kind says whether the text is the value, its bytes, only its size, or a null.
function cellOf([text, kind, title]) {
  return { text, kind: kind === "text" ? "mono" : kind, title: title ?? (kind === "text" ? text : "") };
}

export function batchList({ data, onPick, onOpen, signal }) {
  return dataGrid({
    label: "Batches",
    signal,
    onPick,
    onOpen,
    emptyText: "No batches in this segment.",
    columns: [
      { name: "#", width: "62px", number: true, value: (i) => i },
      { name: "Position", width: "minmax(84px,.8fr)", number: true, value: (i) => data().position[i] },
      { name: "Bytes", width: "minmax(66px,.6fr)", number: true, value: (i) => data().end[i] - data().position[i] },
      { name: "Offsets", width: "minmax(130px,1.6fr)", value: (i) => data().columns.base_offset.exact(i) },
      {
        name: "Records",
        width: "minmax(60px,.7fr)",
        number: true,
        value: (i) => data().columns.record_count.number(i),
      },
      { name: "Latest time", width: TIME_WIDTH, value: (i) => data().columns.max_timestamp.number(i) },
      { name: "Compression", width: "108px", value: (i) => data().codec(i) },
      {
        name: "Producer",
        width: "minmax(64px,.8fr)",
        number: true,
        value: (i) => data().columns.producer_id.number(i),
      },
      { name: "What", width: "minmax(110px,1.4fr)" },
    ],
    cellsOf(i) {
      const d = data(),
        c = d.columns,
        records = c.record_count.number(i),
        producer = c.producer_id.exact(i),
        problem = d.problemText(i);
      return [
        count(i),
        count(d.position[i]),
        count(d.end[i] - d.position[i]),
        d.offsets(i),
        records < 0 ? { text: "?", kind: "quiet", title: d.records(i) } : count(records),
        c.max_timestamp.exact(i) === -1n ? { text: "none", kind: "null" } : timestamp(c.max_timestamp.exact(i)),
        d.codec(i),
        producer < 0n ? { text: "–", kind: "quiet" } : count(producer),
        problem
          ? { text: problem, kind: "bad" }
          : d.kind(i)
          ? { text: d.kind(i).replace("transactional, ", ""), kind: d.isAborted(i) ? "quiet" : "", title: d.kind(i) }
          : d.isNew(i)
          ? { text: "new", kind: "new" }
          : d.missing[i]
          ? {
            text: `after missing ${d.missingText(i)}`,
            kind: "quiet",
            title: `${d.missingText(i)} are missing before it`,
          }
          : c.magic.number(i) < 2
          ? { text: `format ${c.magic.number(i)}`, kind: "quiet" }
          : "",
      ];
    },
    rowKind: (i) => (data().problemText(i) ? "bad" : data().isNew(i) ? "new" : ""),
  });
}

export function offsetIndexList({ data, onPick, signal }) {
  return dataGrid({
    label: "Offset index entries",
    signal,
    onPick,
    emptyText: "The offset index has no entries: a lookup reads from the start of the file.",
    columns: [
      { name: "#", width: "62px", number: true },
      { name: "Offset", width: "minmax(100px,1fr)", number: true },
      { name: "Relative", width: "minmax(80px,1fr)", number: true },
      { name: "Position", width: "minmax(100px,1fr)", number: true },
      { name: "Points at", width: "minmax(160px,3fr)" },
    ],
    cellsOf(i) {
      const d = data(), place = d.indexPosition[i], batch = d.batchAtPosition(place);
      const offset = d.offsetIndex.offset.exact(i);
      return [
        count(i),
        count(offset),
        count(offset - d.baseOffset),
        count(place),
        batch >= 0
          ? `batch ${count(batch)}, offsets ${d.offsets(batch)}`
          : { text: "no batch starts there", kind: "bad" },
      ];
    },
  });
}

export function timeIndexList({ data, onPick, signal }) {
  return dataGrid({
    label: "Time index entries",
    signal,
    onPick,
    emptyText: "The time index has no entries.",
    columns: [
      { name: "#", width: "62px", number: true },
      { name: "Timestamp", width: "minmax(190px,1fr)" },
      { name: "Offset", width: "minmax(100px,1fr)", number: true },
      { name: "Relative", width: "minmax(80px,1fr)", number: true },
      { name: "Means", width: "minmax(200px,3fr)" },
    ],
    cellsOf(i) {
      const d = data(), offset = d.timeIndex.offset.exact(i);
      return [
        count(i),
        timestamp(d.timeIndex.timestamp.exact(i)),
        count(offset),
        count(offset - d.baseOffset),
        `no record up to offset ${count(offset)} is later`,
      ];
    },
  });
}

export function listSummary(list) {
  return list.length ? plural(list.length, "finding") : "no findings";
}
