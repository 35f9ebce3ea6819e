// ReplicationPlayer: brokers that replicate, event by event, with the table of LEO and HW that grows.
import { choice, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { painter } from "../shared/host.js";
import { withKernel } from "../shared/kernel.js";
import { playerFrame } from "../players/player_frame.js";
import { dataGrid } from "../shared/rows.js";
import { ReplicationData } from "./replication_data.js";
import { paintReplication } from "./replication_stage.js";
import { epochNames } from "./replica_chart.js";

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new ReplicationData(sent), makeViews: replicationViews });
}

function replicationViews({ root, pick, signal, stats, model, data, at, steps }) {
  root.classList.add("klw-replication");
  const box = h("div", { class: "klw-replicas", role: "img" });
  const legend = h("div", { class: "klw-legend" });
  const broken = h("div", { class: "klw-broken", role: "status" });
  const rules = ruleChoice({ model, signal }), offsets = offsetTable({ data, pick, signal });
  const ask = painter(box, () => {
    if (data().brokers.length) paintReplication(box, data(), at());
    Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: at() });
  }, signal);
  return {
    top: [rules.el],
    above: [rules.story],
    panel: [box, broken, legend],
    beside: [offsets.el, steps],
    setData(next) {
      offsets.setData(next);
      legend.replaceChildren(...replicationLegend(next));
    },
    show(i) {
      ask();
      offsets.show(i);
      const lines = brokenLines(data(), i);
      broken.hidden = !lines.length;
      broken.replaceChildren(...lines);
    },
    repaint: ask,
  };
}

// The versions whose rules can be played. Pressed is what is played: without a kernel, other rules cannot be.
function ruleChoice({ model, signal }) {
  const versions = model.get("_versions"), story = h("p", { class: "klw-story" });
  const pressed = choice("Rules of version", versions.map((each) => [each, each]), model.get("_shown"), (value) => {
    pressed.show(model.get("_shown"));
    model.choose({ rules: value });
  });
  for (const each of pressed.el.children) each.dataset.live = "disable";
  const el = h("div", { class: "klw-era", hidden: versions.length < 2 }, "Rules of ", pressed.el);
  function show() {
    pressed.show(model.get("_shown"));
    story.textContent = model.get("_long");
    story.hidden = !model.get("_long");
  }
  for (const name of ["_shown", "_long"]) model.on(`change:${name}`, show);
  signal.addEventListener("abort", () => {
    for (const name of ["_shown", "_long"]) model.off(`change:${name}`, show);
  });
  show();
  return { el, story };
}

// A table that grows: one row per step up to the one shown; what a step changed is marked.
function offsetTable({ data, pick, signal }) {
  const head = h("span", { class: "klw-maphead" });
  const grid = dataGrid({
    label: "Offsets after each step",
    signal,
    columns: [],
    cellsOf(i) {
      const before = data().cells(i - 1);
      return [
        count(i + 1),
        { text: data().kind(i), title: data().reason(i) },
        ...data().cells(i).map((text, k) => ({ text, kind: text !== before[k] ? "changed" : "" })),
      ];
    },
    onPick: pick,
  });
  const title = h("div", { class: "klw-maptitle" }, h("strong", {}, "LEO, HW and remote LEO"), head);
  return {
    el: h("div", { class: "klw-mapbox" }, title, grid.el),
    setData: (next) => grid.setColumns(offsetColumns(next)),
    show(i) {
      grid.setCount(i + 1, { keep: true });
      grid.select(i);
      head.textContent = plural(i + 1, "step");
    },
  };
}

function offsetColumns(data) {
  const remote = `minmax(${REMOTE_PX * Math.max(1, data.brokers.length - 1)}px, 1fr)`;
  return [
    { name: "Step", width: "42px", number: true },
    { name: "After", width: "minmax(84px, 2fr)" },
    ...data.columns().map((name) => {
      const [what] = name.split(" "), isRemote = what === "remote";
      return { name, title: TITLES[what], number: !isRemote, width: isRemote ? remote : "minmax(46px, .6fr)" };
    }),
  ];
}

function replicationLegend(data) {
  return [
    ...epochNames(data).map(([name, color]) => h("span", {}, h("i", { style: `--swatch:${color}` }), name)),
    ...MARKS.map(([mark, text]) => h("span", {}, h("i", { "data-mark": mark }), text)),
  ];
}

// What does not hold after a step, marked where it is broken for the first time.
function brokenLines(data, i) {
  const isNew = new Set(data.newlyBroken(i).map(([kind]) => kind));
  return (i < 0 ? [] : data.state(i).broken).map(([kind, text]) =>
    h("div", { "data-new": String(isNew.has(kind)) }, h("strong", {}, kind), text)
  );
}

const REMOTE_PX = 44; // of the end of one follower
const TITLES = {
  LEO: "Log end offset: the offset of the next record",
  HW: "High watermark: consumers read the records before it",
  remote: "Log end offsets of the followers, as the leader knows them from their last fetches",
};
const MARKS = [
  ["leo", "log end offset (LEO)"],
  ["hw", "high watermark (HW)"],
  ["remote", "remote LEO"],
  ["travels", "answer on its way"],
  ["waits", "waits in purgatory"],
  ["differs", "differs from the leader"],
];

export default { render: withKernel(render, { isWhole: true }) };
