// CleanerView and RetentionView: a log's segments in their regions, each rule's verdict, and what would be dropped.
import { conditionsBar } from "./conditions.js";
import {
  dirtyGauge,
  freedGauge,
  markerLayout,
  REGION_NAMES,
  regionLegend,
  regionShares,
  regionStrip,
  stripMarkers,
} from "./segment_regions.js";
import { droppedPane } from "./dropped.js";
import { button, h, pairList } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { isModified, NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { picker } from "../shared/picker.js";
import { popover } from "../shared/popover.js";
import { playButton } from "../players/play_button.js";
import { requests } from "../shared/requests.js";
import { dataGrid } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { tabStrip } from "../shared/tabs.js";

const KINDS = {
  cleaning: { name: "Cleaner's view", hint: "Click a segment or a rule for details.", gauge: dirtyGauge },
  retention: { name: "Retention", hint: "Click a segment or a rule for details.", gauge: freedGauge },
};

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-cleaner", { tabindex: 0 });
  const sheet = popover(frame.root);
  const ask = requests(model, {
    signal: frame.signal,
    onError: (text) => view.conditions.showError(text),
    onSilence: () => {},
  });
  const view = {
    ...frame,
    model,
    sheet,
    decision: () => model.get("_decision"),
    log: picker("Log", "log", (name) => ask("pick", { name })),
    about: h("span", { class: "klw-sum" }),
    conditions: conditionsBar(model, ask),
    conclusion: h("p", { class: "klw-conclusion" }),
    strip: h("div", { class: "klw-regions", role: "listbox", "aria-label": "Segments" }),
    markers: h("div", { class: "klw-markers" }),
    legend: h("div", { class: "klw-legend" }),
    gauge: h("div", { class: "klw-gauge" }),
    facts: h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" }),
  };
  const { about, conclusion, markers, strip, legend, gauge, facts } = view;
  view.rules = ruleGrid(view);
  const isCleaning = view.decision().kind === "cleaning";
  view.dropped = isCleaning ? droppedPane({ model, ask, signal: frame.signal }) : null;
  view.tabs = tabStrip({
    rules: ["Rules", view.rules.el],
    ...(isCleaning ? { dropped: ["What a cleaning would drop", view.dropped.el] } : {}),
  }, { label: "What is known of the log" });
  const code = button("Python code of this", {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Python", model.get("query")),
  });
  view.log.el.classList.add("klw-logpick");
  const picture = h("section", { class: "klw-panel klw-regionbox" }, conclusion, markers, strip, legend, gauge);
  const tables = h("div", { class: "klw-steps" }, view.tabs.el);
  const below = h("div", { class: "klw-below klw-rules klw-fill" }, facts, tables);
  view.instead = stateInstead([picture, below]);
  frame.fill(
    h("header", { class: "klw-top" }, view.log.el, about, playButton(model, ask), code),
    view.conditions.el,
    view.instead.el,
    picture,
    below,
  );
  onKeys(frame.root, (event) => {
    if (event.key === "Escape" && sheet.isOpen) return sheet.close();
    const { segments = [] } = view.decision(), last = segments.length - 1, i = selectedSegment(view);
    const target = { ArrowRight: i + 1, ArrowLeft: i < 0 ? 0 : i - 1, Home: 0, End: last }[event.key];
    if (isModified(event) || target === undefined || !segments.length) return false;
    choose(view, target);
  });
  const show = () => {
    view.conditions.show();
    showDecision(view);
  };
  const end = frame.follow({
    _decision: show,
    _about_conditions: show,
    conditions: show,
    _logs: () => showName(view),
    _plan: () => showPlan(view),
    selected: () => showSelected(view),
  });
  show();
  showPlan(view);
  return end;
}

