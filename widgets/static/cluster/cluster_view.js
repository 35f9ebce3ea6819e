// ClusterView: a KRaft cluster at the moment that a slider chooses, and what changed then.
import { button, choice, disable, h } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { count, plural, timestamp } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { codeButton, popover } from "../shared/popover.js";
import { dataGrid } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";

const ASK_AFTER = 60; // ms; a slider that moves asks once

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-cluster", { tabindex: 0 }), { root } = frame;
  const view = {
    ...frame,
    model,
    sent: () => model.get("_cluster"),
    shown: model.get("_cluster").shown,
    at: model.get("at"),
    open: "Topics",
    timer: 0,
    title: h("span", { class: "klw-title" }),
    sum: h("span", { class: "klw-sum" }),
    place: h("output", {}),
    note: h("span", { class: "klw-about" }),
    findings: h("div", { class: "klw-clusterfound" }),
  };
  const sheet = popover(root), error = errorLine(model);
  const code = codeButton(sheet, "Python code for this state", () => model.get("query"));
  view.controls = momentControls(view);
  view.changes = gridOf(view, "Changes", "What changed at this moment");
  view.grids = Object.fromEntries(
    Object.keys(view.sent().columns).filter((name) => name !== "Changes").map((
      name,
    ) => [name, gridOf(view, name, name)]),
  );
  view.which = choice("Which table", Object.keys(view.grids).map((name) => [name, name]), view.open, (name) => {
    view.open = name;
    showTables(view);
  });
  const body = [
    view.controls.el,
    h("div", { class: "klw-phead" }, h("h3", {}, "What changed")),
    h("div", { class: "klw-clusterchanges" }, view.changes.el),
    h("div", { class: "klw-phead" }, h("h3", {}, "The cluster then"), view.which.el, view.note),
    h("div", { class: "klw-clusterbody klw-fill" }, ...Object.values(view.grids).map((grid) => grid.el)),
  ];
  view.instead = stateInstead(body);
  frame.fill(
    h("header", { class: "klw-top" }, view.title, view.sum, code),
    error.el,
    view.findings,
    view.instead.el,
    ...body,
  );
  onKeys(root, (event) => {
    const steps = { ArrowLeft: -1, ArrowRight: 1 };
    if (event.key === "Escape" && sheet.isOpen) return sheet.close();
    if (event.key in steps && event.target.type !== "range") return go(view, view.at + steps[event.key]);
    return false;
  });
  const end = frame.follow({
    _cluster: () => showAll(view),
    at: () => model.get("at") !== view.at && go(view, model.get("at")),
    _error: error.show,
    "msg:custom": (message) => message.kind === "moment" && take(view, message),
  });
  showAll(view);
  return end;
}

// Buttons and a slider over the moments.
function momentControls(view) {
  const by = (step) => go(view, view.at + step);
  const first = button("First moment", { glyph: "first", onclick: () => go(view, 0) });
  const back = button("Moment before (←)", { glyph: "back", onclick: () => by(-1) });
  const next = button("Next moment (→)", { glyph: "next", onclick: () => by(1) });
  const last = button("Last moment", { glyph: "last", onclick: () => go(view, lastOf(view)) });
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "Moment" });
  slider.addEventListener("input", () => go(view, Number(slider.value)));
  const el = h(
    "div",
    { class: "klw-moments", role: "group", "aria-label": "Moments" },
    first,
    back,
    next,
    last,
    slider,
    view.place,
  );
  return {
    el,
    show() {
      slider.max = lastOf(view);
      slider.value = view.at;
      slider.setAttribute("aria-valuetext", momentText(view));
      disable(first, view.at <= 0);
      disable(back, view.at <= 0);
      disable(next, view.at >= lastOf(view));
      disable(last, view.at >= lastOf(view));
      view.place.textContent = momentText(view);
    },
  };
}

const lastOf = (view) => Math.max(0, view.sent().moments.length - 1);

function momentText(view) {
  const moment = view.sent().moments[view.at];
  if (!moment) return "no moments";
  const [offset, time] = moment;
  return `${time === null ? "time unknown" : timestamp(time)} · offset ${count(offset)}`;
}

// Show another moment: ask for it, unless it is there.
function go(view, at) {
  const wanted = Math.max(0, Math.min(lastOf(view), at));
  if (wanted === view.at) return;
  view.at = wanted;
  view.controls.show();
  view.model.set("at", wanted);
  view.model.save_changes();
  clearTimeout(view.timer);
  view.timer = setTimeout(() => view.model.send({ kind: "moment", id: 0, at: view.at }), ASK_AFTER);
}

function take(view, message) {
  if (message.at !== view.at) return; // a later one is on its way
  view.shown = message;
  showTables(view);
  view.announce(`${momentText(view)}: ${plural(message.tables.Changes.length, "change")}`);
}

function gridOf(view, name, label) {
  return dataGrid({
    label,
    signal: view.signal,
    rowHeight: 26,
    emptyText: name === "Changes" ? "No changes." : "None at this moment.",
    onPick: (i) => name === "Leaders" && choose(view, rowsOf(view, name)[i][0]),
    columns: view.sent().columns[name].map(([heading, share, isNumber], at) => ({
      name: heading,
      width: `minmax(${at ? 56 : 110}px, ${share}fr)`,
      number: Boolean(isNumber),
      isName: at === 0,
    })),
    cellsOf: (i) => rowsOf(view, name)[i].map((text) => ({ text, title: text })),
  });
}

const rowsOf = (view, name) => view.shown.tables[name] ?? [];

function choose({ model }, partition) {
  model.set("selected", { ...NOTHING, partition });
  model.save_changes();
}

// From the model to the views.
function showAll(view) {
  const sent = view.sent();
  view.at = Math.min(view.model.get("at"), lastOf(view));
  view.shown = sent.shown;
  view.title.textContent = sent.title;
  view.title.title = sent.path;
  view.sum.textContent = `${plural(sent.moments.length, "moment")} at which the cluster changed`;
  view.root.setAttribute("aria-label", `The cluster of ${sent.title} over time`);
  view.findings.hidden = !sent.findings.length;
  view.findings.replaceChildren(...sent.findings.map((text) => h("p", {}, text)));
  view.instead.set(sent.moments.length ? null : stateNote("empty", "No record of the log changed the cluster."));
  view.controls.show();
  showTables(view);
  view.stats.draws++;
}

function showTables(view) {
  view.changes.setCount(rowsOf(view, "Changes").length);
  for (const [name, grid] of Object.entries(view.grids)) {
    grid.el.hidden = name !== view.open;
    if (name === view.open) grid.setCount(rowsOf(view, name).length);
  }
  const left = view.shown.left?.[view.open];
  view.note.textContent = left ? `and ${count(left)} more rows` : plural(rowsOf(view, view.open).length, "row");
}

export default { render: withKernel(render, { isWhole: true }) };
