// The explorer's lists of a segment: records, batches, and the entries of its indexes.
import { batchList, offsetIndexList, recordList, timeIndexList } from "../segments/lists.js";

// `held` returns the segment's data, null without one; `store` pages of records; `firstRows` each batch's first row.
export function segmentLists(
  { model, signal, store, held, firstRows, selectedBatch, onBatch, onRecord, onShow, onWindow },
) {
  function recordKind(i) {
    const row = store.row(i), data = held();
    if (!row) return "";
    const first = i > 0 && firstRows().length > row[5] && firstRows().number(row[5]) === i;
    const fresh = data && row[5] < data.length && data.isNew(row[5]) ? "new" : "";
    return `${fresh} ${row[5] === selectedBatch() ? "within" : ""} ${first ? "first" : ""} ${
      row[6] && !row[0] ? "bad" : ""
    }`;
  }
  const pickAt = (i) => i >= 0 && onBatch(i);
  return {
    records: recordList({
      store,
      signal,
      absence: () => model.absence,
      batchOf: recordKind,
      onPick: (i) => {
        const row = store.row(i);
        if (row) onRecord(row);
      },
      onOpen: () => onShow("bytes"),
      onWindow,
    }),
    batches: batchList({ data: held, signal, onPick: onBatch, onOpen: () => onShow("records") }),
    offsetIndex: offsetIndexList({
      data: held,
      signal,
      onPick: (i) => pickAt(held().batchAtPosition(held().indexPosition[i])),
    }),
    timeIndex: timeIndexList({
      data: held,
      signal,
      onPick: (i) => pickAt(held().batchAt(held().timeIndexPosition[i])),
    }),
  };
}
