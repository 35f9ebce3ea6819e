// The offset map of a cleaning: a row for each key, in order of appearance.
import { h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";

// `data()` returns the cleaning; `onPick` gets the number of a record.
export function offsetMap({ signal, data, onPick }) {
  let entries = [], round = null, current = -1, before = null;
  const head = h("span", { class: "klw-maphead" });
  const grid = dataGrid({
    label: "Offset map",
    signal,
    emptyText: "The offset map has no keys yet.",
    columns: [{ name: "Key", width: "minmax(60px,1fr)" }, { name: "Newest offset", width: "96px", number: true }],
    cellsOf: (k) => {
      const [key, record] = entries[k];
      return [
        { text: data().keyName(key), title: data().keyName(key), kind: "mono" },
        count(round.records.offset[record]),
      ];
    },
    rowKind: (k) => (entries[k][0] === before ? "within" : ""),
    onPick: (k) => onPick(entries[k][1]),
  });
  const el = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "Offset map"), head),
    grid.el,
  );
  return {
    el,
    show(next, at) {
      round = next;
      entries = round?.records && at >= 0 ? round.entries(at) : [];
      const record = at < 0 ? -1 : data().record(at), key = record < 0 ? null : round.records.key[record];
      before = key;
      current = entries.findIndex(([each]) => each === key);
      grid.setCount(entries.length, { keep: true });
      grid.select(current);
      head.textContent = plural(entries.length, "key");
    },
  };
}
