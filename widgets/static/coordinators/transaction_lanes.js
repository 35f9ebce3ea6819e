// TransactionLanes: the transactions of a partition, how they ended, and what is open.
import { laneChart } from "../charts/lane_chart.js";
import { button, h, pairList } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { count, plural } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { closeOutside, codeButton, popover } from "../shared/popover.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { tabStrip } from "../shared/tabs.js";
import { newestFirst, offsetSpan, transactionAt, TransactionLane } from "./transaction_data.js";
import { openTable, partitionTable, transactionTable } from "./transaction_tables.js";
import { transactionPicture } from "./transaction_tracks.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-cleaner klw-coordinators"), { signal } = frame;
  const view = {
    model,
    root: frame.root,
    announce: frame.announce,
    lanes: [],
    order: [], // lane and number of each transaction, the newest first
    lastShown: null, // the partition of these lanes
    title: h("select", { class: "klw-input klw-groups", "aria-label": "Partition", "data-live": "disable" }),
    about: h("span", { class: "klw-sum" }),
    conclusion: h("p", { class: "klw-conclusion" }),
    note: h("span", { class: "klw-about" }),
    legend: h("div", { class: "klw-legend" }),
    facts: h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" }),
    directory: () => model.get("_directory"),
    shown: () => model.get("_shown"),
    go(offset) {
      model.set("selected", { ...NOTHING, partition: view.shown().partition, offset: String(offset) });
      model.save_changes();
    },
  };
  view.title.addEventListener("change", () => {
    if (!model.choose({ partition: view.title.value })) view.title.value = view.shown().partition;
  });
  view.chart = transactionChart(view, frame);
  const error = errorLine(model), tables = transactionTables(view, signal);
  Object.assign(view, tables);
  view.tabs = tabStrip({
    bars: ["Transactions", view.bars.el],
    open: ["Open", view.open.el],
    partitions: ["Partitions", view.partitions.el],
  });
  const sheet = popover(frame.root), code = codeButton(sheet, "The transactions as Python", () => model.get("query"));
  onKeys(frame.root, (event) => event.key === "Escape" && sheet.isOpen && sheet.close());
  closeOutside(frame.root, sheet);
  const body = [
    h("section", { class: "klw-panel klw-regionbox" }, view.conclusion),
    h(
      "section",
      { class: "klw-panel" },
      h("div", { class: "klw-phead" }, h("h3", {}, "By offset"), view.note, view.chart.tools),
      view.chart.el,
      view.legend,
    ),
    h("div", { class: "klw-below klw-rules klw-fill" }, view.facts, h("div", { class: "klw-steps" }, view.tabs.el)),
  ];
  view.instead = stateInstead(body);
  frame.fill(
    h("header", { class: "klw-top" }, view.title, view.about, code),
    error.el,
    view.instead.el,
    ...body,
  );
  const end = frame.follow({
    _directory: () => showDirectory(view),
    _shown: () => showPartition(view),
    selected: () => showSelected(view),
    window: () => view.chart.setView(model.get("window")),
    _error: error.show,
  }, view.chart.repaint);
  showDirectory(view);
  showPartition(view);
  view.chart.setView(model.get("window"));
  return end;
}

function transactionChart(view, { root, announce, signal, stats }) {
  return laneChart({
    root,
    announce,
    signal,
    stats,
    picture: transactionPicture,
    fitText: "Show all offsets",
    onPick(lane, item) {
      if (item >= 0) view.go(view.lanes[lane].exact("first", item));
      showFacts(view);
    },
    onView(window) {
      view.model.set("window", window);
      view.model.save_changes();
    },
  });
}

function transactionTables(view, signal) {
  const { model, announce } = view;
  return {
    bars: transactionTable({
      signal,
      rowOf(row) {
        const [lane, i] = view.order[row];
        return [view.lanes[lane], i];
      },
      onPick(row) {
        const [lane, i] = view.order[row];
        announce(view.lanes[lane].sentence(i));
        view.chart.setPicked(lane, i);
        view.go(view.lanes[lane].exact("first", i));
        showFacts(view);
      },
    }),
    open: openTable({
      signal,
      entries: () => view.directory().open,
      onPick({ partition, offset, cells }) {
        announce(`${cells[1]} in ${cells[0]}: ${cells[6]}. ${cells[7]}.`);
        if (partition === null) return;
        if (partition === view.shown().partition) view.go(offset);
        else model.choose({ selected: { ...NOTHING, partition, offset } });
      },
    }),
    partitions: partitionTable({
      signal,
      entries: () => view.directory().partitions,
      onPick({ name }) {
        if (!model.choose({ partition: name })) showPartitionRow(view);
      },
    }),
  };
}