// Rows are [rule, verdict, value, threshold, reason, Kafka's name, segment].
function ruleGrid(view) {
  const rows = () => view.decision().rules ?? [], hasSegments = view.decision().kind === "retention";
  const columns = [
    { name: "Rule", width: "minmax(150px, 1.2fr)" },
    { name: "Segment", width: "84px", number: true },
    { name: "Verdict", width: "78px" },
    { name: "Value", width: "minmax(76px, .6fr)", number: true },
    { name: "Threshold", width: "minmax(76px, .6fr)", number: true },
    { name: "Why", width: "minmax(180px, 3fr)" },
  ].filter(({ name }) => hasSegments || name !== "Segment");
  return dataGrid({
    label: "Rules",
    signal: view.signal,
    rowHeight: 26,
    emptyText: "No rules applied.",
    onPick(i) {
      const rule = rows()[i];
      view.announce(`${rule[0]}: ${rule[1]}. ${rule[4]}.`);
      view.facts.replaceChildren(...ruleFacts(rule));
    },
    columns,
    cellsOf(i) {
      const [rule, verdict, value, threshold, reason, kafka, segment] = rows()[i];
      return [
        { text: rule, title: kafka },
        ...(hasSegments ? [segment === null ? { text: "–", kind: "quiet" } : count(segment)] : []),
        { text: verdict, kind: `verdict ${verdict.replace(" ", "-")}` },
        value,
        { text: threshold, kind: "quiet" },
        { text: reason, title: reason },
      ];
    },
    rowKind: (i) => (["blocks", "deleted"].includes(rows()[i][1]) ? "bad" : ""),
  });
}

function ruleFacts([rule, verdict, value, threshold, reason, kafka, segment]) {
  const pairs = [["verdict", verdict], ["value", value], ["threshold", threshold], ["Kafka", kafka]];
  return [
    h("h4", {}, rule),
    h("p", { class: "klw-why", "data-named": /^[a-z]+\./.test(reason) }, `${reason}.`),
    pairList(segment === null ? pairs : [["segment", count(segment)], ...pairs]),
  ];
}

// The selection.
function selectedSegment({ model, decision }) {
  const { partition, segment } = { ...NOTHING, ...model.get("selected") },
    { partition: own, segments = [] } = decision();
  return partition === own ? segments.findIndex((each) => each.base_offset === segment) : -1;
}

function choose({ model, decision, announce }, i) {
  const { segments, partition } = decision(), segment = segments[Math.max(0, Math.min(segments.length - 1, i))];
  model.set("selected", { ...NOTHING, partition, segment: segment.base_offset });
  model.save_changes();
  announce(`Segment ${segment.base_offset}, ${REGION_NAMES[segment.region]}.`);
}

function showSelected(view) {
  const { strip, facts } = view, { segments = [], kind = "cleaning" } = view.decision();
  const i = selectedSegment(view), segment = segments[i];
  [...strip.children].forEach((each, k) => {
    each.setAttribute("aria-selected", String(k === i));
  });
  if (!segment) {
    return facts.replaceChildren(h("p", { class: "klw-meaning" }, KINDS[kind].hint));
  }
  facts.replaceChildren(
    h("h4", {}, h("i", { "data-region": segment.region }), `Segment ${count(segment.base_offset)}`),
    h("p", { class: "klw-why" }, `${REGION_NAMES[segment.region]}.`),
    pairList(segment.facts),
  );
}

// From the model to the views.
function showName(view) {
  const { partition } = view.decision(), names = view.model.get("_logs");
  view.log.set(partition, view.model.isLive && names.length > 1 ? names : []);
}

function showDecision(view) {
  const sent = view.decision(), { segments = [], problem } = sent, sizes = segments.map((each) => each.size);
  showName(view);
  view.stats.draws++;
  view.instead.set(problem ? stateNote("failed", `${problem}.`) : null);
  view.conclusion.textContent = problem ? "" : `${sent.conclusion}.`;
  if (problem) {
    view.about.textContent = "";
    view.root.setAttribute("aria-label", `${sent.partition}: ${problem}`);
    return;
  }
  const shares = regionShares(sizes), layout = markerLayout(sent, shares);
  view.about.textContent = `${plural(segments.length, "segment")} · ${
    bytes(sizes.reduce((sum, each) => sum + each, 0))
  } · as of ${sent.now}`;
  view.about.title = sent.high_watermark;
  view.root.setAttribute("aria-label", `${KINDS[sent.kind].name} of ${sent.partition}: ${sent.conclusion}`);
  view.strip.replaceChildren(...regionStrip(segments, shares, (i) => choose(view, i)));
  view.markers.replaceChildren(...stripMarkers(layout));
  view.markers.style.setProperty("--lanes", 1 + Math.max(0, ...layout.map((each) => each.lane)));
  view.legend.replaceChildren(...regionLegend(segments));
  view.gauge.replaceChildren(...KINDS[sent.kind].gauge(sent));
  view.rules.setCount(sent.rules.length);
  view.tabs.setCount("rules", count(sent.rules.length));
  showSelected(view);
}

function showPlan(view) {
  if (!view.dropped) return;
  const dropped = view.dropped.show(view.model.get("_plan"));
  view.tabs.setCount("dropped", dropped === null ? "" : count(dropped));
}

export default { render: withKernel(render, { isWhole: true }) };
