// TransactionLanes: the transactions of a partition, how they ended, and what is open.
import { button, h } from "./dom.js";
import { count, plural } from "./format.js";
import { withKernel } from "./kernel.js";
import { laneChart } from "./lane_chart.js";
import { dataGrid } from "./rows.js";
import { tabStrip } from "./tabs.js";
import { followTheme } from "./theme.js";
import { OUTCOMES, TransactionLane } from "./transaction_data.js";
import { transactionPicture } from "./transaction_tracks.js";

const NOTHING = { partition: null, segment: null, position: null, offset: null };

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-cleaner klw-coordinators", tabindex: -1 });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" }),
    announce = (text) => {
      live.textContent = text;
    };
  const title = h("select", { class: "klw-input klw-groups", "aria-label": "Partition" });
  title.addEventListener("change", () => {
    if (!model.choose({ partition: title.value })) title.value = shown().partition;
  });
  const about = h("span", { class: "klw-sum" }), conclusion = h("p", { class: "klw-conclusion" });
  const errorBar = h("div", { class: "klw-error", role: "alert", hidden: true });
  let lanes = [], order = [], lastShown = null;
  const directory = () => model.get("_directory"), shown = () => model.get("_shown");

  const chart = laneChart({
    root,
    announce,
    signal,
    stats,
    picture: transactionPicture,
    fitText: "Show all offsets",
    onPick(lane, item) {
      if (item >= 0) go(lanes[lane].exact("first", item));
      showFacts();
    },
    onView(view) {
      model.set("window", view);
      model.save_changes();
    },
  });
  const note = h("span", { class: "klw-about" }),
    legend = h("div", { class: "klw-legend" }),
    facts = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" });

  const bars = dataGrid({
    label: "Transactions",
    signal,
    rowHeight: 24,
    emptyText: "No transactions.",
    columns: [
      { name: "Producer", width: "minmax(110px, 1.3fr)" },
      { name: "Outcome", width: "minmax(78px, .7fr)" },
      { name: "First offset", width: "minmax(80px, .8fr)", number: true },
      { name: "Last offset", width: "minmax(80px, .8fr)", number: true },
      { name: "Marker", width: "minmax(72px, .8fr)", number: true },
      { name: "Records", width: "minmax(64px, .6fr)", number: true },
      { name: "Epoch", width: "minmax(56px, .5fr)", number: true },
    ],
    cellsOf(row) {
      const [lane, i] = order[row],
        of = (field) => lanes[lane].exact(field, i),
        outcome = lanes[lane].outcome[i],
        hasBatches = of("batches") > 0n;
      return [
        lanes[lane].name,
        { text: OUTCOMES[outcome], kind: outcome ? "bad" : "" },
        hasBatches ? count(of("first")) : "–",
        hasBatches ? count(of("last")) : "–",
        of("marker") < 0n ? "–" : count(of("marker")),
        count(of("records")),
        { text: of("epoch") < 0n ? "–" : String(of("epoch")), kind: "quiet" },
      ];
    },
    onPick(row) {
      const [lane, i] = order[row];
      announce(lanes[lane].sentence(i));
      chart.setPicked(lane, i);
      go(lanes[lane].exact("first", i));
      showFacts();
    },
  });
  const open = dataGrid({
    label: "Open",
    signal,
    rowHeight: 26,
    emptyText: "No transaction is open.",
    columns: [
      { name: "Partition", width: "minmax(90px, .8fr)" },
      { name: "Producer", width: "minmax(96px, .9fr)" },
      { name: "State", width: "minmax(72px, .6fr)" },
      { name: "First offset", width: "minmax(76px, .6fr)", number: true },
      { name: "Since (UTC)", width: "minmax(146px, .9fr)" },
      { name: "Blocks", width: "64px", number: true },
      { name: "Verdict", width: "70px" },
      { name: "Why", width: "minmax(140px, 2fr)" },
    ],
    cellsOf(i) {
      const { cells, verdict } = directory().open[i];
      return cells.map((
        text,
        k,
      ) => (k === 6 ? { text, kind: verdict === "hangs" ? "bad" : "" } : k === 7 ? { text, title: text } : text));
    },
    rowKind: (i) => (directory().open[i].verdict === "hangs" ? "bad" : ""),
    onPick(i) {
      const { partition, offset, cells } = directory().open[i];
      announce(`${cells[1]} in ${cells[0]}: ${cells[6]}. ${cells[7]}.`);
      if (partition === null) return;
      if (partition === shown().partition) go(offset);
      else model.choose({ selected: { ...NOTHING, partition, offset } });
    },
  });
  const partitions = dataGrid({
    label: "Partitions",
    signal,
    rowHeight: 26,
    emptyText: "No partition has transactions.",
    columns: [
      { name: "Partition", width: "minmax(130px, 1.5fr)" },
      { name: "Transactions", width: "minmax(92px, 1fr)", number: true },
      { name: "Aborted", width: "minmax(72px, .8fr)", number: true },
      { name: "Open", width: "minmax(56px, .6fr)", number: true },
      { name: "Last stable offset", width: "minmax(116px, 1fr)", number: true },
      { name: "Blocked offsets", width: "minmax(106px, 1fr)", number: true },
    ],
    cellsOf: (i) => directory().partitions[i].cells,
    rowKind: (i) => (directory().partitions[i].blocked ? "bad" : ""),
    onPick(i) {
      if (!model.choose({ partition: directory().partitions[i].name })) showPartitionRow();
    },
  });
  const tabs = tabStrip({
    bars: ["Transactions", bars.el],
    open: ["Open", open.el],
    partitions: ["Partitions", partitions.el],
  });
  root.append(
    h("header", { class: "klw-top" }, title, about),
    errorBar,
    h("section", { class: "klw-panel klw-regionbox" }, conclusion),
    h(
      "section",
      { class: "klw-panel" },
      h("div", { class: "klw-phead" }, h("h3", {}, "By offset"), note, chart.tools),
      chart.el,
      legend,
    ),
    h("div", { class: "klw-below klw-rules" }, facts, h("div", { class: "klw-steps" }, tabs.el)),
    live,
  );
  el.append(root);

  function go(offset) {
    model.set("selected", { ...NOTHING, partition: shown().partition, offset: String(offset) });
    model.save_changes();
  }
  function showDirectory() {
    const sent = directory();
    title.replaceChildren(...sent.partitions.map(({ name }) => h("option", { value: name }, name)));
    conclusion.textContent = `${sent.conclusion}.`;
    title.value = shown().partition;
    open.setCount(sent.open.length, { keep: true });
    partitions.setCount(sent.partitions.length, { keep: true });
    showPartitionRow();
    tabs.setCount("open", count(sent.open.length));
    tabs.setCount("partitions", count(sent.partitions.length));
  }
  function showPartition() {
    const {
      partition,
      lanes: sent = [],
      log_start: start = "0",
      log_end: end = "1",
      stable = "0",
      bars_left_out: barsOut,
      lanes_left_out: lanesOut,
    } = shown();
    lanes = sent.map((each) => new TransactionLane(each, end));
    order = lanes.flatMap((lane, i) => Array.from({ length: lane.length }, (_, k) => [i, k])).sort((a, b) =>
      lanes[b[0]].first[b[1]] - lanes[a[0]].first[a[1]]
    );
    const isOther = partition !== lastShown;
    lastShown = partition;
    title.value = partition;
    const blocked = BigInt(end) - BigInt(stable);
    about.textContent = `${plural(order.length, "transaction")} of ${plural(lanes.length, "producer")} · offsets ${
      count(start)
    } to ${count(end)}`;
    note.textContent = [
      lanesOut && `${plural(lanesOut, "producer")} without a lane.`,
      barsOut && `${plural(barsOut, "earlier transaction")} omitted.`,
    ].filter(Boolean).join(" ");
    root.setAttribute(
      "aria-label",
      `Transactions of ${partition}: last stable offset ${count(stable)}, ${
        plural(blocked, "offset")
      } blocked. ${directory().conclusion}.`,
    );
    chart.setMarks(
      partition
        ? [{
          at: Number(stable),
          end: Number(end),
          title: `last stable offset ${count(stable)}${blocked > 0n ? ` · ${count(blocked)} blocked` : ""}`,
        }]
        : [],
    );
    chart.setLanes(lanes, {
      span: [
        Number(start),
        Math.max(Number(start) + 1, Number(end)) + Math.max(0.5, (Number(end) - Number(start)) * 0.012),
      ],
      isOther,
    });
    const has = (outcome) => lanes.some((lane) => lane.outcome.includes(outcome));
    legend.replaceChildren(
      ...[
        ["committed", "bar-0", has(0)],
        ["aborted", "bar-1", has(1)],
        ["open", "bar-2", has(2)],
        ["transaction marker", "marker", has(0) || has(1)],
        ["last stable offset", "stable", true],
        ["not readable for read_committed consumers", "blocked", blocked > 0n],
      ]
        .filter(([, , isPresent]) => isPresent).map(([text, mark]) =>
          h("span", {}, h("i", { "data-mark": mark }), text)
        ),
    );
    bars.setCount(order.length, { keep: !isOther });
    tabs.setCount("bars", count(order.length));
    showPartitionRow();
    showSelected(isOther);
  }
  function showPartitionRow() {
    partitions.select(directory().partitions.findIndex(({ name }) => name === shown().partition), false);
  }
  // Find the transaction that the explorer's selection is in.
  function showSelected(reveal = true) {
    const { partition, offset } = { ...NOTHING, ...model.get("selected") };
    if (partition === shown().partition && offset !== null) {
      const at = Number(offset),
        { lane: lane0, item: item0 } = chart.picked,
        isSame = lane0 >= 0 && item0 >= 0 && lanes[lane0]?.at(at) === item0;
      const covering = lanes.map((each, i) => [i, each.at(at)]).filter(([, item]) => item >= 0);
      const [lane, item] = isSame
        ? [lane0, item0]
        : covering.find(([i, item]) => lanes[i].first[item] === at) ?? covering[0] ?? [-1, -1];
      chart.setPicked(lane, item);
    } else chart.setPicked(-1, -1);
    showFacts(reveal);
  }
  function showFacts(reveal = true) {
    const { lane: number, item } = chart.picked, lane = lanes[number];
    bars.select(lane && item >= 0 ? order.findIndex(([a, b]) => a === number && b === item) : -1, reveal);
    if (!lane || item < 0) {
      return facts.replaceChildren(
        h("p", { class: "klw-meaning" }, "Click a bar or a row for details. Drag across the lanes to zoom."),
      );
    }
    const isOpen = lane.outcome[item] === 2,
      waiting = directory().open.find((each) =>
        each.partition === shown().partition && each.producer === lane.producer
      );
    facts.replaceChildren(
      h("h4", {}, h("i", { "data-mark": `bar-${lane.outcome[item]}` }), lane.name),
      isOpen && waiting ? h("p", { class: "klw-meaning" }, `${waiting.cells[6]}: ${waiting.cells[7]}.`) : "",
      h("dl", {}, ...lane.facts(item).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])),
      h(
        "div",
        { class: "klw-goes" },
        button("Select the first record of this transaction", {
          text: "First record",
          kind: "klw-framed",
          onclick: () => go(lane.exact("first", item)),
        }),
        isOpen ? "" : button("Select the marker of this transaction", {
          text: "Marker",
          kind: "klw-framed",
          onclick: () => go(lane.exact("marker", item)),
        }),
      ),
    );
    facts.scrollTop = 0;
  }
  function showError() {
    errorBar.textContent = model.get("_error") ?? "";
    errorBar.hidden = !errorBar.textContent;
  }

  const followed = {
    _directory: showDirectory,
    _shown: showPartition,
    selected: showSelected,
    window: () => chart.setView(model.get("window")),
    _error: showError,
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, chart.repaint, signal);
  showDirectory();
  showPartition();
  chart.setView(model.get("window"));
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

export default { render: withKernel(render) };
