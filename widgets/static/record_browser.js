// RecordBrowser: search records as one types, see when they were, read one in full, take them along.
import { button, h } from "./dom.js";
import { count, plural } from "./format.js";
import { withKernel } from "./kernel.js";
import { popover } from "./popover.js";
import { exportSheet } from "./record_export.js";
import { recordHistogram } from "./record_histogram.js";
import { matchList } from "./record_list.js";
import { recordPane } from "./record_pane.js";
import { placePicker, queryBox } from "./record_query.js";
import { requests } from "./requests.js";
import { followTheme } from "./theme.js";

const NOTHING_CHOSEN = { partition: null, segment: null, position: null, offset: null };
const SOONEST_MS = 150, LATEST_MS_BETWEEN = 1500;

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-browser", tabindex: -1, "aria-label": "Kafka record browser" });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const sheet = popover(root);
  const result = () => model.get("_result") ?? {};
  const chosen = () => ({ ...NOTHING_CHOSEN, ...model.get("selected") });
  const isRunning = () => result().status === "running" && model.isLive;
  const ask = requests(model, { signal, onError: showProblem, onSilence: () => {} });

  // Head: where, what, and what can be done with it.
  const picker = placePicker({ onPick: (changes) => model.choose(changes) });
  const title = h("span", { class: "klw-title" });
  const eye = button("Show keys, values and headers", {
    glyph: "eye",
    text: "Values",
    kind: "klw-framed klw-eye",
    onclick: () => model.choose({ show_values: !model.get("show_values") }),
  });
  const python = codeButton("Python", "python"), sql = codeButton("SQL", "sql");
  const save = button("Write the listed records to a file", {
    glyph: "save",
    text: "Export",
    kind: "klw-framed",
    onclick: () => exportSheet({ sheet, from: save, ask, count: result().count, signal }),
  });
  save.setAttribute("aria-haspopup", "dialog");
  const box = queryBox({
    signal,
    sheet,
    onQuery: (query) => model.choose({ query }),
    onStop: () => ask("cancel", { run: result().run }),
    onDown: () => list.el.focus(),
  });
  const head = h(
    "header",
    { class: "klw-top" },
    title,
    picker.el,
    h("span", { class: "klw-sum" }),
    eye,
    python,
    sql,
    save,
  );

  const histogram = recordHistogram({
    root,
    signal,
    stats,
    onBrush: (brush) => model.choose({ brush }),
    onZoom: ([from, to]) => {
      const rest = model.get("query").replace(/(^|\s)time:\S+/g, "").trim();
      const query = `${rest} time:${isoText(from)}..${isoText(to - 1)}`.trim();
      model.choose({ query, brush: [] });
    },
  });
  const list = matchList({
    signal,
    isLive: () => model.isLive,
    fetch: (start, stop) => ask("rows", { run: result().run, start, stop }).then((answer) => answer?.rows),
    onPick: (row) => {
      live.textContent = `Record ${row[1]} of ${row[0]}.`;
      model.set("selected", { ...NOTHING_CHOSEN, partition: row[0], offset: row[1] });
      model.save_changes();
    },
    onSort: (changes) => model.choose(changes),
  });
  const pane = recordPane({ signal, onClose: () => select(null) });
  const body = h("div", { class: "klw-matches" }, h("div", { class: "klw-hits" }, list.el), pane.el);
  root.append(head, box.el, histogram.el, body, live);
  el.append(root);

  function codeButton(text, language) {
    const made = button(`The listed records as ${text}`, {
      glyph: language === "python" ? "code" : null,
      text,
      onclick: () => sheet.python(made, `The listed records as ${text}`, model.get("code")[language]),
    });
    made.setAttribute("aria-haspopup", "dialog");
    return made;
  }
  function select(record) {
    model.set("selected", record ?? NOTHING_CHOSEN);
    model.save_changes();
    if (!record) list.el.focus();
  }
  function showProblem(text) {
    box.setProblem(text);
  }

  // The search: shown as it is, and asked about until it is over.
  let timer = 0, asked = false, shownRun = null, placedRun = null;
  function watch() {
    if (!isRunning() || asked || timer) return;
    const before = performance.now();
    const wait = Math.min(LATEST_MS_BETWEEN, Math.max(SOONEST_MS, (stats.answerMs ?? 0) * 3));
    timer = setTimeout(() => {
      timer = 0;
      asked = true;
      ask("progress", { run: result().run }).then((answer) => {
        stats.answerMs = performance.now() - before - wait;
        asked = false;
        if (answer) watch();
      });
    }, wait);
  }
  signal.addEventListener("abort", () => clearTimeout(timer));
  function showResult() {
    const now = result(), isNew = now.run !== shownRun;
    box.setState(now, isRunning());
    histogram.setData(now, { isAll: !now.query && now.status === "done" });
    const order = model.get("order"), newestFirst = model.get("newest_first");
    list.setResult(now, { isNew, order, newestFirst, words: now.query ?? "" });
    stats.rows = now.count ?? 0;
    stats.status = now.status;
    stats.shown = performance.now();
    if (isNew && shownRun !== null) live.textContent = "";
    if (now.status !== "running" && now.count !== undefined) live.textContent = foundText(now);
    shownRun = now.run;
    showPlace(placedRun !== now.run);
    if (!isRunning()) placedRun = now.run;
    watch();
  }
  function showPlace(reveal) {
    const { partition, offset } = chosen();
    if (partition === null || offset === null || isRunning() || !model.isLive) return list.mark(partition, offset);
    list.mark(partition, offset);
    ask("place", { partition, offset }).then((answer) => {
      if (answer && chosen().offset === offset) list.select(answer.row, reveal);
    });
  }
  function showRecord() {
    const { partition, offset } = chosen();
    body.dataset.open = String(offset !== null);
    if (offset === null || partition === null) return pane.show(null);
    list.mark(partition, offset);
    ask("record", { partition, offset }).then((answer) => {
      if (!answer || chosen().offset !== offset || chosen().partition !== partition) return;
      pane.show(answer.record ? { ...answer.record, buffers: answer.buffers } : null, { partition, offset });
    });
  }
  function showEye() {
    const isOpen = model.get("show_values");
    eye.setAttribute("aria-pressed", String(isOpen));
    eye.title = isOpen ? "Hide keys, values and headers" : "Show keys, values and headers";
    eye.setAttribute("aria-label", eye.title);
    eye.querySelector("path").setAttribute("d", isOpen ? EYE_OPEN : EYE_CLOSED);
    showRecord();
  }
  function showPlaces() {
    const choices = model.get("_choices");
    title.textContent = choices.title ?? "";
    picker.set(choices, model.get("topic"), model.get("partition"));
    histogram.forget();
  }

  root.addEventListener("keydown", (event) => {
    const typing = ["INPUT", "SELECT"].includes(event.target.tagName);
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (event.key === "Escape" && typing) root.focus();
    else if (event.key === "Escape" && chosen().offset !== null) select(null);
    else if (event.key === "Escape" && model.get("brush")?.length) model.choose({ brush: [] });
    else if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    else if (event.key === "/") box.focus();
    else if (event.key === "?") box.help();
    else if (event.key === "v") eye.click();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  root.addEventListener("pointerdown", (event) => {
    if (sheet.isOpen && !event.target.closest(".klw-code") && !event.target.closest("[aria-haspopup]")) sheet.close();
  });

  const followed = {
    _result: showResult,
    _choices: showPlaces,
    topic: showPlaces,
    partition: showPlaces,
    query: () => box.setQuery(model.get("query")),
    brush: () => histogram.setBrush(model.get("brush")),
    selected: showRecord,
    show_values: showEye,
    _error: () => model.get("_error") && showProblem(model.get("_error")),
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, histogram.repaint, signal);
  showPlaces();
  box.setQuery(model.get("query"));
  histogram.setBrush(model.get("brush"));
  showEye();
  showResult();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

const EYE_OPEN =
  "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6";
const EYE_CLOSED = "M1.5 6.5C3 9 5.2 10.2 8 10.2s5-1.2 6.5-3.7M4.2 9.4L3 11.5M8 10.4V13M11.8 9.4L13 11.5";

// A time as a query takes it: UTC, to the millisecond, in one word.
function isoText(ms) {
  return new Date(ms).toISOString().replace("Z", "");
}

function foundText({ count: listed, records_read: looked }) {
  return `${plural(listed, "record")} of ${count(looked)} found.`;
}

export default { render: withKernel(render) };
