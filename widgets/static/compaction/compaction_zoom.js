// The records of one batch of a cleaning played by batches or segments; the kernel reads them.
import { h } from "../shared/dom.js";
import { count, plural, range } from "../shared/format.js";
import { pageStore } from "../shared/pages.js";
import { dataGrid } from "../shared/rows.js";

export function recordZoom({ signal, ask, data }) {
  let round = -1, batch = -1;
  const head = h("span", { class: "klw-maphead" });
  const store = pageStore({
    changed: () => grid.refresh(),
    fetch: (start, stop) =>
      ask("records", { round_number: round, batch, start, stop }).then((answer) => {
        if (!answer) return [];
        grid.setCount(answer.count, { keep: true });
        grid.setState("empty", "No decisions for this batch.");
        return answer.rows;
      }),
  });
  const grid = dataGrid({
    label: "Records of the batch",
    load: (start, stop) => store.load(start, stop).then((rows) => rows.map(decisionCells)),
    signal,
    columns: [{ name: "Offset", width: "72px", number: true }, { name: "Key", width: "minmax(50px,.5fr)" }, {
      name: "",
      width: "56px",
    }, { name: "Why", width: "minmax(120px,2fr)" }],
    cellsOf(i) {
      const row = store.row(i);
      if (!row) return null;
      return decisionCells(row);
    },
  });
  const el = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "Records"), head),
    grid.el,
  );
  return {
    el,
    reset() {
      round = batch = -1;
    },
    show(nextRound, nextBatch) {
      if (nextRound === round && nextBatch === batch) return;
      const { batches, count: all } = data().rounds[nextRound];
      if (nextBatch >= all) return;
      [round, batch] = [nextRound, nextBatch];
      head.textContent = `batch ${count(batch)}, offsets ${
        range(batches.base_offset[batch], batches.last_offset[batch])
      }`;
      head.title = plural(batches.count[batch], "record");
      store.reset();
      grid.setCount(0);
      grid.setState("loading", "Reading…");
      store.row(0);
    },
  };
}

function decisionCells([offset, [key, kind], isKept, why]) {
  return [count(offset), { text: key, kind: kind === "text" ? "mono" : kind, title: key }, {
    text: isKept ? "kept" : "dropped",
    kind: isKept ? "stays" : "bad",
  }, { text: why, title: why }];
}
