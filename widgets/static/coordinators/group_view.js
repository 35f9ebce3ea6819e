// GroupView: where a consumer group stands in each partition, and how it got there.
import { laneChart } from "../charts/lane_chart.js";
import { conditionsBar } from "../decisions/conditions.js";
import { choice, h } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { count, plural } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { playButton } from "../players/play_button.js";
import { closeOutside, codeButton, popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { tabStrip } from "../shared/tabs.js";
import { commitAtSelection, GroupLane, KINDS, pickedAgain, timeSpan } from "./group_data.js";
import { partitionFacts, rebalanceFacts, ruleFacts } from "./group_facts.js";
import { committedTable, rebalanceTable, ruleTable } from "./group_tables.js";
import { groupPicture } from "./group_tracks.js";

const LEGEND = [
  ["committed offset", "committed"],
  ["log end offset", "end"],
  ["lag", "lag"],
  [KINDS[6], "back"],
  ["tombstone", "tombstone"],
  ["pending, aborted or overtaken", "hollow"],
  ["rebalance", "rebalance"],
];

function render(given) {
  const { model } = given,
    frame = widgetFrame(given, "klw-cleaner klw-coordinators"),
    error = errorLine(model),
    ask = requests(model, {
      signal: frame.signal,
      onError: (text) => view.conditions.showError(text),
      onSilence: () => {},
    });
  const view = {
    model,
    root: frame.root,
    announce: frame.announce,
    lanes: [],
    shown: null, // the story that is shown
    title: h("select", {
      class: "klw-input klw-groups",
      "aria-label": "Group",
      "data-live": "disable",
    }),
    about: h("span", { class: "klw-sum" }),
    conditions: conditionsBar(model, ask, "offsets.retention.minutes=7d"),
    conclusion: h("p", { class: "klw-conclusion" }),
    note: h("span", { class: "klw-about" }),
    legend: h("div", { class: "klw-legend" }),
    facts: h("div", {
      class: "klw-now",
      tabindex: 0,
      role: "region",
      "aria-label": "What is selected",
    }),
    story: () => model.get("_story"),
    rows: () => view.story().rows ?? [],
    go(target) {
      if (!target) return;
      model.set("selected", { ...NOTHING, ...target });
      model.save_changes();
    },
  };
  const { title } = view,
    showGroup = () => {
      title.value = model.get("group");
    };
  title.addEventListener("change", () => {
    if (!model.choose({ group: title.value })) showGroup();
  });
  view.chart = groupChart(view, frame);
  Object.assign(view, groupTables(view, frame.signal));
  const [first, chartPanel, below] = groupPanels(view);
  const sheet = popover(frame.root),
    code = codeButton(sheet, "The group as Python", () => model.get("query"));
  view.instead = stateInstead([first, chartPanel, below]);
  frame.fill(
    h("header", { class: "klw-top" }, title, view.about, playButton(model, ask), code),
    view.conditions.el,
    error.el,
    view.instead.el,
    first,
    chartPanel,
    below,
  );
  onKeys(
    frame.root,
    (event) => event.key === "Escape" && sheet.isOpen && sheet.close(),
  );
  closeOutside(frame.root, sheet);
  const end = frame.follow({
    _story: () => showAll(view),
    _lanes: () => showAll(view),
    _groups: () => showGroups(view),
    selected: () => showSelected(view),
    window: () => view.chart.setView(model.get("window")),
    group: showGroup,
    conditions: () => view.conditions.show(),
    _about_conditions: () => view.conditions.show(),
    _error: () => {
      error.show();
      showGroup();
    },
  }, view.chart.repaint);
  view.conditions.show();
  showAll(view);
  view.chart.setView(model.get("window"));
  return end;
}

function groupChart(view, { root, announce, signal, stats }) {
  return laneChart({
    root,
    announce,
    signal,
    stats,
    picture: groupPicture,
    fitText: "Show all time",
    onPick(lane, commit) {
      view.go(view.lanes[lane].target(commit));
      showFacts(view);
    },
    onView(window) {
      view.model.set("window", window);
      view.model.save_changes();
    },
  });
}

function groupTables(view, signal) {
  const { announce, facts } = view;
  return {
    table: committedTable({
      signal,
      rows: view.rows,
      onPick(i) {
        const { name, cells, state } = view.rows()[i],
          at = view.lanes.findIndex((each) => each.name === name);
        const lane = view.lanes[at], newest = lane?.commitAt(Infinity);
        announce(`${name}: lag ${cells[3]}, ${state}.`);
        if (lane) view.chart.setPicked(at, newest);
        view.go(lane ? lane.target(newest) : null);
        showFacts(view, i);
      },
    }),
    why: ruleTable({
      signal,
      rows: () => view.story().why,
      onPick(rule) {
        announce(`${rule[1]}: ${rule[2]}. ${rule[3]}.`);
        facts.replaceChildren(...ruleFacts(rule));
      },
    }),
    rebalances: rebalanceTable({
      signal,
      rows: () => view.story().marks,
      onPick(mark) {
        announce(`${mark.label}. ${mark.cells[5]}`);
        view.go({ partition: mark.log, offset: mark.offset });
        facts.replaceChildren(...rebalanceFacts(mark));
      },
    }),
  };
}

// The three parts below the head: the conclusion, the lanes, and the facts with the tables.
function groupPanels(view) {
  const { chart, facts } = view;
  const modes = choice(
    "What the lanes show",
    [["offsets", "Offsets"], ["lag", "Lag"]],
    "offsets",
    (mode) => chart.setMode(mode),
  );
  view.tabs = tabStrip({
    partitions: ["Partitions", view.table.el],
    rebalances: ["Rebalances", view.rebalances.el],
    why: ["Why", view.why.el],
  });
  return [
    h("section", { class: "klw-panel klw-regionbox" }, view.conclusion),
    h(
      "section",
      { class: "klw-panel" },
      h(
        "div",
        { class: "klw-phead" },
        h("h3", {}, "Over time"),
        view.note,
        modes.el,
        chart.tools,
      ),
      chart.el,
      view.legend,
    ),
    h(
      "div",
      { class: "klw-below klw-rules klw-fill" },
      facts,
      h("div", { class: "klw-steps" }, view.tabs.el),
    ),
  ];
}

function showGroups({ model, title, instead }) {
  const isEmpty = !model.get("_groups").length;
  title.hidden = isEmpty;
  instead.set(
    isEmpty
      ? stateNote(
        "empty",
        "No group has committed an offset in these directories.",
      )
      : null,
  );
  title.replaceChildren(
    ...model.get("_groups").map((name) => h("option", { value: name }, name)),
  );
  title.value = model.get("group");
}

// Story and lanes may come one after the other: both are shown once they are of one group.
function showAll(view) {
  if (view.model.get("_lanes").group !== view.story().group) return;
  if (view.story() === view.shown) showLanes(view, false);
  else showStory(view);
}

function showLanes(view, isOther) {
  const { span = [], marks = [] } = view.story();
  const lanes = view.model.get("_lanes").lanes.map((sent) => new GroupLane(sent));
  const picked = pickedAgain(lanes, view.lanes, view.chart.picked);
  view.lanes = lanes;
  view.chart.setLanes(lanes, { span: timeSpan(span), isOther, picked });
  view.chart.setMarks(marks.map((each) => ({ ...each, title: each.label })));
}

function showStory(view) {
  const sent = view.story(),
    keep = view.shown?.group === sent.group,
    { about, conclusion, root, note, tabs } = view;
  view.shown = sent;
  showGroups(view);
  about.textContent = about.title = sent.summary ?? "";
  conclusion.textContent = `${sent.conclusion}.`;
  root.setAttribute(
    "aria-label",
    `Group ${sent.group}: ${sent.summary}. ${sent.conclusion}.`,
  );
  showLanes(view, !keep);
  note.textContent = note.title = noteText(sent);
  view.legend.replaceChildren(
    ...groupLegend(view.lanes, (sent.marks ?? []).length > 0),
  );
  const counts = {
    partitions: [view.table, view.rows().length],
    why: [view.why, (sent.why ?? []).length],
    rebalances: [view.rebalances, (sent.marks ?? []).length],
  };
  for (const [name, [table, n]] of Object.entries(counts)) {
    table.setCount(n, { keep });
    tabs.setCount(name, count(n));
  }
  showSelected(view);
}

function groupLegend(lanes, hasRebalances) {
  const has = (kinds) => lanes.some((lane) => lane.kind.some((kind) => kinds.includes(kind)));
  const present = {
    committed: true,
    end: true,
    lag: true,
    back: has([6]),
    tombstone: has([5]),
    hollow: has([2, 3, 4]),
    rebalance: hasRebalances,
  };
  return LEGEND.filter(([, mark]) => present[mark])
    .map(([text, mark]) => h("span", {}, h("i", { "data-mark": mark }), text));
}

// Find what the explorer selected: a partition of the group, or the record of a commit.
function showSelected(view) {
  const { chart, lanes, model } = view;
  chart.setPicked(
    ...commitAtSelection(
      lanes,
      { ...NOTHING, ...model.get("selected") },
      chart.picked,
    ),
  );
  showFacts(view);
}

function showFacts({ chart, lanes, rows, table, facts, go }, row = -1) {
  const { lane: number, item: commit } = chart.picked, lane = lanes[number];
  const i = row >= 0 ? row : lane ? rows().findIndex((each) => each.name === lane.name) : -1;
  table.select(i, false);
  facts.replaceChildren(
    ...partitionFacts({ lane, commit, row: rows()[i], go }),
  );
  if (lane || i >= 0) facts.scrollTop = 0;
}

function noteText({ left_out: leftOut, lanes_with_notes: notes }) {
  const words = [];
  if (leftOut) {
    words.push(
      `${plural(leftOut, "partition")} with less lag only in the table.`,
    );
  }
  if (notes) {
    words.push(
      `By their timestamps, all records of ${plural(notes, "log")} were there before the first commit.`,
    );
  }
  return words.join(" ");
}

export default { render: withKernel(render) };
