// ReplicaLanes: the partitions of several brokers with their verdicts, and the logs of one as lanes over offsets.
import { h } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { painter } from "../shared/host.js";
import { withKernel } from "../shared/kernel.js";
import { paintReplicas } from "./replica_chart.js";
import { leaderAlong } from "./replica_data.js";
import { comparisonHead, directoryLines, partitionList } from "./replica_list.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { findingLines, laneLegend, leaderChoice, rangeLines } from "./replica_parts.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-cleaner klw-coordinators klw-disks");
  const { root, signal, stats } = frame, error = errorLine(model);
  const send = (kind, body = {}) => model.send({ kind, id: 0, ...body });
  const view = {
    ...partitionParts(),
    model,
    root,
    head: comparisonHead({ model, send }),
    directories: h("div", { class: "klw-directories" }),
    list: partitionList({ model, signal }),
    shown: () => model.get("_shown"),
    lead: (leader) => model.choose({ leader }),
    // Shows a place in Explore; null where that is not possible.
    shower: () => (model.get("_about").can_show && model.isLive ? (place) => send("show", place) : null),
  };
  const { head, directories, list, lanes, title, detail } = view;
  view.instead = stateInstead([]);
  view.repaint = painter(lanes, () => {
    if (view.shown().lanes) paintReplicas(lanes, view.shown(), view.shower());
    stats.draws++;
  }, signal);
  onKeys(lanes, (event) => leadByKey(view, event));
  frame.fill(head.el, head.progress, error.el, directories, view.instead.el, list.el, title, detail);
  const showAll = () => showPartitions(view);
  const end = frame.follow({
    partition: showAll,
    _partitions: showAll,
    _about: showAll,
    _progress: showAll,
    _shown: () => showPartition(view),
    _error: error.show,
  }, view.repaint);
  showPartition(view);
  error.show();
  return end;
}

// The partition that is shown: `title` and, below it, `detail`.
function partitionParts() {
  const name = h("h3", {}), verdict = h("span", { class: "klw-verdict" }), summary = h("span", { class: "klw-about" });
  const leaders = h("div", { class: "klw-leads" });
  const advice = h("p", { class: "klw-advice" });
  const lanes = h("div", { class: "klw-disklanes", tabindex: 0, role: "group" });
  const legend = h("div", { class: "klw-legend" });
  const outcome = h("p", { class: "klw-outcome", role: "status" });
  const ranges = h("div", { class: "klw-ranges", role: "region", tabindex: 0, "aria-label": "Ranges that differ" });
  const findings = h("div", { class: "klw-verdicts", tabindex: 0, role: "region", "aria-label": "Findings" });
  return {
    title: h("div", { class: "klw-phead" }, name, verdict, summary, leaders),
    detail: h("div", {}, advice, lanes, legend, outcome, ranges, findings),
    name,
    verdict,
    summary,
    leaders,
    advice,
    lanes,
    legend,
    outcome,
    ranges,
    findings,
  };
}

function leadByKey({ shown, lead }, event) {
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (!step || !shown().brokers || isModified(event)) return false;
  lead(leaderAlong(shown(), step));
}

// From the model to the views.
function showPartitions({ model, head, directories, list, instead }) {
  const about = model.get("_about"), progress = model.get("_progress");
  head.show(about, progress);
  directories.replaceChildren(...directoryLines(about));
  instead.set(model.get("_partitions").length ? null : nothingCompared(progress));
  list.show(about, progress);
}

function nothingCompared({ state }) {
  return state === "running" ? stateNote("loading", "Comparing…") : stateNote("empty", "Nothing was compared yet.");
}

function showPartition(view) {
  const state = view.shown(), { name, verdict, summary, leaders, title, detail } = view;
  showPartitions(view);
  title.hidden = !state.name;
  detail.hidden = !state.lanes;
  name.textContent = state.name ?? "";
  verdict.textContent = verdict.dataset.verdict = state.verdict ?? "";
  verdict.hidden = !state.verdict;
  summary.textContent = summary.title = state.summary ?? "";
  if (state.lanes) showLanes(view, state);
  else leaders.replaceChildren();
}

function showLanes(view, state) {
  const { root, advice, outcome, legend, ranges, findings } = view;
  advice.textContent = state.advice;
  showLeaders(view, state);
  outcome.textContent = state.outcome;
  outcome.dataset.loses = String(state.lost !== null);
  legend.replaceChildren(...laneLegend(state));
  ranges.replaceChildren(...rangeLines(state, view.shower()));
  ranges.hidden = state.lanes.length < 2;
  findings.replaceChildren(...findingLines(state));
  root.setAttribute("aria-label", `Replicas of ${state.name}: ${state.verdict}. ${state.summary}.`);
  view.repaint();
}

// Who had the keyboard before has it after.
function showLeaders({ model, leaders, lead }, state) {
  const held = leaders.contains(document.activeElement);
  leaders.replaceChildren("Leader: broker", leaderChoice(state, lead));
  for (const each of leaders.querySelectorAll("button, select")) each.disabled = !model.isLive;
  if (held) leaders.querySelector("[aria-pressed=true], select")?.focus();
}

export default { render: withKernel(render) };
