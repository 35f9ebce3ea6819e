// Overview: what log directories are, what is wrong, what fills the disk; each row leads to the view with more of it.
import { topicColors, usageTree } from "../disk/disk_usage_data.js";
import { usageMap } from "../disk/usage_map.js";
import { button, h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { brokerChoice } from "./broker_choice.js";
import { dayChart } from "./day_chart.js";
import { numberTiles } from "./number_tiles.js";
import { sectionCards } from "./section_card.js";
import { sectionHead } from "./section_head.js";

// Sections that are cards, in the order of the page: name, and title until it is made.
const CARDS = [
  ["replicas", "Do the replicas agree?"],
  ["start", "Will the topics be served?"],
  ["findings", "What is damaged?"],
  ["sizes", "What fills the disk?"],
  ["identity", "What this is"],
  ["cluster", "The cluster"],
  ["days", "When was it written?"],
  ["logs", "Is it cleaned and deleted as configured?"],
  ["stuck", "What is stuck?"],
  ["groups", "Groups by lag"],
  ["transactions", "Open transactions"],
];

function render(given) {
  const { model } = given,
    frame = widgetFrame(given, "klw-overview", { "aria-label": "Overview" });
  const { root, signal, stats } = frame,
    sheet = popover(root),
    error = errorBar();
  const ask = requests(model, {
    signal,
    onError: error.show,
    onSilence: () => {},
  });
  const view = { ...frame, model, ask };
  const again = button("Read everything again", {
    glyph: "refresh",
    isLive: true,
    onclick: () => ask("refresh"),
  });
  view.head = sectionHead(view, sheet, {
    name: "Overview",
    codeLabel: "Python code for a page with this",
    more: [again],
  });
  view.verdict = h("p", { class: "klw-oververdict", hidden: true });
  const lead = model.get("_can_lead") ? (section, tile) => ask("tile", { section, tile }) : null;
  view.brokers = brokerChoice(model, ask);
  view.tiles = numberTiles(CARDS.map(([name]) => name), (name) => view.cards.show(name), lead);
  view.map = diskMap(view, signal, stats);
  view.days = dayChart({
    colors: () => topicColors(view.tree),
    onClick: (row) => model.get("_can_lead") && ask("lead", { section: "days", row }),
  });
  view.cards = sectionCards(CARDS, { model, ask, signal, extras: { sizes: view.map.el, days: view.days.el } });
  frame.fill(
    view.head.el,
    error.el,
    h(
      "div",
      { class: "klw-overbody" },
      view.verdict,
      view.brokers.el,
      view.tiles.el,
      view.cards.el,
    ),
  );
  onKeys(
    root,
    (event) => event.key === "Escape" && sheet.isOpen ? sheet.close() : false,
  );
  const end = frame.follow({
    _error: () => error.show(model.get("_error")),
    _directory: () => showHead(view),
    _is_old: () => showHead(view),
    _progress: () => showHead(view),
    _usage: () => showSizes(view),
    _ids: view.brokers.show,
    _days: () => showDays(view),
    _sections: () => showSections(view),
    _tiles: () => view.tiles.set(model.get("_tiles")),
  }, view.map.ask);
  error.show(model.get("_error"));
  showHead(view);
  showSizes(view);
  showDays(view);
  view.tiles.set(model.get("_tiles"));
  view.brokers.show();
  showSections(view);
  return end;
}

function showHead({ model, head }) {
  head.show(model.get("_is_old") ? " · written since: read everything again for new answers" : "");
}

// The treemap: a press on a topic leads to Disk.
function diskMap(view, signal, stats) {
  const topicOf = (node) => {
    for (let each = node; each; each = each.parent) {
      if (each.kind === "topic") return each.key;
    }
    return null;
  };
  return usageMap({
    signal,
    stats,
    held: () => ({
      open: view.tree,
      picked: null,
      linked: null,
      nothing: ["empty", "No bytes on the disk."],
    }),
    onClick: (node) => {
      const topic = topicOf(node);
      if (topic !== null && view.model.get("_can_lead")) {
        view.ask("topic", { topic });
      }
    },
    onPoint: () => {},
  });
}

function showSizes(view) {
  view.tree = usageTree(view.model.get("_usage"), null, null);
  view.map.ask();
}

function showDays({ model, days }) {
  days.set({ ...model.get("_days"), canLead: model.get("_can_lead") });
}

function showSections(view) {
  const sections = view.model.get("_sections");
  view.verdict.textContent = sections.replicas?.verdict || sections.start?.verdict || "";
  view.verdict.hidden = !view.verdict.textContent;
  view.cards.set(sections);
  view.stats.draws++;
}

export default { render: withKernel(render, { isWhole: true }) };
