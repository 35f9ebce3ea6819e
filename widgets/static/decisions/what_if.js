// WhatIfView: what a broker of a version and a configuration would do: at its start, to logs, to committed offsets.
import { conditionsBar } from "./conditions.js";
import { brokerChoice } from "../overview/broker_choice.js";
import { numberTiles } from "../overview/number_tiles.js";
import { sectionCards } from "../overview/section_card.js";
import { sectionHead } from "../overview/section_head.js";
import { h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";

// Name, and title until it is made.
const PARTS = [
  ["freed", "What would be deleted and compacted?"],
  ["expired", "Which committed offsets would expire?"],
  ["start", "Will the topics be served?"],
  ["loading", "What happens to each log at the start?"],
];

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-overview klw-whatif", { "aria-label": "What if" });
  const sheet = popover(frame.root), error = errorBar();
  const ask = requests(model, {
    signal: frame.signal,
    onError: (text) => conditions.showError(text),
    onSilence: () => {},
  });
  const conditions = conditionsBar(model, ask);
  const head = sectionHead({ ...frame, model, ask }, sheet, { name: "What if", codeLabel: "Python code of this" });
  const cards = sectionCards(PARTS, { model, ask, signal: frame.signal });
  const brokers = brokerChoice(model, ask);
  const numbers = numberTiles(["start", "freed", "expired"], cards.show);
  frame.fill(
    head.el,
    conditions.el,
    error.el,
    h("div", { class: "klw-overbody" }, brokers.el, numbers.el, cards.el),
  );
  onKeys(frame.root, (event) => event.key === "Escape" && sheet.isOpen ? sheet.close() : false);
  const acts = {
    _error: () => error.show(model.get("_error")),
    _directory: () => head.show(),
    _progress: () => head.show(),
    _ids: brokers.show,
    _tiles: () => numbers.set(model.get("_tiles")),
    _sections() {
      cards.set(model.get("_sections"));
      frame.stats.draws++;
    },
    _about_conditions: conditions.show,
    conditions: conditions.show,
  };
  const end = frame.follow(acts);
  acts._directory();
  acts._ids();
  acts._tiles();
  acts._sections();
  conditions.show();
  return end;
}

export default { render: withKernel(render, { isWhole: true }) };
