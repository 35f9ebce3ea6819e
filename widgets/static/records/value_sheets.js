// Sheets over the records: how many there are of each value of a column, and what differs inside of the selected time.
import { h } from "../shared/dom.js";
import { count, plural, share } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { columnLabel } from "./record_columns.js";

// Count the listed records by a column. `ask(again)` counts for a while and resolves to what is known.
export async function countSheet({ sheet, from, name, listed, ask, onFilter, signal }) {
  const life = new AbortController();
  signal.addEventListener("abort", () => life.abort());
  let rows = [], counted = 0;
  const about = h("p", { role: "status" }, "Counting…");
  const grid = dataGrid({
    label: `Records by ${columnLabel(name)}`,
    signal: life.signal,
    emptyText: "No records.",
    columns: [
      { name: columnLabel(name), width: "minmax(120px,1fr)" },
      { name: "Records", width: "96px", number: true, value: (i) => rows[i][1] },
      { name: "Share", width: "80px", number: true, value: (i) => rows[i][1] },
    ],
    cellsOf: (i) => [
      { text: rows[i][0], kind: rows[i][0] === "none" ? "null" : "mono", title: rows[i][0] },
      count(rows[i][1]),
      share(rows[i][1] / counted),
    ],
    onPress: (i) => {
      if (!rows[i][2]) return;
      sheet.close();
      onFilter(rows[i][2]);
    },
  });
  const body = h("div", { class: "klw-countsheet" }, about, h("div", {}, grid.el));
  sheet.open(from, `Records by ${columnLabel(name)}`, body);
  for (let again = false; !life.signal.aborted; again = true) {
    const now = await ask(again);
    if (!body.isConnected || !now) break;
    ({ rows, counted } = now);
    const part = now.is_over ? plural(counted, "record") : `${count(counted)} of ${plural(listed, "record")} so far`;
    const left = now.left_out ? `; the ${count(now.rows.length)} commonest are listed` : "";
    about.textContent = `${plural(now.distinct, "value")} in ${part}${left}. A click on a row shows its records.`;
    grid.setCount(rows.length, { keep: true });
    if (now.is_over) break;
  }
  if (!body.isConnected) life.abort();
}

// What differs: `answer` is what the kernel found.
export function differenceSheet({ sheet, from, answer: { inside, outside, found }, onFilter }) {
  const bar = (part, kind) =>
    h("i", { "data-kind": kind }, h("u", { style: `width:${100 * part}%` }), h("small", {}, share(part)));
  const row = ({ name, text, inside: one, outside: other, term }) =>
    h(
      term ? "button" : "div",
      {
        type: term && "button",
        class: "klw-difference",
        title: term ? `Only ${term}` : "",
        onclick: () => {
          if (!term) return;
          sheet.close();
          onFilter(term);
        },
      },
      h("b", {}, columnLabel(name)),
      h("span", { title: text }, text),
      bar(one, "inside"),
      bar(other, "outside"),
    );
  const compared = `${plural(inside, "record")} of the selected time with ${plural(outside, "record")} of other times`;
  const about = inside && outside
    ? found.length
      ? `Compared: ${compared}, evenly chosen. The most different value of each field:`
      : `No field differs by 10 percentage points or more: ${compared} were compared.`
    : "All listed records are on one side of the selected time: there is nothing to compare with.";
  const head = h("div", { class: "klw-difference klw-differencehead" }, "field", "value", "inside", "outside");
  for (const [i, text] of ["Field", "Value", "Inside", "Outside"].entries()) {
    head.childNodes[i].replaceWith(h("span", {}, text));
  }
  sheet.open(
    from,
    "What differs?",
    h("div", { class: "klw-differences", tabindex: 0 }, h("p", {}, about), found.length > 0 && head, ...found.map(row)),
  );
}
