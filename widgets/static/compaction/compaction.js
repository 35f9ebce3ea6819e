// CompactionPlayer: a cleaning of a log, one step after the other, with a reason for each record.
import { CompactionData, LATER } from "./compaction_data.js";
import { cleaningStage } from "./compaction_stage.js";
import { choice, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { playerFrame } from "../players/player_frame.js";
import { recordZoom } from "./compaction_zoom.js";
import { requests } from "../shared/requests.js";
import { dataGrid } from "../shared/rows.js";

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new CompactionData(sent), makeViews: cleaningViews });
}

function cleaningViews({ root, pick, signal, stats, model, data, at, steps }) {
  const errorBar = h("div", { class: "klw-error", role: "alert", hidden: true });
  const showError = (text) => {
    errorBar.textContent = text;
    errorBar.hidden = !text;
  };
  const ask = requests(model, {
    signal,
    onError: showError,
    onSilence: (isSilent) =>
      showError(isSilent ? "The kernel does not respond. It may be disconnected, or busy running a cell." : ""),
  });
  const extent = choice(
    "What the picture shows",
    [["follow", "Follow"], ["whole", "Whole log"]],
    "follow",
    (what) => stage.setWhole(what === "whole"),
  );
  const stage = cleaningStage({
    root,
    signal,
    stats,
    onPick: (round, batch, record) => {
      const i = stepAbout(data().rounds[round], batch, record, at());
      if (i >= 0) pick(i);
      if (!data().rounds[round].records) zoom.show(round, batch);
    },
  });
  const zoom = recordZoom({ signal, ask, data });
  const title = h("h3", {}), about = h("span", { class: "klw-about" }), rounds = h("span", {});
  const goBox = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Go to key or offset",
    "aria-label": "Go to the next step of a key or an offset",
    spellcheck: "false",
  });
  goBox.addEventListener("input", () => {
    goBox.removeAttribute("aria-invalid");
    unknown.hidden = true;
  });
  goBox.addEventListener("keydown", (event) => {
    if (event.key === "Escape") root.focus();
    if (event.key !== "Enter") return;
    event.stopPropagation();
    if (!goBox.value.trim()) return;
    if (data().detail === "records") return arrive(data().find(goBox.value, at()));
    ask("find", { text: goBox.value, at: at() }).then((answer) => {
      if (answer) arrive(answer.step, answer.batch);
    });
  });
  const unknown = h("p", { class: "klw-unknown", role: "alert", hidden: true });
  function arrive(i, batch = -1) {
    goBox.setAttribute("aria-invalid", String(i < 0));
    unknown.hidden = i >= 0;
    unknown.textContent = i < 0 ? `No step is about the key or offset “${goBox.value.trim()}”.` : "";
    if (i >= 0) pick(i);
    if (i >= 0 && batch >= 0) zoom.show(data().roundOf(i), batch);
  }
  const map = offsetMap({
    signal,
    data,
    onPick: (record) => {
      const round = stage.round, i = stepAbout(round, round.batchOfRecord(record), record, at());
      if (i >= 0) pick(i);
    },
  });
  const legend = h("div", { class: "klw-legend" });
  let roundChoice = null;

  return {
    top: [h("span", { class: "klw-go" }, goBox, unknown)],
    panel: [h("div", { class: "klw-phead" }, title, about, rounds, extent.el), stage.el, legend],
    above: [errorBar],
    beside: [map.el, zoom.el, steps],
    setData(next) {
      stage.setData(next);
      const names = next.rounds.map((_, k) => [String(k), `Round ${k + 1}`]);
      roundChoice = names.length > 1
        ? choice("Round", names, "0", (k) => pick(next.rounds[Number(k)].firstStep))
        : null;
      rounds.replaceChildren(...(roundChoice ? [roundChoice.el] : []));
      map.el.hidden = next.detail !== "records";
      zoom.el.hidden = next.detail === "records";
      zoom.reset();
      legend.replaceChildren(
        ...legendOf(next).map(([text, look]) => h("span", {}, h("i", { "data-look": look }), text)),
      );
      root.classList.add("klw-cleaning");
    },
    show(i, isSmooth) {
      stage.show(i, isSmooth);
      const { round } = stage, number = data().rounds.indexOf(round);
      roundChoice?.show(String(number));
      title.textContent = data().rounds.length > 1 ? `Round ${number + 1}` : "The log";
      about.textContent = round
        ? `${plural(round.segments.length, "segment")} · at ${round.now} · dirty ratio ${
          round.ratio.toFixed(2)
        }, threshold ${round.threshold}`
        : "";
      about.title = about.textContent;
      if (data().detail === "records") map.show(round, i);
      else if (i >= 0 && data().batch(i) >= 0) zoom.show(number, data().batch(i));
      else if (i >= 0 && data().segmentOf(i) >= 0) zoom.show(number, round.firstBatches[data().segmentOf(i)]);
    },
    repaint: stage.repaint,
  };
}

