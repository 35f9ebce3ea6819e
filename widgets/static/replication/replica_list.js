// All partitions of several brokers: a head that starts a comparison and shows how far it is, and the list of verdicts.
import { button, disable, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { verifyBar } from "../verification/verify_bar.js";
import { comparedText, isSound, verdictsText } from "./replica_data.js";

const LIST_ROWS = 6;
const ROW = 24, HEAD = 28; // px, as in rows.js

export function comparisonHead({ model, send }) {
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const again = button("Compare headers and stored CRCs", {
    glyph: "refresh",
    text: "Compare",
    kind: "klw-framed",
    onclick: () => send("compare", { deep: false }),
  });
  const deep = button("Compare, and check the CRC of every batch", {
    glyph: "shields",
    text: "Check all CRCs",
    kind: "klw-framed",
    onclick: () => send("compare", { deep: true }),
  });
  const progress = verifyBar({ onCancel: () => send("cancel"), words: comparedText, label: "Compared bytes" });
  return {
    el: h("header", { class: "klw-top" }, title, sum, again, deep),
    progress: progress.el,
    show(about, state) {
      title.textContent = plural(about.brokers.length, "broker");
      title.title = about.path;
      sum.textContent = verdictsText(about);
      again.hidden = deep.hidden = !about.can_compare || !model.isLive;
      for (const each of [again, deep]) disable(each, state.state === "running");
      progress.show(state, 0, 0, about.has_changed ? "The logs have changed since: compare again to see it." : "");
    },
  };
}

// What was found in the directories themselves, beside their partitions.
export function directoryLines({ directories }) {
  return directories.map(([severity, kind, found]) =>
    h("p", {}, h("span", { class: "klw-chip", "data-kind": severity }, severity), ` ${kind}: ${found}.`)
  );
}

export function partitionList({ model, signal }) {
  const rows = () => model.get("_partitions");
  const list = dataGrid({
    label: "Partitions",
    signal,
    columns: [
      { name: "Partition", width: "minmax(110px,.8fr)", isName: true },
      { name: "Verdict", width: "88px" },
      { name: "What to keep", width: "minmax(160px,4fr)" },
    ],
    cellsOf(i) {
      const [name, verdict, advice] = rows()[i];
      return [
        { text: name, title: name },
        { text: verdict, kind: verdict === "alike" ? "quiet" : "" },
        { text: advice, title: advice },
      ];
    },
    rowKind: (i) => (isSound(rows()[i][1]) ? "" : "bad"),
    onPick(i) {
      const [name] = rows()[i];
      if (name !== model.get("partition")) model.choose({ partition: name });
    },
  });
  const el = h("div", { class: "klw-replicalist" }, list.el);
  return {
    el,
    // A list of one partition says nothing that the lanes do not say; a running comparison does not scroll the list.
    show({ partitions }, { state }) {
      const n = rows().length, at = rows().findIndex(([name]) => name === model.get("partition"));
      el.hidden = !n || (n < 2 && partitions < 2);
      el.style.height = `${HEAD + 1 + ROW * Math.min(LIST_ROWS, Math.max(2, n))}px`;
      list.setCount(n, { keep: true });
      list.select(at, at >= 0 && state !== "running");
    },
  };
}
