// RecordBrowser: search records as one types, see when they were, read one in full, take them along.
import { h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { isModified, NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { closeOutside, popover } from "../shared/popover.js";
import { recordHead } from "./record_head.js";
import { recordHistogram } from "./record_histogram.js";
import { matchList } from "./record_list.js";
import { recordPane } from "./record_pane.js";
import { queryBox, queryOfTime, widerSearch, withTerm } from "./record_query.js";
import { recordBar } from "./record_bar.js";
import { countSheet, differenceSheet } from "./value_sheets.js";
import { searchWatch } from "./record_watch.js";
import { requests } from "../shared/requests.js";
import { lacksValues, showsValues } from "../shared/values_button.js";

const PROFILED_AGAIN = 10; // when there are 7 % more records
const HEADERS = 5; // their cell in a row

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-browser", { "aria-label": "Kafka record browser" });
  const { root, signal, stats } = frame, sheet = popover(root);
  const ask = requests(model, { signal, onError: (text) => view.box.setProblem(text), onSilence: () => {} });
  const view = {
    ...frame,
    model,
    ask,
    shownRun: null, // the search that is shown
    shownValues: null, // whether its values are
    profile: null, // what is known of the values in the columns
    profiled: "", // of which search and columns
    placedRun: null, // the search in which the selected record was sought to its end
    result: () => model.get("_result") ?? {},
    chosen: () => ({ ...NOTHING, ...model.get("selected") }),
    isRunning: () => view.result().status === "running" && model.isLive,
  };
  const run = () => view.result().run;
  const addTerm = (term) => model.choose({ query: withTerm(model.get("query"), term) });
  const onCount = (column, from) =>
    countSheet({
      sheet,
      from,
      name: column,
      listed: view.result().count,
      ask: (again) => ask("count_by", { run: run(), column, again }),
      onFilter: addTerm,
      signal,
    });
  const onDiffer = async (from) => {
    const answer = await ask("differences", { run: run() });
    if (answer) differenceSheet({ sheet, from, answer, onFilter: addTerm });
  };
  view.watch = searchWatch({ isRunning: view.isRunning, ask: () => ask("progress", { run: run() }), signal, stats });
  view.head = recordHead({ model, sheet, ask, listed: () => view.result().count, signal });
  view.box = queryBox({
    signal,
    sheet,
    forms: () => model.get("_forms") ?? [],
    complete: (text, at) => ask("complete", { text, at }),
    onQuery: (query) => model.choose({ query }),
    onStop: () => ask("cancel", { run: run() }),
    onDown: () => view.list.el.focus(),
  });
  view.histogram = recordHistogram({
    root,
    signal,
    stats,
    onBrush: (brush) => model.choose({ brush }),
    onDiffer,
    onZoom: (range) => model.choose({ query: queryOfTime(model.get("query"), range), brush: [] }),
  });
  view.list = matchList({
    signal,
    absence: () => model.absence,
    acts: { onFilter: addTerm, onCount },
    fetch: (start, stop, isWhole = false) =>
      ask("rows", { run: run(), start, stop, ...(isWhole && { whole: true }) }).then((answer) => answer?.rows),
    onPick: ([partition, offset]) => select(view, partition, offset),
    onSort: (changes) => model.choose(changes),
    onWidths(widths) {
      model.set("column_widths", widths);
      model.save_changes();
    },
  });
  view.bar = recordBar({
    model,
    sheet,
    fields: () => ask("fields").then((answer) => answer?.paths),
    onChange: (changes) => model.choose(changes),
    onFollow: (isOn) => {
      if (isOn && model.get("order") !== "time") model.choose({ order: "time" });
      if (isOn) view.list.goToNewest();
    },
  });
  view.pane = recordPane({
    signal,
    isLive: () => model.isLive,
    onClose: () => deselect(view),
    onQuery: addTerm,
    onColumn: (path) => model.choose({ columns: [...model.get("columns").filter((name) => name !== path), path] }),
  });
  view.body = h(
    "div",
    { class: "klw-matches klw-fill" },
    h("div", { class: "klw-hits" }, view.list.el, view.list.tail),
    view.pane.el,
  );
  frame.fill(view.head.el, view.box.el, view.histogram.el, view.bar.el, view.body);
  onKeys(root, (event) => actOnKey(view, sheet, event));
  closeOutside(root, sheet);
  return followModel(view);
}

function followModel(view) {
  const { model, head, box, histogram, bar } = view;
  const showPlaces = () => head.showPlaces();
  const showWidths = () => view.list.setWidths(model.get("column_widths"));
  const showQuery = () => box.setQuery(model.get("query")), showBrush = () => histogram.setBrush(model.get("brush"));
  const end = view.follow({
    _result: () => showResult(view),
    _choices: showPlaces,
    topic: showPlaces,
    partition: showPlaces,
    query: showQuery,
    brush: showBrush,
    selected: () => showRecord(view),
    show_values: head.showValues,
    columns: () => showResult(view),
    column_widths: showWidths,
    order: bar.show,
    newest_first: bar.show,
    follow: bar.show,
    _live: bar.show,
    isolation_level: bar.show,
    _error: () => model.get("_error") && box.setProblem(model.get("_error")),
  }, histogram.repaint);
  showPlaces();
  showWidths();
  bar.show();
  showQuery();
  showBrush();
  head.showValues();
  showResult(view);
  return end;
}

// What is in the columns, once the search is over.
function showProfile(view) {
  const { model, ask } = view, names = model.get("columns"), now = view.result();
  const size = Math.round(PROFILED_AGAIN * Math.log2(1 + (now.count ?? 0))); // while it grows, not at each record
  const wanted = JSON.stringify([now.run, size, names, model.get("brush"), model.get("show_values")]);
  if (view.isRunning() || wanted === view.profiled || !now.count) return;
  view.profiled = wanted;
  ask("profile", { run: now.run }).then((answer) => {
    if (!answer || view.profiled !== wanted) return;
    view.profile = { of: answer.of, columns: answer.columns };
    view.bar.setSample(Object.keys(answer.columns).length && answer.of, now.count);
    showColumns(view);
  });
}

function showColumns({ model, list, profile, result }) {
  const isOfAll = !model.get("topic"), hasHeaders = (result().rows ?? []).some((row) => row?.[HEADERS][0]);
  const hasBrokers = model.get("_choices").has_brokers;
  list.setColumns(model.get("columns"), { isOfAll, hasBrokers, hasHeaders, profile, showsValues: showsValues(model) });
}

function select({ model, announce }, partition, offset) {
  announce(`Record ${offset} of ${partition}.`);
  model.set("selected", { ...NOTHING, partition, offset });
  model.save_changes();
}

function deselect({ model, list }) {
  model.set("selected", NOTHING);
  model.save_changes();
  list.el.focus();
}

function showResult(view) {
  const { model, box, histogram, list, stats } = view, now = view.result();
  const areOther = now.shows_values !== view.shownValues, isNew = now.run !== view.shownRun;
  box.setState(now, view.isRunning(), model.get("order"));
  histogram.setData(now);
  const order = model.get("order"), newestFirst = model.get("newest_first");
  showColumns(view);
  const wider = widerSearch(model.get("_choices") ?? {}, model.get("topic"), model.get("partition"));
  const offer = wider && [wider[0], () => model.choose(wider[1])];
  list.setResult(now, {
    isNew,
    areOther,
    isLacking: lacksValues(model, now),
    order,
    newestFirst,
    words: now.query ?? "",
    wider: offer,
  });
  stats.rows = now.count ?? 0;
  stats.status = now.status;
  stats.shown = performance.now();
  if (isNew && view.shownRun !== null) view.announce("");
  if (now.status !== "running" && now.count !== undefined) view.announce(foundText(now));
  view.shownRun = now.run;
  view.shownValues = now.shows_values;
  if (areOther) showRecord(view);
  showPlace(view, view.placedRun !== now.run);
  if (!view.isRunning()) view.placedRun = now.run;
  showProfile(view);
  view.watch();
}

// Mark the selected record in the list, and find its row.
function showPlace({ model, ask, chosen, isRunning, list }, reveal) {
  const { partition, offset } = chosen();
  list.mark(partition, offset);
  if (partition === null || offset === null || isRunning() || !model.isLive) return;
  ask("place", { partition, offset }).then((answer) => {
    if (answer && chosen().offset === offset) list.select(answer.row, reveal);
  });
}

function showRecord({ ask, chosen, body, list, pane }) {
  const { partition, offset } = chosen();
  body.dataset.open = String(offset !== null);
  if (offset === null || partition === null) return pane.show(null);
  list.mark(partition, offset);
  ask("record", { partition, offset }).then((answer) => {
    if (!answer || chosen().offset !== offset || chosen().partition !== partition) return;
    pane.show(answer.record ? { ...answer.record, buffers: answer.buffers } : null, { partition, offset });
  });
}

function actOnKey(view, sheet, event) {
  const { model, root, box, head } = view, isTyping = ["INPUT", "SELECT"].includes(event.target.tagName);
  if (event.key === "Escape" && sheet.isOpen) sheet.close();
  else if (event.key === "Escape" && isTyping) root.focus();
  else if (event.key === "Escape" && view.chosen().offset !== null) deselect(view);
  else if (event.key === "Escape" && model.get("brush")?.length) model.choose({ brush: [] });
  else if (isTyping || isModified(event)) return false;
  else if (event.key === "/") box.focus();
  else if (event.key === "?") box.help();
  else if (event.key === "v") head.toggleValues();
  else if (event.key === "f") view.bar.follow.toggle();
  else return false;
}

function foundText({ count: listed, records_read: looked }) {
  return `${plural(listed, "record")} of ${count(looked)} found.`;
}

export default { render: withKernel(render) };