// The meaning of the shapes and colors that this log has.
function legendOf({ detail, rounds }) {
  const has = (test) => rounds.some((round) => test(round));
  const flags = (bit) => has(({ batches }) => batches.flags.some((each) => each & bit));
  const entries = detail === "records" ? [["in the map", "mapped"]] : [];
  entries.push(["kept", "kept"], ["dropped", "dropped"]);
  if (has(({ records }) => records?.tombstone.some(Boolean))) entries.push(["tombstone", "tombstone"]);
  if (detail === "records" && flags(2)) entries.push(["marker", "marker"]);
  if (flags(1)) entries.push(["in a transaction", "transactional"]);
  return [...entries, ["clean", "clean"], ["dirty", "dirty"], ["not cleaned", "waiting"]];
}

// The step about a record or batch that fits the step shown: its mapping until it is decided.
function stepAbout(round, batch, record, at) {
  const judged = round.judged[batch], unmapped = round.unmapped[batch];
  if (record >= 0) {
    const mapped = round.mapped[record], decided = round.decided[record];
    if (mapped !== LATER && mapped !== at && at < decided && !isDeciding(round, at)) return mapped;
    if (decided !== LATER && decided !== at) return decided;
    if (mapped !== LATER) return mapped;
  }
  if (judged !== LATER) return judged;
  return unmapped === LATER ? -1 : unmapped;
}

function isDeciding(round, at) {
  return round.groups.length > 0 && round.groups[0].step <= at;
}

// The offset map: a row for each key, in order of appearance.
function offsetMap({ signal, data, onPick }) {
  let entries = [], round = null, current = -1, before = null;
  const head = h("span", { class: "klw-maphead" });
  const grid = dataGrid({
    label: "Offset map",
    signal,
    emptyText: "The offset map has no keys yet.",
    columns: [{ name: "Key", width: "minmax(60px,1fr)" }, { name: "Newest offset", width: "96px", number: true }],
    cellsOf: (k) => {
      const [key, record] = entries[k];
      return [
        { text: data().keyName(key), title: data().keyName(key), kind: "mono" },
        count(round.records.offset[record]),
      ];
    },
    rowKind: (k) => (entries[k][0] === before ? "within" : ""),
    onPick: (k) => onPick(entries[k][1]),
  });
  const el = h(
    "div",
    { class: "klw-mapbox" },
    h("div", { class: "klw-maptitle" }, h("strong", {}, "Offset map"), head),
    grid.el,
  );
  return {
    el,
    show(next, at) {
      round = next;
      entries = round?.records && at >= 0 ? round.entries(at) : [];
      const record = at < 0 ? -1 : data().record(at), key = record < 0 ? null : round.records.key[record];
      before = key;
      current = entries.findIndex(([each]) => each === key);
      grid.setCount(entries.length, { keep: true });
      grid.select(current);
      head.textContent = plural(entries.length, "key");
    },
  };
}

export default { render: withKernel(render, { isWhole: true }) };
