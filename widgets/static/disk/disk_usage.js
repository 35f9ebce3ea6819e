// DiskUsage: what fills the disk, as a treemap and a list; a click opens, Escape closes.
import {
  colorNote,
  isOpenable,
  isUnread,
  listed,
  nodeSentence,
  nodesOnPath,
  rowOf,
  shareText,
  sizeText,
  topicCount,
  usageTree,
} from "./disk_usage_data.js";
import { button, disable, fillName, h, icon } from "../shared/dom.js";
import { errorLine } from "../shared/error_bar.js";
import { bytes, plural } from "../shared/format.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { codeButton, popover } from "../shared/popover.js";
import { dataGrid } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { usageMap } from "./usage_map.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-disk", { tabindex: 0 }), { root, signal, stats } = frame;
  const view = {
    model,
    root,
    announce: frame.announce,
    open: null, // the node that is open
    shown: [], // the rows of the list
    picked: -1, // the row that is selected
    inside: {}, // what a file answered; a kernel changes the traits instead
    title: h("span", { class: "klw-title" }),
    sum: h("span", { class: "klw-sum" }),
    crumbs: h("nav", { class: "klw-crumbs", "aria-label": "What is open" }),
    line: h("p", { class: "klw-diskline" }),
  };
  const sheet = popover(root), error = errorLine(model), { title, sum, crumbs, line } = view;
  view.up = button("Close, one level up", { glyph: "back", onclick: () => goUp(view) });
  view.map = usageMap({
    signal,
    stats,
    held: () => ({
      open: view.open,
      picked: view.shown[view.picked],
      nothing: stateOf(view),
      linked: model.get("selected")?.segment,
    }),
    onClick: (node) => click(view, node),
    onPoint: (node) => showLine(view, node ?? view.shown[view.picked]),
  });
  view.list = sizeList(view, signal);
  const [code, refresh] = diskTools(model, sheet);
  const body = [
    h("div", { class: "klw-phead" }, view.up, crumbs),
    h(
      "div",
      { class: "klw-diskbody klw-fill" },
      h("div", { class: "klw-treebox" }, view.map.el, line),
      h("div", { class: "klw-sizes" }, view.list.el),
    ),
  ];
  view.instead = stateInstead(body);
  frame.fill(
    h("header", { class: "klw-top" }, title, sum, code, refresh),
    error.el,
    view.instead.el,
    ...body,
  );
  onKeys(root, (event) => actOnKey(view, sheet, event));
  const show = () => showUsage(view),
    end = frame.follow({
      _usage: show,
      _partition: show,
      _segment: show,
      at: show,
      selected: view.map.markLinked,
      _error: error.show,
      "msg:custom": (content) => takeAnswer(view, content),
    }, view.map.ask);
  show();
  return end;
}

function diskTools(model, sheet) {
  const code = codeButton(sheet, "Python code for these sizes", () => model.get("query"));
  const refresh = button("List the directory again", {
    glyph: "refresh",
    isLive: true,
    onclick: () => model.send({ kind: "refresh", id: 0 }),
  });
  return [code, refresh];
}

function sizeList(view, signal) {
  return dataGrid({
    label: "Sizes",
    signal,
    rowHeight: 26,
    emptyText: "Nothing here.",
    onPick: (i) => pick(view, i, { isFromList: true }),
    onPress: (i) => openNode(view, view.shown[i]),
    onOpen: (i) => openNode(view, view.shown[i]),
    columns: [
      { name: "Name", width: "minmax(96px, 1.4fr)", isName: true },
      { name: "On disk", width: "66px", number: true, title: "Bytes that the disk holds" },
      { name: "Share", width: "58px", number: true },
      { name: "Length", width: "64px", number: true, title: "Length of the files, with their holes" },
      { name: "What", width: "minmax(58px, 1.2fr)" },
    ],
    cellsOf: (i) => sizeCells(view.shown[i], view.open),
    rowKind: (i) => (view.shown[i].kind === "unreadable" && view.shown[i].size ? "bad" : ""),
  });
}

function sizeCells(node, open) {
  return [
    { text: node.name, title: node.name, kind: isOpenable(node) ? "opens" : node.parent !== open ? "part" : "" },
    bytes(node.occupied),
    shareText(node, open),
    { text: bytes(node.size), kind: node.size === node.occupied ? "quiet" : "" },
    { text: node.note, title: node.note, kind: node.kind === "unreadable" ? "bad" : "hidden" },
  ];
}

// What is open.
function openNode({ model }, node) {
  if (!node || !isOpenable(node)) return;
  if (!isUnread(node)) go(model, node.path);
  else if (model.isLive) model.choose({ at: node.path });
  else model.send({ kind: "inside", id: 0, path: node.path }); // a file may have it
}

