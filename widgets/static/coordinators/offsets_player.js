// OffsetsPlayer: how a coordinator commits, loads and expires offsets, one step after the other.
import { h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { recordBox, recordLegend, recordsInView } from "./offset_records.js";
import { OffsetsData } from "./offsets_data.js";
import { playerFrame } from "../players/player_frame.js";
import { dataGrid } from "../shared/rows.js";

// Where a step takes place: name, text, and the roles of the steps there.
const STAGES = [
  ["request", "Request", ["validated", "invalid", "expired", "kept"]],
  ["log", "Log", ["written", "loading", "marker", "ignored", "unloaded"]],
  ["memory", "Memory", ["cached", "pending", "settled", "dropped", "tombstone", "group", "loaded"]],
];
const STATES = { cached: "in memory", pending: "waits for its transaction", expired: "has expired" };
const PADDING = 28, USUAL_WIDTH = 900;

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new OffsetsData(sent), makeViews: offsetViews });
}

function offsetViews({ root, pick, signal, stats, data, at, steps }) {
  root.classList.add("klw-offsets");
  const view = {
    data,
    shown: null, // the state after the step
    title: h("h3", {}),
    about: h("span", { class: "klw-about" }),
    stages: h(
      "ol",
      { class: "klw-stages", "aria-label": "Where the step takes place" },
      ...STAGES.map(([name, text]) => h("li", { "data-name": name }, text)),
    ),
    strip: h("div", { class: "klw-records", role: "group", "aria-label": "Records of the log" }),
    legend: h("div", { class: "klw-legend" }),
    memoryHead: h("span", { class: "klw-maphead" }),
    go(record) {
      const i = data().stepOf(view.shown.log, record, 0);
      if (i >= 0) pick(i);
    },
  };
  const grid = view.grid = memoryGrid({ signal, entries: () => view.shown.entries, onPick: view.go });
  const memory = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "Offsets in memory"), view.memoryHead),
    grid.el,
  );
  const resized = new ResizeObserver(() => view.shown && showRecords(view, at()));
  resized.observe(view.strip);
  signal.addEventListener("abort", () => resized.disconnect());
  return {
    panel: [h("div", { class: "klw-phead" }, view.title, view.about, view.stages), view.strip, view.legend],
    beside: [memory, steps],
    setData() {
      view.shown = null;
    },
    show(i) {
      showState(view, i);
      const { entries, log } = view.shown;
      Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: i, entries: entries.length, log });
    },
    repaint() {},
  };
}

// `entries()` returns the offsets in memory; `onPick` gets the offset of an entry's record.
function memoryGrid({ signal, entries, onPick }) {
  return dataGrid({
    label: "Offsets in memory",
    signal,
    emptyText: "No offset is in memory.",
    columns: [
      { name: "Group", width: "minmax(70px, 1fr)" },
      { name: "Partition", width: "minmax(70px, 1fr)" },
      { name: "Offset", width: "76px", number: true },
      { name: "Record", width: "64px", number: true },
    ],
    cellsOf: (i) => memoryCells(entries()[i]),
    rowKind(i) {
      const { state } = entries()[i];
      return `${state === "pending" ? "later" : ""} ${state === "expired" ? "bad" : ""}`;
    },
    onPick: (i) => onPick(entries()[i].record),
  });
}

function memoryCells({ group, where, offset, record, state }) {
  const mark = { cached: "", pending: " ◌" }[state] ?? " †";
  return [
    { text: group, title: group },
    { text: where, title: where },
    count(offset),
    { text: `${count(record)}${mark}`, kind: state === "cached" ? "quiet" : "bad", title: STATES[state] },
  ];
}

function showState(view, i) {
  const { data, title, stages, grid, memoryHead } = view, { entries, log } = view.shown = data().stateAt(i);
  const effect = i < 0 ? null : data().effect(i);
  title.textContent = log || "No log";
  STAGES.forEach(([, , roles], k) => {
    stages.children[k].setAttribute("aria-current", String(effect !== null && roles.includes(effect.role)));
  });
  showRecords(view, i);
  grid.setCount(entries.length, { keep: true });
  grid.select(
    effect?.where ? entries.findIndex((each) => each.group === effect.group && each.where === effect.where) : -1,
  );
  memoryHead.textContent = plural(entries.length, "offset");
}

function showRecords({ data, shown: { records }, strip, legend, about, go }, i) {
  const touched = i < 0 ? new Set() : data().touched(i), width = (strip.clientWidth || USUAL_WIDTH) - PADDING;
  const [first, stop] = recordsInView(records, touched, width), isPart = stop - first < records.length;
  strip.replaceChildren(...records.slice(first, stop).map((each) => recordBox(each, touched.has(each[0]), go)));
  if (!records.length) strip.append(h("span", { class: "klw-norecords" }, "The log has no records yet."));
  legend.replaceChildren(...recordLegend(records));
  about.textContent = records.length
    ? `${plural(records.length, "record")}${isPart ? `, ${count(stop - first)} shown` : ""}`
    : "";
  about.title = about.textContent;
}

export default { render: withKernel(render, { isWhole: true }) };
