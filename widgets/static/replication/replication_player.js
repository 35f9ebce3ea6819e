// ReplicationPlayer: brokers that replicate, event by event, with the table of LEO and HW that grows.
import { choice, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { painter } from "../shared/host.js";
import { withKernel } from "../shared/kernel.js";
import { playerFrame } from "../players/player_frame.js";
import { ReplicationData } from "./replication_data.js";
import { paintReplication } from "./replication_stage.js";
import { PALETTE } from "../shared/theme.js";

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new ReplicationData(sent), makeViews: replicationViews });
}

function replicationViews({ root, pick, signal, stats, model, data, at, steps }) {
  root.classList.add("klw-replication");
  const box = h("div", { class: "klw-replicas", role: "img" });
  const legend = h("div", { class: "klw-legend" });
  const broken = h("div", { class: "klw-broken", role: "status" });
  const rules = ruleChoice({ model, signal }), offsets = offsetTable({ data, pick });
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

// The versions whose rules can be played. Pressed is what is played: without a kernel nobody plays other rules.
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
function offsetTable({ data, pick }) {
  const table = h("table", {}), head = h("span", { class: "klw-maphead" });
  const scroll = h(
    "div",
    { class: "klw-growing", tabindex: 0, role: "region", "aria-label": "Table of offsets" },
    table,
  );
  const title = h("div", { class: "klw-maptitle" }, h("strong", {}, "LEO, HW and remote LEO"), head);
  let grown = -1;
  function row(i) {
    const before = data().cells(i - 1);
    const cells = data().cells(i).map((text, k) => h("td", { "data-changed": String(text !== before[k]) }, text));
    const kind = h("th", { scope: "row", title: data().reason(i) }, h("small", {}, String(i + 1)), data().kind(i));
    return h("tr", { "data-step": i, onclick: () => pick(i) }, kind, ...cells);
  }
  return {
    el: h("div", { class: "klw-mapbox" }, title, scroll),
    setData(next) {
      grown = -1;
      const names = next.columns().map((name) => h("th", { scope: "col", title: TITLES[name.split(" ")[0]] }, name));
      table.replaceChildren(
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "After"), ...names)),
        h("tbody", {}),
      );
    },
    show(i) {
      const body = table.tBodies[0];
      if (!body) return;
      while (body.rows.length > i + 1) body.deleteRow(-1);
      while (body.rows.length < i + 1) body.append(row(body.rows.length));
      for (const each of body.rows) each.setAttribute("aria-current", String(Number(each.dataset.step) === i));
      if (grown !== i) scroll.scrollTop = scroll.scrollHeight;
      grown = i;
      head.textContent = plural(i + 1, "step");
    },
  };
}

function replicationLegend({ epochs }) {
  return [
    ...epochs.slice(0, PALETTE.length).map((epoch, k) =>
      h("span", {}, h("i", { style: `--swatch:${PALETTE[k]}` }), `epoch ${epoch}`)
    ),
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