function showDirectory(view) {
  const { directory, shown, title, conclusion, open, partitions, tabs } = view, sent = directory();
  title.replaceChildren(...sent.partitions.map(({ name }) => h("option", { value: name }, name)));
  title.value = shown().partition;
  title.hidden = !sent.partitions.length;
  view.instead.set(sent.partitions.length ? null : stateNote("empty", `${sent.conclusion}.`));
  conclusion.textContent = `${sent.conclusion}.`;
  open.setCount(sent.open.length, { keep: true });
  partitions.setCount(sent.partitions.length, { keep: true });
  showPartitionRow(view);
  tabs.setCount("open", count(sent.open.length));
  tabs.setCount("partitions", count(sent.partitions.length));
}

function showPartition(view) {
  const sent = view.shown(), { partition, log_start: start = "0", log_end: end = "1", stable = "0" } = sent;
  const blocked = BigInt(end) - BigInt(stable), { chart, bars } = view, isOther = partition !== view.lastShown;
  view.lastShown = partition;
  const lanes = view.lanes = (sent.lanes ?? []).map((each) => new TransactionLane(each, end));
  const order = view.order = newestFirst(lanes);
  view.title.value = partition;
  view.about.textContent = partition
    ? `${plural(order.length, "transaction")} of ${plural(lanes.length, "producer")} · offsets ${count(start)} to ${
      count(end)
    }`
    : "";
  view.note.textContent = omittedText(sent);
  view.root.setAttribute(
    "aria-label",
    `Transactions of ${partition}: last stable offset ${count(stable)}, ${
      plural(blocked, "offset")
    } blocked. ${view.directory().conclusion}.`,
  );
  chart.setMarks(partition ? [stableMark(stable, end, blocked)] : []);
  chart.setLanes(lanes, { span: offsetSpan(Number(start), Number(end)), isOther });
  view.legend.replaceChildren(...transactionLegend(lanes, blocked > 0n));
  bars.setCount(order.length, { keep: !isOther });
  view.tabs.setCount("bars", count(order.length));
  showPartitionRow(view);
  showSelected(view, isOther);
}

function stableMark(stable, end, blocked) {
  return {
    at: Number(stable),
    end: Number(end),
    title: `last stable offset ${count(stable)}${blocked > 0n ? ` · ${count(blocked)} blocked` : ""}`,
  };
}

function omittedText({ lanes_left_out: lanes, bars_left_out: bars }) {
  return [
    lanes && `${plural(lanes, "producer")} without a lane.`,
    bars && `${plural(bars, "earlier transaction")} omitted.`,
  ].filter(Boolean).join(" ");
}

function transactionLegend(lanes, isBlocked) {
  const has = (outcome) => lanes.some((lane) => lane.outcome.includes(outcome));
  return [
    ["committed", "bar-0", has(0)],
    ["aborted", "bar-1", has(1)],
    ["open", "bar-2", has(2)],
    ["transaction marker", "marker", has(0) || has(1)],
    ["last stable offset", "stable", true],
    ["not readable for read_committed consumers", "blocked", isBlocked],
  ].filter(([, , isPresent]) => isPresent).map(([text, mark]) => h("span", {}, h("i", { "data-mark": mark }), text));
}

function showPartitionRow({ partitions, directory, shown }) {
  partitions.select(directory().partitions.findIndex(({ name }) => name === shown().partition), false);
}

// Find the transaction that the explorer's selection is in.
function showSelected(view, reveal = true) {
  const { partition, offset } = { ...NOTHING, ...view.model.get("selected") }, { chart, lanes } = view;
  const isHere = partition === view.shown().partition && offset !== null;
  chart.setPicked(...(isHere ? transactionAt(lanes, Number(offset), chart.picked) : [-1, -1]));
  showFacts(view, reveal);
}

function showFacts(view, reveal = true) {
  const { chart, lanes, order, bars, facts } = view, { lane: number, item } = chart.picked, lane = lanes[number];
  bars.select(lane && item >= 0 ? order.findIndex(([a, b]) => a === number && b === item) : -1, reveal);
  if (!lane || item < 0) {
    return facts.replaceChildren(
      h("p", { class: "klw-meaning" }, "Click a bar or a row for details. Drag across the lanes to zoom."),
    );
  }
  facts.replaceChildren(...transactionFacts(lane, item, view));
  facts.scrollTop = 0;
}

function transactionFacts(lane, item, { directory, shown, go }) {
  const isOpen = lane.outcome[item] === 2, { partition } = shown();
  const waiting = directory().open.find((each) => each.partition === partition && each.producer === lane.producer);
  const first = button("Select the first record of this transaction", {
    text: "First record",
    kind: "klw-framed",
    onclick: () => go(lane.exact("first", item)),
  });
  const marker = button("Select the marker of this transaction", {
    text: "Marker",
    kind: "klw-framed",
    onclick: () => go(lane.exact("marker", item)),
  });
  return [
    h("h4", {}, h("i", { "data-mark": `bar-${lane.outcome[item]}` }), lane.name),
    isOpen && waiting ? h("p", { class: "klw-meaning" }, `${waiting.cells[6]}: ${waiting.cells[7]}.`) : "",
    pairList(lane.facts(item)),
    h("div", { class: "klw-goes" }, first, isOpen ? "" : marker),
  ];
}

export default { render: withKernel(render) };
