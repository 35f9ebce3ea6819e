// OffsetsPlayer: how a coordinator commits, loads and expires offsets, one step after the other.
import { h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { OffsetsData } from "./offsets_data.js";
import { playerFrame } from "../players/player_frame.js";
import { dataGrid } from "../shared/rows.js";

// What a record of the log is by now: a word, and the glyph that tells it without color.
export const LOOKS = {
  unread: ["not read", ""],
  written: ["written, not in memory", ""],
  cached: ["offset in memory", "●"],
  pending: ["waits for its transaction", "◌"],
  superseded: ["replaced by a later record", ""],
  dropped: ["dropped: the transaction aborted", "×"],
  removed: ["removed by a tombstone", "×"],
  tombstone: ["tombstone", "†"],
  marker: ["transaction marker", "▮"],
  group: ["state of a group", "◆"],
  ignored: ["ignored", ""],
  invalid: ["not readable", "!"],
};
const STAGES = [["request", "Request", ["validated", "invalid", "expired", "kept"]], ["log", "Log", [
  "written",
  "loading",
  "marker",
  "ignored",
  "unloaded",
]], ["memory", "Memory", ["cached", "pending", "settled", "dropped", "tombstone", "group", "loaded"]]];
const CELL = 46, MOST_CELLS = 64;

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new OffsetsData(sent), makeViews: offsetViews });
}

function offsetViews({ root, pick, signal, stats, data, at, steps }) {
  root.classList.add("klw-offsets");
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  const stages = h(
    "ol",
    { class: "klw-stages", "aria-label": "Where the step takes place" },
    ...STAGES.map(([name, text]) => h("li", { "data-name": name }, text)),
  );
  const strip = h("div", { class: "klw-records", role: "group", "aria-label": "Records of the log" });
  const legend = h("div", { class: "klw-legend" });
  let entries = [], shown = null;
  const grid = dataGrid({
    label: "Offsets in memory",
    signal,
    emptyText: "No offset is in memory.",
    columns: [{ name: "Group", width: "minmax(70px, 1fr)" }, { name: "Partition", width: "minmax(70px, 1fr)" }, {
      name: "Offset",
      width: "76px",
      number: true,
    }, { name: "Record", width: "64px", number: true }],
    cellsOf: (i) => {
      const { group, where, offset, record, state } = entries[i];
      return [{ text: group, title: group }, { text: where, title: where }, count(offset), {
        text: state === "cached" ? count(record) : `${count(record)} ${state === "pending" ? "◌" : "†"}`,
        kind: state === "cached" ? "quiet" : "bad",
        title: STATES[state],
      }];
    },
    rowKind: (i) => `${entries[i].state === "pending" ? "later" : ""} ${entries[i].state === "expired" ? "bad" : ""}`,
    onPick: (i) => go(entries[i].record),
  });
  const memoryHead = h("span", { class: "klw-maphead" });
  const memory = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "Offsets in memory"), memoryHead),
    grid.el,
  );
  const go = (record) => {
    const i = data().stepOf(shown.log, record, 0);
    if (i >= 0) pick(i);
  };

  function showStrip(i) {
    const { records } = shown, touched = i < 0 ? new Set() : data().touched(i);
    const room = Math.max(4, Math.min(MOST_CELLS, Math.floor(((strip.clientWidth || 900) - 28) / CELL)));
    let current = records.findLastIndex(([offset]) => touched.has(offset));
    if (current < 0) current = records.findLastIndex(([, look]) => look !== "unread");
    const first = Math.max(0, Math.min(records.length - room, Math.max(0, current - Math.floor(room * 0.6)))),
      cells = records.slice(first, first + room);
    strip.replaceChildren(...cells.map(([offset, look]) => {
      const cell = h(
        "button",
        {
          type: "button",
          class: "klw-record",
          tabindex: -1,
          "data-record": look,
          "data-now": String(touched.has(offset)),
          title: `Offset ${count(offset)}: ${LOOKS[look][0]}`,
          onclick: () => go(offset),
        },
        h("b", {}, LOOKS[look][1]),
        h("small", {}, count(offset)),
      );
      return cell;
    }));
    if (!records.length) strip.append(h("span", { class: "klw-norecords" }, "The log has no records yet."));
    const present = new Set(records.map(([, look]) => look));
    legend.replaceChildren(
      ...Object.entries(LOOKS).filter(([look]) => present.has(look)).map(([look, [text, glyph]]) =>
        h("span", {}, h("i", { class: "klw-record", "data-record": look }, glyph), text)
      ),
    );
    about.textContent = records.length
      ? `${plural(records.length, "record")}${
        first > 0 || first + room < records.length ? `, ${count(cells.length)} shown` : ""
      }`
      : "";
  }
  const resized = new ResizeObserver(() => {
    if (shown) showStrip(at());
  });
  resized.observe(strip);
  signal.addEventListener("abort", () => resized.disconnect());

  return {
    panel: [h("div", { class: "klw-phead" }, title, about, stages), strip, legend],
    beside: [memory, steps],
    setData() {
      shown = null;
    },
    show(i) {
      shown = data().stateAt(i);
      const effect = i < 0 ? null : data().effect(i);
      title.textContent = shown.log || "No log";
      for (const each of stages.children) {
        each.setAttribute(
          "aria-current",
          String(effect !== null && STAGES.find(([name]) => name === each.dataset.name)[2].includes(effect.role)),
        );
      }
      showStrip(i);
      entries = shown.entries;
      grid.setCount(entries.length, { keep: true });
      grid.select(
        effect?.where ? entries.findIndex((each) => each.group === effect.group && each.where === effect.where) : -1,
      );
      memoryHead.textContent = plural(entries.length, "offset");
      Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: i, entries: entries.length, log: shown.log });
    },
    repaint() {},
  };
}

const STATES = { cached: "in memory", pending: "waits for its transaction", expired: "has expired" };

export default { render: withKernel(render, { isWhole: true }) };