function takeAnswer(view, content) {
  if (content.kind !== "inside") return;
  view.inside = { partition: content.partition ?? view.inside.partition, segment: content.segment ?? null };
  go(view.model, content.path);
}

function go(model, path) {
  model.set("at", path);
  model.save_changes();
}

function goUp({ model }) {
  const path = model.get("at");
  if (path.length) go(model, path.slice(0, -1));
}

// What is selected in it.
function pick(view, i, { isFromList = false } = {}) {
  const node = view.shown[i];
  view.picked = i;
  if (!isFromList) view.list.select(i);
  view.map.markPicked();
  showLine(view, node);
  if (node) view.announce(nodeSentence(node, view.open));
}

function click(view, node) {
  const own = view.shown.indexOf(node);
  if (own >= 0) pick(view, own);
  if (isOpenable(node)) openNode(view, node);
  else if (own < 0) openNode(view, node.parent);
}

// To the next field, the one that is less large, or back.
function step(view, by) {
  const fields = view.open.children, at = fields.indexOf(view.shown[view.picked]);
  const next = fields[Math.max(0, Math.min(fields.length - 1, at + by))];
  if (next) pick(view, view.shown.indexOf(next));
}

function actOnKey(view, sheet, event) {
  if (isModified(event)) return false;
  const isOnMap = event.target === view.map.el || event.target === view.root;
  if (event.key === "Escape" && sheet.isOpen) sheet.close();
  else if (event.key === "Escape" || event.key === "Backspace") goUp(view);
  else if (!isOnMap) return false;
  else if (event.key === "ArrowRight" || event.key === "ArrowDown") step(view, 1);
  else if (event.key === "ArrowLeft" || event.key === "ArrowUp") step(view, -1);
  else if (event.key === "Home") step(view, -Infinity);
  else if (event.key === "End") step(view, Infinity);
  else if (event.key === "Enter") openNode(view, view.shown[view.picked]);
  else return false;
}

// From the model to the views.
function showUsage(view) {
  const { model, root, inside, title, sum, crumbs, list, map } = view, at = model.get("at") ?? [];
  const usage = model.get("_usage"),
    tree = usageTree(
      usage,
      inside.partition ?? model.get("_partition"),
      inside.segment ?? model.get("_segment"),
    );
  const path = nodesOnPath(tree, at), open = path[path.length - 1], kept = view.shown[view.picked]?.path;
  const isSame = open.path.join("\n") === view.open?.path.join("\n");
  view.open = open;
  view.instead.set(tree.children.length ? null : stateNote("empty", "No partitions in this directory."));
  view.shown = listed(open);
  view.picked = isSame ? rowOf(view.shown, kept) : -1;
  title.textContent = tree.name;
  title.title = usage.path;
  sum.textContent = `${plural(topicCount(tree), "topic")} · ${sizeText(tree)}`;
  root.setAttribute("aria-label", `What fills the disk of ${tree.name}: ${sizeText(tree)}`);
  crumbs.replaceChildren(...path.flatMap((node, i) => crumb(view, node, i, path.length - 1)));
  crumbs.append(h("span", { class: "klw-about" }, sizeText(open)));
  disable(view.up, at.length === 0);
  const isWaiting = path.length - 1 < at.length || isUnread(open);
  root.dataset.waiting = String(isWaiting);
  list.setState(...stateOf(view));
  list.setCount(view.shown.length, { keep: isSame });
  list.select(view.picked, false);
  showLine(view, view.shown[view.picked] ?? null);
  map.markLinked();
  map.ask();
}

function crumb({ model }, node, level, last) {
  const name = node.kind === "segment" ? `segment ${node.name}` : node.kind === "partition" ? node.key : node.name;
  const link = h("button", {
    type: "button",
    class: "klw-crumb",
    "aria-current": level === last ? "true" : null,
    title: node.kind === "all" ? model.get("_usage").path : name,
    onclick: () => go(model, node.path),
  });
  fillName(link, name);
  return level ? [h("i", { "aria-hidden": "true" }, icon("chevron")), link] : [link];
}

function showLine({ open, line }, node) {
  const hint = [open.children.some(isOpenable) && "Click an area to open it.", open.kind === "all" && colorNote(open)]
    .filter(Boolean).join(" ");
  line.textContent = node ? nodeSentence(node, open) : hint;
  line.title = line.textContent;
}

// What is shown where nothing is inside of what is open.
function stateOf({ root }) {
  if (root.dataset.waiting === "true") return ["loading", "Reading…"];
  return ["empty", "No bytes on disk."];
}

export default { render: withKernel(render, { isWhole: true }) };
