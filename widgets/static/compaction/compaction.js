// CompactionPlayer: a cleaning of a log, one step after the other, with a reason for each record.
import { CompactionData, LATER } from "./compaction_data.js";
import { cleaningStage } from "./compaction_stage.js";
import { choice, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { playerFrame } from "../players/player_frame.js";
import { recordZoom } from "./compaction_zoom.js";
import { requests } from "../shared/requests.js";
import { offsetMap } from "./offset_map.js";
import { stepFinder } from "./step_finder.js";

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new CompactionData(sent), makeViews: cleaningViews });
}

function cleaningViews({ root, pick, signal, stats, model, data, at, steps }) {
  const view = {
    data,
    pick,
    error: h("div", { class: "klw-error", role: "alert", hidden: true }),
    title: h("h3", {}),
    about: h("span", { class: "klw-about" }),
    rounds: h("span", {}),
    roundChoice: null,
    legend: h("div", { class: "klw-legend" }),
  };
  const ask = questions(view.error, model, signal), zoom = view.zoom = recordZoom({ signal, ask, data });
  const goTo = (round, batch, record) => {
    const i = stepAbout(round, batch, record, at());
    if (i >= 0) pick(i);
  };
  const stage = view.stage = cleaningStage({
    root,
    signal,
    stats,
    onPick: (number, batch, record) => {
      const round = data().rounds[number];
      goTo(round, batch, record);
      if (!round.records) zoom.show(number, batch);
    },
  });
  const map = view.map = offsetMap({
    signal,
    data,
    onPick: (record) => goTo(stage.round, stage.round.batchOfRecord(record), record),
  });
  const finder = stepFinder({
    find: (text) => (data().detail === "records" ? { step: data().find(text, at()) } : ask("find", { text, at: at() })),
    onFound(i, batch = -1) {
      pick(i);
      if (batch >= 0) zoom.show(data().roundOf(i), batch);
    },
    onLeave: () => root.focus(),
  });
  const extent = choice(
    "What the picture shows",
    [["follow", "Follow"], ["whole", "Whole log"]],
    "follow",
    (what) => stage.setWhole(what === "whole"),
  );
  root.classList.add("klw-cleaning");
  return {
    top: [finder],
    panel: [h("div", { class: "klw-phead" }, view.title, view.about, view.rounds, extent.el), stage.el, view.legend],
    above: [view.error],
    beside: [map.el, zoom.el, steps],
    setData: (next) => setCleaning(view, next),
    show: (i, isSmooth) => showCleaning(view, i, isSmooth),
    repaint: stage.repaint,
  };
}

// What asks the kernel, and says in `error` what went wrong.
function questions(error, model, signal) {
  const show = (text) => {
    error.textContent = text;
    error.hidden = !text;
  };
  const silent = "The kernel does not respond. It may be disconnected, or busy running a cell.";
  return requests(model, { signal, onError: show, onSilence: (isSilent) => show(isSilent ? silent : "") });
}

function setCleaning(view, data) {
  const { stage, rounds, map, zoom, legend, pick } = view, hasRecords = data.detail === "records";
  const names = data.rounds.map((_, k) => [String(k), `Round ${k + 1}`]);
  const toRound = (k) => pick(data.rounds[Number(k)].firstStep);
  stage.setData(data);
  view.roundChoice = names.length > 1 ? choice("Round", names, "0", toRound) : null;
  rounds.replaceChildren(...(view.roundChoice ? [view.roundChoice.el] : []));
  map.el.hidden = !hasRecords;
  zoom.el.hidden = hasRecords;
  zoom.reset();
  legend.replaceChildren(...legendOf(data).map(([text, look]) => h("span", {}, h("i", { "data-look": look }), text)));
}

function showCleaning({ data, stage, roundChoice, title, about, map, zoom }, i, isSmooth) {
  const { rounds, detail } = data();
  stage.show(i, isSmooth);
  const { round } = stage, number = rounds.indexOf(round);
  roundChoice?.show(String(number));
  title.textContent = rounds.length > 1 ? `Round ${number + 1}` : "The log";
  about.textContent = about.title = round ? roundText(round) : "";
  if (detail === "records") map.show(round, i);
  else if (i >= 0 && data().batch(i) >= 0) zoom.show(number, data().batch(i));
  else if (i >= 0 && data().segmentOf(i) >= 0) zoom.show(number, round.firstBatches[data().segmentOf(i)]);
}

function roundText({ segments, now, ratio, threshold }) {
  return `${plural(segments.length, "segment")} · at ${now} · dirty ratio ${ratio.toFixed(2)}, threshold ${threshold}`;
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

export default { render: withKernel(render, { isWhole: true }) };
