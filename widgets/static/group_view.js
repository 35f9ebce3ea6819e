// GroupView: where a consumer group stands in each partition, and how it came there.
import { button, choice, h } from "./dom.js";
import { count, plural } from "./format.js";
import { GroupLane, KINDS } from "./group_data.js";
import { groupPicture } from "./group_tracks.js";
import { withKernel } from "./kernel.js";
import { laneChart } from "./lane_chart.js";
import { dataGrid } from "./rows.js";
import { tabStrip } from "./tabs.js";
import { followTheme } from "./theme.js";

const NOTHING = { partition: null, segment: null, position: null, offset: null };
const LEGEND = [
  ["committed offset", "committed"],
  ["log end offset", "end"],
  ["lag", "lag"],
  [KINDS[6], "back"],
  ["tombstone", "tombstone"],
  ["pending, aborted or overtaken", "hollow"],
  ["rebalance", "rebalance"],
];

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: "klw klw-cleaner klw-coordinators", tabindex: -1 });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" }),
    announce = (text) => {
      live.textContent = text;
    };
  const title = h("select", { class: "klw-input klw-groups", "aria-label": "Group" });
  title.addEventListener("change", () => {
    if (!model.choose({ group: title.value })) title.value = model.get("group");
  });
  const about = h("span", { class: "klw-sum" }), conclusion = h("p", { class: "klw-conclusion" });
  const errorBar = h("div", { class: "klw-error", role: "alert", hidden: true });
  let lanes = [], shown = null;
  const story = () => model.get("_story");

  const chart = laneChart({
    root,
    announce,
    signal,
    stats,
    picture: groupPicture,
    fitText: "Show all time",
    onPick(lane, commit) {
      go(lanes[lane].target(commit));
      showFacts();
    },
    onView(view) {
      model.set("window", view);
      model.save_changes();
    },
  });
  const modes = choice(
    "What the lanes show",
    [["offsets", "Offsets"], ["lag", "Lag"]],
    "offsets",
    (mode) => chart.setMode(mode),
  );
  const laneTitle = h("h3", {}, "Over time"), laneNote = h("span", { class: "klw-about" });
  const legend = h("div", { class: "klw-legend" }),
    facts = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "What is selected" });

  const rows = () => story().rows ?? [];
  const table = dataGrid({
    label: "Partitions",
    signal,
    rowHeight: 26,
    emptyText: "No offset is committed.",
    columns: [
      { name: "Partition", width: "minmax(110px, 1.4fr)" },
      { name: "Committed", width: "minmax(84px, .8fr)", number: true },
      { name: "Log end", width: "minmax(72px, .8fr)", number: true },
      { name: "Lag", width: "minmax(64px, .7fr)", number: true },
      { name: "State", width: "minmax(84px, .8fr)" },
      { name: "Committed at (UTC)", width: "minmax(148px, 1.1fr)" },
      { name: "Expires (UTC)", width: "minmax(148px, 1.1fr)" },
    ],
    cellsOf(i) {
      const { cells, state, reason } = rows()[i];
      return cells.map((
        text,
        k,
      ) => (k === 4
        ? { text, title: reason, kind: isFine(state) ? "" : "bad" }
        : k > 4
        ? { text, kind: "quiet" }
        : text)
      );
    },
    rowKind: (i) => (isFine(rows()[i].state) ? "" : "bad"),
    onPick(i) {
      const lane = lanes.findIndex((each) => each.name === rows()[i].name);
      announce(`${rows()[i].name}: lag ${rows()[i].cells[3]}, ${rows()[i].state}.`);
      if (lane >= 0) chart.setPicked(lane, lanes[lane].commitAt(Infinity));
      go(lane >= 0 ? lanes[lane].target(lanes[lane].commitAt(Infinity)) : null);
      showFacts(i);
    },
  });
  const why = dataGrid({
    label: "Rules",
    signal,
    rowHeight: 26,
    emptyText: "No rules applied.",
    columns: [{ name: "Partition", width: "minmax(90px, 1fr)" }, { name: "Rule", width: "minmax(90px, 1fr)" }, {
      name: "Verdict",
      width: "76px",
    }, { name: "Why", width: "minmax(180px, 4fr)" }],
    cellsOf(i) {
      const [where, rule, verdict, reason, kafka] = story().why[i];
      return [where, { text: rule, title: kafka }, { text: verdict, kind: `verdict ${verdict}` }, {
        text: reason,
        title: reason,
      }];
    },
    rowKind: (i) => (story().why[i][2] === "blocks" ? "bad" : ""),
    onPick(i) {
      const [where, rule, verdict, reason, kafka] = story().why[i];
      announce(`${rule}: ${verdict}. ${reason}.`);
      showRule(where, rule, verdict, reason, kafka);
    },
  });
  const rebalances = dataGrid({
    label: "Rebalances",
    signal,
    rowHeight: 26,
    emptyText: "No rebalance is in the log.",
    columns: [
      { name: "Time (UTC)", width: "minmax(148px, .9fr)" },
      { name: "What", width: "minmax(84px, .6fr)" },
      { name: "Generation", width: "80px", number: true },
      { name: "State", width: "minmax(70px, .6fr)" },
      { name: "Members", width: "72px", number: true },
      { name: "Why", width: "minmax(180px, 3fr)" },
    ],
    cellsOf: (i) => story().marks[i].cells.map((text, k) => (k === 5 ? { text, title: text } : text)),
    onPick(i) {
      const { label, log, offset } = story().marks[i];
      announce(`${label}. ${story().marks[i].cells[5]}`);
      go({ partition: log, offset });
      showRebalance(i);
    },
  });
  const tabs = tabStrip({
    partitions: ["Partitions", table.el],
    rebalances: ["Rebalances", rebalances.el],
    why: ["Why", why.el],
  });
  root.append(
    h("header", { class: "klw-top" }, title, about),
    errorBar,
    h("section", { class: "klw-panel klw-regionbox" }, conclusion),
    h(
      "section",
      { class: "klw-panel" },
      h("div", { class: "klw-phead" }, laneTitle, laneNote, modes.el, chart.tools),
      chart.el,
      legend,
    ),
    h("div", { class: "klw-below klw-rules" }, facts, h("div", { class: "klw-steps" }, tabs.el)),
    live,
  );
  el.append(root);

  function go(target) {
    if (!target) return;
    model.set("selected", { ...NOTHING, ...target });
    model.save_changes();
  }
  function showGroups() {
    title.replaceChildren(...model.get("_groups").map((name) => h("option", { value: name }, name)));
    title.value = model.get("group");
  }
  function showLanes(isOther) {
    lanes = model.get("_lanes").lanes.map((sent) => new GroupLane(sent));
    chart.setLanes(lanes, { span: wholeOf(story().span ?? []), isOther });
    chart.setMarks((story().marks ?? []).map((each) => ({ ...each, title: each.label })));
  }
  // Story and lanes may come one after the other: both are shown once they are of one group.
  function showAll() {
    if (model.get("_lanes").group !== story().group) return;
    if (story() === shown) showLanes(false);
    else showStory();
  }
  function showStory() {
    const sent = story(), keep = shown?.group === sent.group;
    shown = sent;
    showGroups();
    about.textContent = about.title = sent.summary ?? "";
    conclusion.textContent = `${sent.conclusion}.`;
    root.setAttribute("aria-label", `Group ${sent.group}: ${sent.summary}. ${sent.conclusion}.`);
    showLanes(!keep);
    laneNote.textContent = laneNote.title = noteText(sent);
    showLegend();
    table.setCount(rows().length, { keep });
    why.setCount((sent.why ?? []).length, { keep });
    rebalances.setCount((sent.marks ?? []).length, { keep });
    tabs.setCount("rebalances", count((sent.marks ?? []).length));
    tabs.setCount("partitions", count(rows().length));
    tabs.setCount("why", count((sent.why ?? []).length));
    showSelected();
  }
  function showLegend() {
    const has = (kinds) => lanes.some((lane) => lane.kind.some((kind) => kinds.includes(kind)));
    const present = {
      committed: true,
      end: true,
      lag: true,
      back: has([6]),
      tombstone: has([5]),
      hollow: has([2, 3, 4]),
      rebalance: (story().marks ?? []).length > 0,
    };
    legend.replaceChildren(
      ...LEGEND.filter(([, mark]) => present[mark]).map(([text, mark]) =>
        h("span", {}, h("i", { "data-mark": mark }), text)
      ),
    );
  }
  // Find what the explorer selected: a partition of the group, or the record of a commit.
  function showSelected() {
    const { partition, offset } = { ...NOTHING, ...model.get("selected") }, { picked } = chart;
    const same = picked.lane >= 0 &&
      [lanes[picked.lane]?.target(picked.item), picked.item >= 0 ? lanes[picked.lane]?.record(picked.item) : null].some(
        (each) => each && each.partition === partition && each.offset === offset,
      );
    if (!same) {
      let lane = lanes.findIndex((each) => each.partition !== null && each.partition === partition),
        commit = lane >= 0 && offset !== null ? lanes[lane].find(offset) : -1;
      if (lane < 0 && offset !== null) {
        lane = lanes.findIndex((each) => each.findRecord(partition, offset) >= 0);
        commit = lane >= 0 ? lanes[lane].findRecord(partition, offset) : -1;
      }
      chart.setPicked(lane, commit);
    }
    showFacts();
  }
  function showFacts(row = -1) {
    const { lane: number, item: commit } = chart.picked, lane = lanes[number];
    const i = row >= 0 ? row : lane ? rows().findIndex((each) => each.name === lane.name) : -1;
    table.select(i, false);
    if (!lane && i < 0) {
      return facts.replaceChildren(
        h("p", { class: "klw-meaning" }, "Click a lane or a row for details. Drag across the lanes to choose a time."),
      );
    }
    const sent = rows()[i], name = lane?.name ?? sent.name, parts = [h("h4", {}, name)];
    if (sent?.reason) parts.push(h("p", { class: "klw-why" }, `${sent.reason}.`));
    if (lane && commit >= 0) {
      parts.push(
        h("p", { class: "klw-why" }, h("b", {}, `${KINDS[lane.kind[commit]]}.`)),
        list(lane.facts(commit)),
        h(
          "div",
          { class: "klw-goes" },
          lane.partition !== null && lane.target(commit).offset !== null &&
            button("Select the record at the committed offset", {
              text: "Next record to read",
              kind: "klw-framed",
              onclick: () => go(lane.target(commit)),
            }),
          button("Select the record of this commit", {
            text: "Record of the commit",
            kind: "klw-framed",
            onclick: () => go(lane.record(commit)),
          }),
        ),
      );
    }
    if (sent) parts.push(h("p", { class: "klw-why" }, h("b", {}, "Now.")), list(sent.facts));
    if (lane?.note) parts.push(h("p", { class: "klw-meaning" }, lane.note));
    facts.replaceChildren(...parts);
    facts.scrollTop = 0;
  }
  function showRule(where, rule, verdict, reason, kafka) {
    facts.replaceChildren(
      h("h4", {}, rule),
      h("p", { class: "klw-why" }, `${reason}.`),
      list([["partition", where || "the whole group"], ["verdict", verdict], ["Kafka", kafka]]),
    );
  }
  function showRebalance(i) {
    const { label, cells, facts: pairs } = story().marks[i];
    facts.replaceChildren(
      h("h4", {}, label),
      h("p", { class: "klw-why" }, cells[5] ? `${cells[5]}.` : "The log does not say why."),
      list(pairs),
    );
  }
  const list = (pairs) => h("dl", {}, ...pairs.flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]));
  function showError() {
    errorBar.textContent = model.get("_error") ?? "";
    errorBar.hidden = !errorBar.textContent;
    title.value = model.get("group");
  }

  const followed = {
    _story: showAll,
    _lanes: showAll,
    _groups: showGroups,
    selected: showSelected,
    window: () => chart.setView(model.get("window")),
    group: () => {
      title.value = model.get("group");
    },
    _error: showError,
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, chart.repaint, signal);
  showAll();
  chart.setView(model.get("window"));
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

// All time, and a little more, so that the last state of each lane has some width.
function wholeOf([from, to]) {
  return from === undefined ? [0, 1] : [from, to + (to - from) * 0.02];
}

function noteText({ left_out: leftOut, lanes_with_notes: notes }) {
  const words = [];
  if (leftOut) words.push(`${plural(leftOut, "partition")} with less lag only in the table.`);
  if (notes) {
    words.push(`By their timestamps, all records of ${plural(notes, "log")} were there before the first commit.`);
  }
  return words.join(" ");
}

const isFine = (state) => state === "fine" || state === "pending" || state === "unknown";

export default { render: withKernel(render) };
