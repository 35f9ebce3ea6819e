// SqlBox: a query in SQL with completions, and its result as a table.
import { button, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { pageStore } from "../shared/pages.js";
import { closeOutside, codeButton, popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { dataGrid } from "../shared/rows.js";
import { valuesButton } from "../shared/values_button.js";
import { sqlEditor } from "./sql_editor.js";

const NAMES = new Set(["directory", "file", "group", "name", "partition", "path", "topic"]);
const AGAIN_MS = 250, TIMES = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-sqlbox", { "aria-label": "SQL" });
  const { root, signal, stats } = frame, sheet = popover(root), eye = valuesButton(model);
  const ask = requests(model, { signal, onError: (text) => setProblem(text), onSilence: () => {} });
  const problem = h("div", { class: "klw-sqlproblem", role: "alert", hidden: true });
  const status = h("span", { role: "status" });
  const run = button("Run the query (Ctrl+Enter)", {
    glyph: "play",
    text: "Run",
    kind: "klw-run",
    isLive: true,
    onclick: start,
  });
  const stop = button("Stop the query", {
    glyph: "stop",
    text: "Stop",
    kind: "klw-framed",
    onclick: () => ask("cancel"),
  });
  const editor = sqlEditor({ complete: (text, at) => ask("complete", { text, at }), onRun: start });
  let columns = [], names = "", order = -1, isDown = false, timer = 0;
  const number = () => model.get("_run").number;
  const fetchRows = (from, to) =>
    ask("rows", { number: number(), start: from, stop: to, order, is_down: isDown }).then((answer) => answer?.rows);
  const store = pageStore({ fetch: fetchRows, changed: () => grid.refresh() });
  const grid = dataGrid({
    label: "Result",
    signal,
    columns: [],
    emptyText: "No rows.",
    cellsOf: (i) => store.row(i)?.map(cellOf) ?? null,
    load: (from, to) => store.load(from, to).then((rows) => rows.map((row) => row?.map(cellOf))),
    onSort({ key }) {
      const at = Number(key), first = columns[at][1], isSame = order === at;
      [order, isDown] = isSame && isDown !== first ? [-1, false] : [at, isSame ? !isDown : first];
      grid.showSort(order, isDown);
      store.reset(null);
      grid.refresh();
    },
    // A table's name is what one selects from.
    onOpen(i) {
      const row = store.row(i);
      if (names !== "name,kind,about" || !row) return;
      const name = row[1] === "topic" ? `"${row[0].replaceAll('"', '""')}"` : row[0];
      editor.set(`select * from ${name} limit 100`);
      start();
    },
  });
  function start() {
    setProblem("");
    ask("run", { query: editor.text });
  }
  function setProblem(text) {
    problem.textContent = text;
    problem.hidden = !text;
  }
  async function show() {
    clearTimeout(timer);
    const mine = number(), now = await ask("state");
    if (!now || mine !== number()) return;
    const isRunning = now.status === "running";
    if (isRunning) timer = setTimeout(show, AGAIN_MS);
    stop.hidden = !isRunning;
    run.hidden = isRunning;
    setProblem(now.problem);
    status.textContent = statusText(now);
    status.title = status.textContent;
    if (isRunning) return grid.setState("loading", "The query runs.");
    columns = now.columns;
    names = columns.map(([name]) => name).join();
    order = -1;
    isDown = false;
    store.reset(null);
    grid.setState("empty", EMPTY[now.status] ?? "No rows.");
    grid.setColumns(columns.map(([name, isNumber], at) => ({
      name,
      key: String(at),
      number: isNumber,
      isSortable: true,
      isLive: true,
      isOfRecords: true,
      isName: NAMES.has(name),
      width: columnWidth(name, isNumber, columns.length),
    })));
    grid.setCount(now.count);
    stats.rows = now.count;
    stats.shown = performance.now();
    frame.announce(status.textContent);
  }
  const command = button("The command that prints the same rows", {
    text: "Command",
    onclick: () => sheet.python(command, "The command that prints the same rows", model.get("code").command),
  });
  command.setAttribute("aria-haspopup", "dialog");
  const names_ = button("List the topics and tables", {
    glyph: "columns",
    text: "Tables",
    isLive: true,
    onclick: () => {
      editor.set("show tables");
      start();
    },
  });
  frame.fill(
    h(
      "header",
      { class: "klw-top" },
      h("span", { class: "klw-title" }, "SQL"),
      h("span", { class: "klw-sum" }, "One SELECT over topics and tables. It reads nothing else, and writes nothing."),
      eye.el,
      names_,
      codeButton(sheet, "The same rows in Python", () => model.get("code").python),
      command,
    ),
    h("div", { class: "klw-sqlline" }, editor.el, h("div", { class: "klw-sqlfoot" }, run, stop, status)),
    problem,
    h("div", { class: "klw-sqlrows klw-fill" }, grid.el),
  );
  onKeys(root, (event) => {
    const isTyping = event.target.tagName === "TEXTAREA";
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (event.key === "Escape" && isTyping) root.focus();
    else if (isTyping || isModified(event)) return false;
    else if (event.key === "/") editor.focus();
    else if (event.key === "v") eye.el.click();
    else return false;
  });
  closeOutside(root, sheet);
  signal.addEventListener("abort", () => clearTimeout(timer));
  const end = frame.follow({
    query: () => editor.set(model.get("query")),
    _run: show,
    show_values: eye.show,
    _error: () => model.get("_error") && setProblem(model.get("_error")),
  }, grid.refresh);
  editor.set(model.get("query"));
  eye.show();
  stop.hidden = true;
  stats.draws++;
  show();
  return end;
}

const EMPTY = { failed: "Nothing was read: the query has an error.", canceled: "The query was stopped." };

function statusText({ status, count: rows, is_cut: isCut, records_read: read, seconds, note }) {
  if (status === "running") return `${read ? `${plural(read, "record")} read · ` : ""}${seconds} s…`;
  if (status !== "done") return "";
  const all = isCut ? `the first ${plural(rows, "row")}; a limit, or sums, show others` : plural(rows, "row");
  return [all, read && `${plural(read, "record")} read`, `${seconds} s`, note].filter(Boolean).join(" · ");
}

function columnWidth(name, isNumber, many) {
  const least = Math.max(isNumber ? 84 : 110, 8 * name.length + 34);
  return `minmax(${Math.min(240, least)}px,${isNumber && many > 1 ? "auto" : "1fr"})`;
}

function cellOf(value) {
  if (value === null) return { text: "null", kind: "null" };
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(value);
  const text = String(value);
  return TIMES.test(text) ? text : { text, kind: "mono", title: text };
}

export default { render: withKernel(render) };
