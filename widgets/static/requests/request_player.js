// RequestPlayer: one request, from its bytes through the handler and the log to the bytes of the response.
import { bytesView } from "../bytes/bytes_view.js";
import { choice, h } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { withKernel } from "../shared/kernel.js";
import { PlayerData } from "../players/player_data.js";
import { playerFrame } from "../players/player_frame.js";
import { playerSegments } from "../players/player_segments.js";
import { playerStage } from "../players/player_stage.js";
import { frameSource, ms, SIDES } from "./request_frames.js";
import { timeBar } from "./request_times.js";

const PLACE = 8, LOG = "log";
// The row of stages: name, text, and the roles of the steps in it.
const STAGES = [["request", "Request", ["received"]], ["handler", "Handler", ["called", "answered", "waited"]], [
  "log",
  "Log",
  ["floor", "probe", "time probe", "entry", "time entry", "passed", "found", "slice"],
], ["response", "Response", ["sent"]]];

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
  const times = timeBar();
  const flow = h("ol", { class: "klw-flow", "aria-label": "Where the request is" });
  const segments = playerSegments({
    onPick: (number) => {
      const first = data().steps.findIndex((_, i) => data().segmentOf(i) === number);
      if (first >= 0) pick(first);
    },
  });
  const stage = playerStage({ root, onPick: pick, signal, stats });
  const log = h("div", { class: "klw-logbox" }, segments.el, stage.el);
  const sides = Object.fromEntries(SIDES.map((side) => [
    side,
    bytesView({
      signal,
      label: `Bytes of the ${side}`,
      fetch: (...asked) => frameSource(model.get("_frames")[side])(...asked),
    }),
  ]));
  let chosen = "follow";
  const title = h("h3", {}), about = h("span", { class: "klw-about" });
  const which = choice(
    "What to show",
    [["follow", "Follow"], ["request", "Request"], ["log", "Log"], ["response", "Response"]],
    "follow",
    (what) => {
      chosen = what;
      showPicture(at());
    },
  );
  const partition = h("select", { class: "klw-input klw-partition", "aria-label": "Partition" });
  partition.addEventListener("change", () => {
    if (!model.choose({ partition: partition.value })) partition.value = model.get("partition");
  });
  const pictures = h("div", { class: "klw-pictures" }, ...SIDES.map((side) => sides[side].el), log);

  function showPicture(i) {
    const d = data(), what = chosen === "follow" ? (i < 0 ? SIDES[0] : d.picture(i)) : chosen;
    const frames = model.get("_frames"), segment = stage.segment;
    for (const side of SIDES) sides[side].el.hidden = side !== what;
    log.hidden = what !== LOG;
    if (what === LOG) {
      title.textContent = segment ? `${model.get("partition")}, segment ${count(segment.base)}` : "No log was read";
      about.textContent = segment
        ? `${bytes(segment.size)} · ${plural(segment.length, "batch", "batches")} · ${
          plural(segment.onDisk.length, "index entry", "index entries")
        }`
        : "";
    } else {
      const frame = frames[what] ?? {}, kept = frame.size ?? 0, full = frame.full_size ?? 0;
      title.textContent = what === SIDES[0] ? "Request" : "Response";
      about.textContent = kept < full
        ? `${count(full)} bytes, the first ${count(kept)} are kept`
        : full
        ? plural(full, "byte")
        : "";
      const place = d.place(i);
      sides[what].setRecord(place?.[0] === what ? [false, place[1], place[2]] : null);
    }
    root.dataset.picture = what;
    Object.assign(stats, { draws: (stats.draws ?? 0) + 1, at: i, picture: what });
  }
  function showFlow(i) {
    const role = i < 0 ? "" : data().role(i);
    STAGES.forEach(([, , roles], k) => flow.children[k]?.setAttribute("aria-current", String(roles.includes(role))));
  }
  function makeFlow() {
    const { request_bytes: asked, response_bytes: sent, times: spent, total } = model.get("_flow");
    if (!spent) {
      flow.replaceChildren();
      times.el.hidden = true;
      return;
    }
    const texts = {
      request: bytes(asked),
      handler: ms(spent[1]),
      log: model.get("partition") || "not read",
      response: sent ? bytes(sent) : "none",
    };
    flow.replaceChildren(...STAGES.map(([name, text, roles]) => {
      const first = data().steps.findIndex((_, i) => roles.includes(data().role(i)));
      return h(
        "li",
        { "data-name": name },
        h(
          "button",
          { type: "button", disabled: first < 0, onclick: () => pick(first), title: `Go to: ${text}` },
          h("b", {}, text),
          h("small", {}, texts[name]),
        ),
      );
    }));
    times.el.hidden = false;
    times.show(spent, total);
  }
  function setPartitions() {
    const names = model.get("_partitions") ?? [];
    partition.replaceChildren(...names.map((name) => h("option", { value: name }, name)));
    partition.value = model.get("partition");
    partition.hidden = names.length < 2;
  }

  return {
    above: [h("section", { class: "klw-flowbox" }, flow, times.el)],
    panel: [h("div", { class: "klw-phead" }, title, about, partition, which.el), pictures],
    setData(next) {
      stage.setData(next);
      segments.setData(next);
      const frames = model.get("_frames");
      for (const side of SIDES) {
        const frame = frames[side];
        sides[side].setSource(
          frame?.size ? { position: 0, size: frame.size } : null,
          side === SIDES[0] ? "The bytes were not kept." : "No response was sent.",
        );
      }
      makeFlow();
      setPartitions();
    },
    show(i, isSmooth) {
      stage.show(i, isSmooth);
      segments.show(i, data().stage(i));
      showFlow(i);
      showPicture(i);
    },
    repaint() {
      stage.repaint();
      for (const side of SIDES) sides[side].refresh();
    },
  };
}

export default { render: withKernel(render, { isWhole: true }) };
