// CleanerView: a partition's segments in their regions, the dirty ratio, and each rule's verdict.
import {
  cleanerLegend,
  dirtyGauge,
  markerLayout,
  REGION_NAMES,
  regionShares,
  regionStrip,
  stripMarkers,
} from "./cleaner_strip.js";
import { fillName, h, pairList } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { isModified, NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { dataGrid } from "../shared/rows.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-cleaner", { tabindex: 0 });
  const view = {
    ...frame,
    model,
    cleaning: () => model.get("_cleaning"),
    title: h("span", { class: "klw-title" }),
    about: h("span", { class: "klw-sum" }),
    conclusion: h("p", { class: "klw-conclusion" }),
    strip: h("div", { class: "klw-regions", role: "listbox", "aria-label": "Segments" }),
    markers: h("div", { class: "klw-markers" }),
    legend: h("div", { class: "klw-legend" }),
    gauge: h("div", { class: "klw-gauge" }),
    facts: h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" }),
  };
  const { title, about, conclusion, markers, strip, legend, gauge, facts } = view;
  const rules = view.rules = cleaningRules({
    signal: frame.signal,
    rows: () => view.cleaning().rules,
    onPick(rule) {
      frame.announce(`${rule[0]}: ${rule[1]}. ${rule[4]}.`);
      facts.replaceChildren(...cleaningRuleFacts(rule));
    },
  });
  frame.fill(
    h("header", { class: "klw-top" }, title, about),
    h("section", { class: "klw-panel klw-regionbox" }, conclusion, markers, strip, legend, gauge),
    h("div", { class: "klw-below klw-rules" }, facts, h("div", { class: "klw-steps" }, rules.el)),
  );
  onKeys(frame.root, (event) => {
    const last = view.cleaning().segments.length - 1, i = selectedSegment(view);
    const target = { ArrowRight: i + 1, ArrowLeft: i < 0 ? 0 : i - 1, Home: 0, End: last }[event.key];
    if (isModified(event) || target === undefined) return false;
    choose(view, target);
  });
  const end = frame.follow({ _cleaning: () => showCleaning(view), selected: () => showSelected(view) });
  showCleaning(view);
  return end;
}

// `rows()` returns [rule, verdict, value, threshold, reason, Kafka's name] of each rule.
function cleaningRules({ signal, rows, onPick }) {
  return dataGrid({
    label: "Rules",
    signal,
    rowHeight: 26,
    emptyText: "No rules applied.",
    onPick: (i) => onPick(rows()[i]),
    columns: [
      { name: "Rule", width: "minmax(170px, 1.2fr)" },
      { name: "Verdict", width: "72px" },
      { name: "Value", width: "minmax(76px, .6fr)", number: true },
      { name: "Threshold", width: "minmax(76px, .6fr)", number: true },
      { name: "Why", width: "minmax(180px, 3fr)" },
    ],
    cellsOf(i) {
      const [rule, verdict, value, threshold, reason, kafka] = rows()[i];
      return [
        { text: rule, title: kafka },
        { text: verdict, kind: `verdict ${verdict}` },
        value,
        { text: threshold, kind: "quiet" },
        { text: reason, title: reason },
      ];
    },
    rowKind: (i) => (rows()[i][1] === "blocks" ? "bad" : ""),
  });
}

function cleaningRuleFacts([rule, verdict, value, threshold, reason, kafka]) {
  return [
    h("h4", {}, rule),
    h("p", { class: "klw-why" }, `${reason}.`),
    pairList([["verdict", verdict], ["value", value], ["threshold", threshold], ["Kafka", kafka]]),
  ];
}

// The selection.
function selectedSegment({ model, cleaning }) {
  const { partition, segment } = { ...NOTHING, ...model.get("selected") }, { partition: own, segments } = cleaning();
  return partition === own ? segments.findIndex((each) => each.base_offset === segment) : -1;
}

function choose({ model, cleaning, announce }, i) {
  const { segments, partition } = cleaning(), segment = segments[Math.max(0, Math.min(segments.length - 1, i))];
  model.set("selected", { ...NOTHING, partition, segment: segment.base_offset });
  model.save_changes();
  announce(`Segment ${segment.base_offset}, ${REGION_NAMES[segment.region]}.`);
}

function showSelected(view) {
  const { strip, facts } = view, i = selectedSegment(view), segment = view.cleaning().segments[i];
  [...strip.children].forEach((each, k) => {
    each.setAttribute("aria-selected", String(k === i));
  });
  if (!segment) {
    return facts.replaceChildren(h("p", { class: "klw-meaning" }, "Click a segment or a rule for details."));
  }
  facts.replaceChildren(
    h("h4", {}, h("i", { "data-region": segment.region }), `Segment ${count(segment.base_offset)}`),
    h("p", { class: "klw-why" }, `${REGION_NAMES[segment.region]}.`),
    pairList(segment.facts),
  );
}

// From the model to the views.
function showCleaning(view) {
  const sent = view.cleaning(), { segments } = sent, sizes = segments.map((each) => each.size);
  const shares = regionShares(sizes), layout = markerLayout(sent, shares);
  fillName(view.title, sent.partition).title = sent.partition;
  view.about.textContent = `${plural(segments.length, "segment")} · ${
    bytes(sizes.reduce((sum, each) => sum + each, 0))
  } · as of ${sent.now} UTC`;
  view.conclusion.textContent = `${sent.conclusion}.`;
  view.root.setAttribute("aria-label", `Cleaner's view of ${sent.partition}: ${sent.conclusion}`);
  view.strip.replaceChildren(...regionStrip(segments, shares, (i) => choose(view, i)));
  view.markers.replaceChildren(...stripMarkers(layout));
  view.markers.style.setProperty("--lanes", 1 + Math.max(0, ...layout.map((each) => each.lane)));
  view.legend.replaceChildren(...cleanerLegend(segments));
  view.gauge.replaceChildren(...dirtyGauge(sent));
  view.rules.setCount(sent.rules.length);
  showSelected(view);
  view.stats.draws++;
}

export default { render: withKernel(render, { isWhole: true }) };
