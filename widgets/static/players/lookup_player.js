// LookupPlayer: a StepPlayer with a box for another offset or time.
import { h } from "../shared/dom.js";
import { withKernel } from "../shared/kernel.js";
import { PlayerData } from "./player_data.js";
import { playerFrame } from "./player_frame.js";
import { segmentViews } from "./segment_views.js";

function render({ model, el, signal }) {
  const makeViews = (given) => ({ ...segmentViews(given), top: lookupBox(given) });
  return playerFrame({ model, el, signal, makeData: (sent) => new PlayerData(sent), makeViews });
}

function lookupBox({ model, signal }) {
  const refusal = h("span", { class: "klw-refusal", role: "alert" });
  const input = h("input", {
    class: "klw-input klw-go",
    "data-live": "hide",
    type: "text",
    placeholder: "Offset or time",
    "aria-label": "Look up another offset, or a UTC time such as 2026-01-31 12:00",
    title: "An offset, or a UTC time such as 2026-01-31 12:00",
    spellcheck: "false",
    onkeydown: (event) => {
      if (event.key !== "Enter" || !input.value.trim()) return;
      event.preventDefault();
      event.stopPropagation();
      model.send({ kind: "look_up", id: 0, text: input.value });
    },
    oninput: () => refuse(""),
  });
  function refuse(text) {
    refusal.textContent = text;
    input.setAttribute("aria-invalid", String(text !== ""));
  }
  const onAnswer = (content) => {
    if (content.kind === "error") refuse(content.text.replace(/^\w+Error: /, ""));
    else if (content.kind === "look_up") {
      refuse("");
      input.value = "";
    }
  };
  model.on("msg:custom", onAnswer);
  signal.addEventListener("abort", () => model.off("msg:custom", onAnswer));
  return [refusal, input];
}

export default { render: withKernel(render, { isWhole: true }) };
