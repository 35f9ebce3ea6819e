// RequestPlayer: one request, from its bytes through the handler and the log to the bytes of the response.
import { bytesView } from "../bytes/bytes_view.js";
import { choice, h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { PlayerData } from "../players/player_data.js";
import { playerFrame } from "../players/player_frame.js";
import { playerSegments } from "../players/player_segments.js";
import { playerStage } from "../players/player_stage.js";
import { requestFlow } from "./request_flow.js";
import { frameSource, SIDES } from "./request_frames.js";
import { timeBar } from "./request_times.js";

const PLACE = 8, LOG = "log";

class RequestData extends PlayerData {
  // The bytes that a step is about: [side, start, size], or null.
  place(i) {
    return this.steps[i]?.[PLACE] ?? null;
  }
  // What shows step i best: a side of the exchange, or the log.
  picture(i) {
    return this.place(i)?.[0] ?? (i >= 0 && this.segmentOf(i) >= 0 ? LOG : SIDES[0]);
  }
}

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new RequestData(sent), makeViews: requestViews });
}

function requestViews({ root, pick, signal, stats, model, data, at }) {
  root.classList.add("klw-request");
  const view = {
    root,
    stats,
    model,
    data,
    chosen: "follow", // what to show: a side, the log, or what the step is about
    times: timeBar(),
    flow: requestFlow({ onPick: pick }),
    stage: playerStage({ root, onPick: pick, signal, stats }),
    segments: playerSegments({ onPick: (number) => pickSegment(data(), number, pick) }),
    sides: requestSides(model, signal),
    title: h("h3", {}),
    about: h("span", { class: "klw-about" }),
    partition: partitionMenu(model),
  };
  const { stage, segments, sides, flow, times, title, about, partition } = view;
  const log = view.log = h("div", { class: "klw-logbox" }, segments.el, stage.el);
  const which = choice(
    "What to show",
    [["follow", "Follow"], ["request", "Request"], ["log", "Log"], ["response", "Response"]],
    "follow",
    (what) => {
      view.chosen = what;
      showPicture(view, at());
    },
  );
  const pictures = h("div", { class: "klw-pictures" }, ...SIDES.map((side) => sides[side].el), log);
  return {
    above: [h("section", { class: "klw-flowbox" }, flow.el, times.el)],
    panel: [h("div", { class: "klw-phead" }, title, about, partition.el, which.el), pictures],
    setData: (next) => setExchange(view, next),
    show(i, isSmooth) {
      stage.show(i, isSmooth);
      segments.show(i, data().stage(i));
      flow.show(i < 0 ? "" : data().role(i));
      showPicture(view, i);
    },
    repaint() {
      stage.repaint();
      for (const side of SIDES) sides[side].refresh();
    },
  };
}

// To the first step in a segment.
function pickSegment(data, number, pick) {
  const first = data.steps.findIndex((_, i) => data.segmentOf(i) === number);
  if (first >= 0) pick(first);
}

function requestSides(model, signal) {
  const fetch = (side) => (...asked) => frameSource(model.get("_frames")[side])(...asked);
  return Object.fromEntries(
    SIDES.map((side) => [side, bytesView({ signal, label: `Bytes of the ${side}`, fetch: fetch(side) })]),
  );
}

function partitionMenu(model) {
  const el = h("select", { class: "klw-input klw-partition", "aria-label": "Partition", "data-live": "disable" });
  el.addEventListener("change", () => {
    if (!model.choose({ partition: el.value })) el.value = model.get("partition");
  });
  return {
    el,
    show() {
      const names = model.get("_partitions") ?? [];
      el.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
      el.value = model.get("partition");
      el.hidden = names.length < 2;
    },
  };
}

function setExchange({ model, stage, segments, sides, flow, times, partition }, data) {
  const sent = model.get("_flow"), frames = model.get("_frames");
  const missing = { [SIDES[0]]: "The bytes were not kept.", [SIDES[1]]: "No response was sent." };
  stage.setData(data);
  segments.setData(data);
  for (const side of SIDES) {
    const size = frames[side]?.size;
    sides[side].setSource(size ? { position: 0, size } : null, missing[side]);
  }
  flow.setData(data, sent, model.get("partition"));
  times.el.hidden = !sent.times;
  if (sent.times) times.show(sent.times, sent.total);
  partition.show();
}

function showPicture(view, i) {
  const { root, stats, model, data, chosen, sides, log, title, about } = view;
  const what = chosen !== "follow" ? chosen : i < 0 ? SIDES[0] : data().picture(i);
  for (const side of SIDES) sides[side].el.hidden = side !== what;
  log.hidden = what !== LOG;
  const isLog = what === LOG, segment = view.stage.segment;
  [title.textContent, about.textContent] = isLog
    ? segmentTexts(segment, model.get("partition"))
    : [what === SIDES[0] ? "Request" : "Response", keptText(model.get("_frames")[what])];
  about.title = about.textContent;
  if (!isLog) {
    const place = data().place(i);
    sides[what].setRecord(place?.[0] === what ? [false, place[1], place[2]] : null);
  }
  root.dataset.picture = what;
  Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: i, picture: what });
}

function segmentTexts(segment, partition) {
  if (!segment) return ["No log was read", ""];
  const entries = plural(segment.onDisk.length, "index entry", "index entries");
  return [
    `${partition}, segment ${count(segment.base)}`,
    `${bytes(segment.size)} · ${plural(segment.length, "batch", "batches")} · ${entries}`,
  ];
}

// How many bytes of a side there were, and how many of them are kept.
function keptText({ size: kept = 0, full_size: full = 0 } = {}) {
  if (kept < full) return `${count(full)} bytes, the first ${count(kept)} are kept`;
  return full ? plural(full, "byte") : "";
}

export default { render: withKernel(render, { isWhole: true }) };
