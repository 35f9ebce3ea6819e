// CheckpointTable: what checkpoints and metadata files say, beside the logs; contradictions are marked.
import {
  checkpointCells,
  CHECKPOINTS,
  findingsOf,
  isMarked,
  noRowsText,
  partitionsLike,
  toneOf,
} from "./checkpoint_data.js";
import { checkpointFacts, directoryCard } from "./checkpoint_facts.js";
import { button, choice, disable, h } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { plural } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { codeButton, popover } from "../shared/popover.js";
import { dataGrid } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-checkpoints", { tabindex: 0 }), { root } = frame;
  const view = {
    ...frame,
    model,
    table: () => model.get("_table"),
    shown: [], // the partitions listed
    filter: { only: "all", wanted: "" },
    title: h("span", { class: "klw-title" }),
    sum: h("span", { class: "klw-sum" }),
    cards: h("div", { class: "klw-cards" }),
    facts: h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "The selected entry" }),
  };
  const sheet = popover(root), error = errorLine(model);
  const check = checkButton(model), [search, which] = filters(view);
  const code = codeButton(sheet, "Python code for this table", () => model.get("query"));
  view.grid = checkpointGrid(view);
  const body = [
    h("div", { class: "klw-phead" }, h("h3", {}, "Partitions"), which, h("span", { class: "klw-about" }), search),
    h("div", { class: "klw-checkbody klw-fill" }, h("div", { class: "klw-sizes" }, view.grid.el), view.facts),
  ];
  view.instead = stateInstead(body);
  frame.fill(
    h("header", { class: "klw-top" }, view.title, view.sum, code, check.el),
    error.el,
    h("section", { class: "klw-panel" }, view.cards),
    view.instead.el,
    ...body,
  );
  onKeys(root, (event) => event.key === "Escape" && sheet.isOpen && sheet.close());
  const end = frame.follow({
    _table: () => showTable(view),
    selected: () => showSelected(view),
    _progress: () => check.show(model.get("_progress")),
    _error: error.show,
    "msg:custom": ({ kind }) => (kind === "check" || kind === "error") && check.show([]),
  });
  showTable(view);
  return end;
}

// The button that starts a check, and shows how much of it is done.
function checkButton(model) {
  const el = button("Read the files again and compare them with the logs", {
    glyph: "shield",
    text: "Check",
    kind: "klw-framed",
    isLive: true,
    onclick: () => model.send({ kind: "check", id: 0 }) && show([0, 1]),
  });
  function show(progress) {
    const [done, total] = progress ?? [], isOn = total > 0;
    disable(el, isOn);
    el.lastChild.textContent = isOn ? `Checking ${Math.floor((100 * done) / total)} %` : "Check";
  }
  return { el, show };
}

function filters(view) {
  const search = h("input", {
    class: "klw-input klw-go",
    type: "search",
    placeholder: "Filter partitions",
    "aria-label": "Filter partitions",
    spellcheck: "false",
    oninput: () => {
      view.filter.wanted = search.value.trim().toLowerCase();
      showRows(view);
    },
  });
  const which = choice("Which partitions", [["all", "All"], ["marked", "Contradictions"]], "all", (value) => {
    view.filter.only = value;
    showRows(view);
  });
  return [search, which.el];
}

function checkpointGrid(view) {
  const names = new Map(view.table().directories.map(({ path, name }) => [path, name]));
  return dataGrid({
    label: "Partitions",
    signal: view.signal,
    rowHeight: 26,
    emptyText: "No partitions.",
    onPick: (i) => choose(view, view.shown[i]),
    columns: [
      { name: "Partition", width: "minmax(110px, 1.5fr)", isName: true },
      ...(names.size > 1 ? [{ name: "Directory", width: "minmax(80px, .8fr)" }] : []),
      {
        name: "In segments",
        width: "minmax(60px, .8fr)",
        number: true,
        title: "First offset to log end offset",
      },
      ...CHECKPOINTS.map(([, name, file]) => ({
        name: capital(name),
        width: "minmax(60px, .6fr)",
        number: true,
        title: file,
      })),
      { name: "Epoch", width: "48px", number: true, title: "Latest entry of leader-epoch-checkpoint" },
      { name: "Contradiction", width: "minmax(90px, 2.6fr)" },
    ],
    cellsOf: (i) => checkpointCells(view.shown[i], names),
    rowKind: (i) => toneOf(findingsOf(view.shown[i])),
  });
}

// The selection.
function choose({ model, facts, announce }, row) {
  model.set("selected", { ...NOTHING, partition: row.key });
  model.save_changes();
  explain(facts, row);
  const found = findingsOf(row);
  announce(`${row.name}: ${found.length ? found.map((each) => each.broker).join(" ") : "no contradiction"}`);
}

function showSelected({ model, shown, grid, facts, filter }, reveal = true) {
  const name = model.get("selected")?.partition, i = name ? shown.findIndex((row) => row.key === name) : -1;
  const hides = shown.some(isMarked) && i >= 0 && !isMarked(shown[i]); // what contradicts the logs stays in sight
  if (i >= 0) grid.select(i, reveal && !hides);
  const row = shown[i] ?? (filter.only === "all" ? shown.find(isMarked) : shown[0]) ?? null;
  if (row) explain(facts, row);
  else facts.replaceChildren(h("p", { class: "klw-meaning" }, "Select a partition to see what each file says."));
}

function explain(facts, row) {
  facts.replaceChildren(...checkpointFacts(row));
  facts.scrollTop = 0;
}

// From the model to the views.
function showTable(view) {
  const { title, sum, root, cards, stats } = view, sent = view.table();
  const found = sent.found ? plural(sent.found, "contradiction") : "no contradictions";
  title.textContent = sent.title;
  title.title = sent.path;
  sum.textContent = `${sent.summary} · ${sent.is_checked ? found : "not checked yet"}`;
  root.setAttribute("aria-label", `Checkpoints of ${sent.title}: ${sum.textContent}`);
  cards.replaceChildren(...sent.directories.map(directoryCard));
  cards.parentElement.hidden = !sent.directories.length;
  view.instead.set(sent.rows.length ? null : stateNote("empty", "No partitions in this directory."));
  showRows(view);
  stats.draws++;
}

function showRows(view) {
  const { grid, filter } = view, sent = view.table(), keysOf = () => view.shown.map((row) => row.key).join("\n");
  const before = keysOf();
  view.shown = partitionsLike(sent.rows, filter);
  grid.setState("empty", noRowsText(sent, filter.only));
  const keep = view.shown.length > 0 && keysOf() === before;
  grid.setCount(view.shown.length, { keep });
  showSelected(view, !keep);
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

export default { render: withKernel(render, { isWhole: true }) };
