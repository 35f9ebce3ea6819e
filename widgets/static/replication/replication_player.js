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
  const long = h("p", { class: "klw-story" });
  const rules = h("div", { class: "klw-era" });
  const box = h("div", { class: "klw-replicas", role: "img" });
  const legend = h("div", { class: "klw-legend" });
  const broken = h("div", { class: "klw-broken", role: "status" });
  const table = h("table", {}),
    scroll = h("div", { class: "klw-growing", tabindex: 0, role: "region", "aria-label": "Table of offsets" }, table);
  const tableHead = h("span", { class: "klw-maphead" });
  const growing = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "LEO, HW and remote LEO"), tableHead),
    scroll,
  );
  const ask = painter(box, () => {
    if (data().brokers.length) paintReplication(box, data(), at());
    Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: at() });
  }, signal);
  let grown = -1;

  // Pressed is what is played: without a kernel nobody plays other rules.
  const pressed = choice(
    "Rules of version",
    model.get("_versions").map((each) => [each, each]),
    model.get("_shown"),
    (value) => {
      pressed.show(model.get("_shown"));
      model.choose({ rules: value });
    },
  );
  rules.append("Rules of ", pressed.el);
  rules.hidden = model.get("_versions").length < 2;
  function showRules() {
    pressed.show(model.get("_shown"));
    long.textContent = model.get("_long");
    long.hidden = !model.get("_long");
  }
  for (const name of ["_shown", "_long"]) model.on(`change:${name}`, showRules);
  signal.addEventListener("abort", () => {
    for (const name of ["_shown", "_long"]) model.off(`change:${name}`, showRules);
  });
  showRules();

  // One row per step up to the one shown; what a step changed is marked.
  function row(i) {
    const before = data().cells(i - 1);
    const cells = data().cells(i).map((text, k) => h("td", { "data-changed": String(text !== before[k]) }, text));
    return h(
      "tr",
      { "data-step": i, onclick: () => pick(i) },
      h("th", { scope: "row", title: data().reason(i) }, h("small", {}, String(i + 1)), data().kind(i)),
      ...cells,
    );
  }
  function grow(i) {
    const body = table.tBodies[0];
    if (!body) return;
    while (body.rows.length > i + 1) body.deleteRow(-1);
    while (body.rows.length < i + 1) body.append(row(body.rows.length));
    for (const each of body.rows) each.setAttribute("aria-current", String(Number(each.dataset.step) === i));
    if (grown !== i) scroll.scrollTop = scroll.scrollHeight;
    grown = i;
    tableHead.textContent = plural(i + 1, "step");
  }

  return {
    top: [rules],
    above: [long],
    panel: [box, broken, legend],
    beside: [growing, steps],
    setData(next) {
      grown = -1;
      table.replaceChildren(
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "After"),
            ...next.columns().map((name) => h("th", { scope: "col", title: TITLES[name.split(" ")[0]] }, name)),
          ),
        ),
        h("tbody", {}),
      );
      legend.replaceChildren(
        ...next.epochs.slice(0, PALETTE.length).map((epoch, k) =>
          h("span", {}, h("i", { style: `--swatch:${PALETTE[k]}` }), `epoch ${epoch}`)
        ),
        ...MARKS.map(([mark, text]) => h("span", {}, h("i", { "data-mark": mark }), text)),
      );
    },
    show(i) {
      ask();
      grow(i);
      const now = i < 0 ? [] : data().state(i).broken, isNew = new Set(data().newlyBroken(i).map(([kind]) => kind));
      broken.hidden = now.length === 0;
      broken.replaceChildren(
        ...now.map(([kind, text]) => h("div", { "data-new": String(isNew.has(kind)) }, h("strong", {}, kind), text)),
      );
    },
    repaint: ask,
  };
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
