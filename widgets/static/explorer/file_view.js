// One file of a log directory: what it is, its fields and entries, and its bytes. And the list of a partition's files.
import { bytesView } from "../bytes/bytes_view.js";
import { button, h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";

const MOST_BESIDE = 5; // columns of a table that has its bytes beside it, not below

export function fileView({ tools, fetch, onClose, signal: outer }) {
  let life = new AbortController(), shown = null;
  outer.addEventListener("abort", () => life.abort());
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  const close = button("Back to the partition", { glyph: "cross", onclick: onClose });
  const meaning = h("p", {}), problems = h("ul", {}), text = h("div", { class: "klw-filetext" });
  const hex = bytesView({
    label: "Bytes of the file",
    signal: outer,
    fetch: (_inside, start, stop) => fetch(shown.path, start, stop),
  });
  const body = h(
    "div",
    { class: "klw-filebody" },
    text,
    h("div", { class: "klw-pane", "data-pane": "bytes" }, hex.el),
  );
  const el = h(
    "section",
    { class: "klw-panel klw-file", "aria-label": "File" },
    h("div", { class: "klw-phead" }, title, about, ...tools, close),
    meaning,
    problems,
    body,
  );

  // The entries as a table; picking one marks its bytes where the file says where they are.
  function table({ columns, rows, total, places }) {
    const grid = dataGrid({
      label: "Entries",
      signal: life.signal,
      columns: columns.map((name, k) => ({
        name: `${name.charAt(0).toUpperCase()}${name.slice(1)}`,
        width: "minmax(0,1fr)",
        number: rows.every((row) => /^-?[\d,]+$/.test(row[k])),
      })),
      cellsOf: (i) => rows[i].map((cell) => ({ text: cell, title: cell, kind: cell === "none" ? "quiet" : "" })),
      onPick: (i) => hex.setRecord(places[i] ? [false, ...places[i]] : null),
    });
    grid.setCount(rows.length);
    const rest = total - rows.length;
    return [
      grid.el,
      rest > 0 ? h("p", {}, `The first ${count(rows.length)}; ${plural(rest, "more entry", "more entries")}.`) : null,
    ];
  }
  function decoded(sent) {
    const parts = [];
    if (sent.facts.length) {
      parts.push(h("dl", {}, ...sent.facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value)])));
    }
    if (sent.rows.length) parts.push(...table(sent));
    if (!parts.length) parts.push(h("p", {}, sent.size ? "It has no entries." : "It is empty."));
    return parts.filter(Boolean);
  }
  return {
    el,
    body,
    // What the kernel sent of a file; null for none.
    show(sent) {
      life.abort();
      life = new AbortController();
      shown = sent;
      if (!sent) return hex.setSource(null);
      title.textContent = sent.name;
      title.title = sent.path;
      about.textContent = [sent.kind, bytes(sent.size), sent.modified && `written ${sent.modified}`].filter(Boolean)
        .join(" · ");
      meaning.textContent = sent.meaning;
      problems.hidden = !sent.problems.length;
      problems.replaceChildren(...sent.problems.map((each) => h("li", {}, each)));
      body.toggleAttribute("data-stacked", (sent.columns ?? []).length > MOST_BESIDE);
      text.replaceChildren(...decoded(sent));
      hex.setSource(sent.size ? { position: 0, size: sent.size } : null, "There are no bytes.");
    },
  };
}

// The files of the selected partition, read when the list is first visible.
export function fileList({ fetch, onOpen, signal }) {
  let rows = [], asked = null, wanted = null;
  const grid = dataGrid({
    label: "Files",
    signal,
    emptyText: "No files.",
    columns: [
      { name: "Name", width: "minmax(220px,2fr)" },
      { name: "What", width: "minmax(120px,1fr)" },
      { name: "Bytes", width: "minmax(80px,.6fr)", number: true },
      { name: "Written", width: "190px" },
    ],
    cellsOf: (i) => [rows[i][1], rows[i][2], count(rows[i][3]), rows[i][4]],
    onPress: (i) => onOpen(rows[i][0]),
    onOpen: (i) => onOpen(rows[i][0]),
  });
  async function load() {
    if (wanted === null || asked === wanted || !grid.el.offsetParent) return;
    const mine = asked = wanted;
    const got = await fetch();
    if (mine !== wanted) return;
    rows = got;
    grid.setCount(rows.length);
  }
  const seen = new IntersectionObserver(load);
  seen.observe(grid.el);
  signal.addEventListener("abort", () => seen.disconnect());
  return {
    el: grid.el,
    setPartition(name) {
      if (name === wanted) return;
      wanted = name;
      asked = null;
      rows = [];
      grid.setCount(0);
      load();
    },
  };
}
