// ReplicaLanes: the partitions of several brokers with their verdicts, and the logs of one as lanes over offsets.
import { button, choice, disable, h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { bytes, count, plural } from "../shared/format.js";
import { painter } from "../shared/host.js";
import { withKernel } from "../shared/kernel.js";
import { colorOf, MARKS, paintReplicas } from "./replica_chart.js";
import { requests } from "../shared/requests.js";
import { dataGrid } from "../shared/rows.js";
import { followTheme } from "../shared/theme.js";
import { verifyBar } from "../verification/verify_bar.js";

const MOST_BUTTONS = 8;
const LIST_ROWS = 6;
const ROW = 24, HEAD = 28; // px, as in rows.js

// How far a comparison is, or how it ended.
export function comparedText({ state, checked, partitions, bytes: done, size }) {
  const part = `${count(checked)} of ${plural(partitions, "partition")}`;
  if (state === "running") return `Comparing: ${part}, ${bytes(done)} of ${bytes(size)}.`;
  if (state === "done") return `Compared ${plural(partitions, "partition")}, ${bytes(size)}.`;
  return `${state === "failed" ? "Failed" : "Canceled"} after ${part}.`;
}

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-cleaner klw-coordinators klw-disks", tabindex: -1 });
  const error = errorBar();
  const ask = requests(model, { signal, onError: error.show, onSilence: () => {} });
  const shown = () => model.get("_shown"), about = () => model.get("_about");

  // All partitions.
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const again = button("Compare headers and stored CRCs", {
    glyph: "refresh",
    text: "Compare",
    kind: "klw-framed",
    onclick: () => ask("compare", { deep: false }),
  });
  const deep = button("Compare, and check the CRC of every batch", {
    glyph: "shields",
    text: "Check all CRCs",
    kind: "klw-framed",
    onclick: () => ask("compare", { deep: true }),
  });
  const progress = verifyBar({ onCancel: () => ask("cancel"), words: comparedText, label: "Compared bytes" });
  const directories = h("div", { class: "klw-directories" });
  const list = dataGrid({
    label: "Partitions",
    signal,
    emptyText: "Nothing was compared yet.",
    columns: [
      { name: "Partition", width: "minmax(110px,.8fr)" },
      { name: "Verdict", width: "88px" },
      { name: "What to keep", width: "minmax(160px,4fr)" },
    ],
    cellsOf(i) {
      const [name, kind, words] = model.get("_partitions")[i];
      return [{ text: name, title: name }, { text: kind, kind: kind === "alike" ? "quiet" : "" }, {
        text: words,
        title: words,
      }];
    },
    rowKind: (i) => (["alike", "lag"].includes(model.get("_partitions")[i][1]) ? "" : "bad"),
    onPick: (i) => {
      const [name] = model.get("_partitions")[i];
      if (name !== model.get("partition")) model.choose({ partition: name });
    },
  });
  const all = h("div", { class: "klw-replicalist" }, list.el);

  // The partition that is shown.
  const name = h("h3", {}), verdict = h("span", { class: "klw-verdict" }), summary = h("span", { class: "klw-about" });
  const leaders = h("div", { class: "klw-leads" });
  const words = h("p", { class: "klw-advice" });
  const box = h("div", { class: "klw-disklanes", tabindex: 0, role: "group" });
  const outcome = h("p", { class: "klw-outcome", role: "status" });
  const legend = h("div", { class: "klw-legend" });
  const differs = h("div", { class: "klw-ranges", role: "region", tabindex: 0, "aria-label": "Ranges that differ" });
  const findings = h("div", { class: "klw-verdicts", tabindex: 0, role: "region", "aria-label": "Findings" });
  const detail = h("div", {}, words, box, legend, outcome, differs, findings);
  const head = h("div", { class: "klw-phead" }, name, verdict, summary, leaders);
  const header = h("header", { class: "klw-top" }, title, sum, again, deep);
  root.append(header, progress.el, error.el, directories, all, head, detail);
  el.append(root);

  const goTo = (broker, part) => ask("show", part === null ? { broker } : { broker, part });
  const repaint = painter(box, () => {
    if (shown().lanes) paintReplicas(box, shown(), about().can_show && model.isLive ? goTo : null);
    stats.draws++;
  }, signal);

  function lead(broker) {
    return model.choose({ leader: broker });
  }
  box.addEventListener("keydown", (event) => {
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key], { brokers, leader } = shown();
    if (!step || !brokers || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    lead(brokers[Math.max(0, Math.min(brokers.length - 1, brokers.indexOf(leader) + step))]);
  });

  function showPartitions() {
    const rows = model.get("_partitions");
    const { brokers, path, partitions, counts, left_out, can_compare, has_changed } = about();
    const state = model.get("_progress"), isRunning = state.state === "running";
    title.textContent = plural(brokers.length, "broker");
    title.title = path;
    const told = counts.map(([kind, n]) => `${count(n)} ${kind}`).join(", ");
    sum.textContent = [plural(partitions, "partition"), told || "not compared yet"].join(": ") +
      (left_out ? ` · ${plural(left_out, "harmless one")} not listed` : "");
    again.hidden = deep.hidden = !can_compare || !model.isLive;
    for (const each of [again, deep]) disable(each, isRunning);
    progress.show(state, 0, 0, has_changed ? "The logs have changed since: compare again to see it." : "");
    directories.replaceChildren(
      ...about().directories.map(([severity, kind, found]) =>
        h("p", {}, h("span", { class: "klw-chip", "data-kind": severity }, severity), ` ${kind}: ${found}.`)
      ),
    );
    all.hidden = rows.length < 2 && partitions < 2;
    all.style.height = `${HEAD + 1 + ROW * Math.min(LIST_ROWS, Math.max(2, rows.length))}px`;
    list.setCount(rows.length, { keep: true });
    const at = rows.findIndex(([each]) => each === model.get("partition"));
    list.select(at, at >= 0 && !isRunning);
  }
  function show() {
    const state = shown();
    head.hidden = !state.name;
    detail.hidden = !state.lanes;
    name.textContent = state.name ?? "";
    if (!state.lanes) {
      verdict.textContent = summary.textContent = "";
      leaders.replaceChildren();
      return showPartitions();
    }
    verdict.textContent = state.verdict;
    verdict.dataset.verdict = state.verdict;
    summary.textContent = summary.title = state.summary;
    words.textContent = state.advice;
    showLeaders(state);
    outcome.textContent = state.outcome;
    outcome.dataset.loses = String(state.lost !== null);
    legend.replaceChildren(
      ...state.epochs.slice(-8).map((epoch) =>
        h("span", {}, h("i", { style: `--swatch:${colorOf(state, epoch)}` }), epoch < 0 ? "no epoch" : `epoch ${epoch}`)
      ),
      ...MARKS.map(([mark, text]) => h("span", {}, h("i", { "data-lane": mark }), text)),
    );
    differs.replaceChildren(...rangesOf(state));
    differs.hidden = state.lanes.length < 2;
    findings.replaceChildren(
      ...(state.findings.length
        ? state.findings.map(([severity, kind, found, meaning]) =>
          h(
            "div",
            { class: "klw-finding", "data-severity": severity },
            h("strong", {}, kind),
            h("p", {}, `${found}.`, meaning ? h("span", {}, ` ${meaning}`) : null),
          )
        )
        : [h("p", { class: "klw-meaning" }, "No findings: the replicas hold the same records.")]),
      state.left_out ? h("p", { class: "klw-meaning" }, `${plural(state.left_out, "more finding")}.`) : "",
    );
    root.setAttribute("aria-label", `Replicas of ${state.name}: ${state.verdict}. ${state.summary}.`);
    showPartitions();
    repaint();
  }
  function showLeaders(state) {
    const held = leaders.contains(document.activeElement);
    const options = state.brokers.map((broker) => [broker, broker]);
    if (options.length <= MOST_BUTTONS) {
      leaders.replaceChildren("Leader: broker", choice("Broker taken as the leader", options, state.leader, lead).el);
    } else {
      const select = h(
        "select",
        { class: "klw-input", "aria-label": "Broker taken as the leader" },
        ...options.map(([value, text]) => h("option", { value }, text)),
      );
      select.value = state.leader;
      select.addEventListener("change", () => {
        if (!lead(select.value)) select.value = state.leader;
      });
      leaders.replaceChildren("Leader: broker", select);
    }
    if (held) leaders.querySelector("[aria-pressed=true], select")?.focus();
  }
  function rangesOf({ differs: rows, leader }) {
    if (rows === null) return [h("p", { class: "klw-meaning" }, "Comparing the records…")];
    if (!rows.length) return [h("p", { class: "klw-meaning" }, `All replicas have the records of broker ${leader}.`)];
    return rows.map(([broker, kind, offset, text]) =>
      h(
        "p",
        {},
        h("i", { "data-lane": kind }),
        h("strong", {}, `Broker ${broker}`),
        h("span", {}, text),
        about().can_show && model.isLive && kind !== "more" && kind !== "missing"
          ? button(`Show offset ${count(offset)} of broker ${broker} in Explore`, {
            glyph: "goto",
            onclick: () => ask("show", { broker, offset }),
          })
          : null,
      )
    );
  }
  const showError = () => error.show(model.get("_error") ?? "");
  const followed = {
    partition: showPartitions,
    _partitions: showPartitions,
    _about: showPartitions,
    _progress: showPartitions,
    _shown: show,
    _error: showError,
  };
  for (const [trait, act] of Object.entries(followed)) model.on(`change:${trait}`, act);
  followTheme(root, repaint, signal);
  show();
  showError();
  return () => {
    life.abort();
    for (const [trait, act] of Object.entries(followed)) model.off(`change:${trait}`, act);
  };
}

export default { render: withKernel(render) };
