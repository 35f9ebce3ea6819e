// LogExplorer: the tree, a partition's segments, a segment's map, and the lists and bytes under it.
import { h } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { showDirectory, showFile, showStrip } from "./explorer_directory.js";
import { explorerHead, silenceBar } from "./explorer_head.js";
import { mapPanel, stripPanel } from "./explorer_panels.js";
import {
  followEnd,
  noSegment,
  selectedBatch,
  showFindings,
  showFresh,
  showLegend,
  showSegment,
  showSelection,
} from "./explorer_segment.js";
import { explorerSelection } from "./explorer_selection.js";
import { bytesOf, explorerBody, explorerTabs, filesOf, findingsOf, listsOf, openFileOf } from "./explorer_tabs.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { closeOutside, popover } from "../shared/popover.js";
import { requests } from "../shared/requests.js";
import { stateInstead } from "../shared/state.js";
import { liveTail } from "../shared/live_tail.js";
import { directoryTree } from "./tree.js";
import { verifyBar } from "../verification/verify_bar.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "", { "aria-label": "Kafka log explorer" });
  const { root, signal } = frame, sheet = popover(root), error = errorBar(), silence = silenceBar();
  const ask = requests(model, { signal, onError: error.show, onSilence: silence.show });
  const view = { ...frame, model, sheet, ask, selection: explorerSelection(model), held: noSegment() };
  view.progress = verifyBar({ onCancel: () => ask("cancel") });
  view.head = headOf(view);
  view.tree = treeOf(view);
  view.partition = stripPanel(view);
  const onPick = (i) => pickBatch(view, i);
  view.segment = mapPanel(view, { onPick, onOpen: () => view.tabs.show("records", true) });
  Object.assign(view, listsOf(view, { selectedBatch: () => selectedBatch(view), onPick }));
  view.findings = findingsOf(view);
  view.hex = bytesOf(view);
  view.files = filesOf(view);
  view.file = openFileOf(view);
  view.tabs = explorerTabs(view);
  view.tabs.el.querySelector(".klw-panes").classList.add("klw-fill");
  view.tail = liveTail({ grid: view.records, what: "record", end: () => "end" });
  view.records.el.after(view.tail.el);
  view.views = h("div", {}, view.partition.el, view.segment.el, view.tabs.el);
  view.instead = stateInstead([view.views]);
  const body = explorerBody(view);
  view.foot = body.foot;
  frame.fill(view.head.el, view.progress.el, silence.el, error.el, body.el);
  onKeys(root, (event) => actOnKey(view, event));
  closeOutside(root, sheet);
  return followModel(view, error);
}

function headOf(view) {
  const { model, sheet, ask, announce, selection } = view;
  const showAllFindings = (scope) => {
    view.findings.setScope(scope);
    view.tabs.show("findings");
  };
  return explorerHead({
    model,
    sheet,
    ask,
    chosen: selection.chosen,
    announce,
    onFollow: (isOn) => isOn && followEnd(view),
    onVerify: () => showAllFindings("here"),
    onVerifyAll: () => showAllFindings("all"),
  });
}

function treeOf({ model, signal, selection }) {
  return directoryTree({
    signal,
    onSelect: (partition) => {
      if (partition !== selection.chosen().partition) selection.choosePartition(partition);
      else if (model.get("file") !== null) model.choose({ file: null });
    },
    onFile: (file) => file !== model.get("file") && model.choose({ file }),
  });
}

function pickBatch(view, i) {
  const { selection, held } = view, isOther = selectedBatch(view) !== i || selection.chosen().offset !== null;
  if (isOther) selection.choose({ position: held.data.position[i], offset: null });
}

function actOnKey({ root, sheet, selection, head, tree }, event) {
  const isTyping = event.target.tagName === "INPUT";
  if (event.key === "Escape" && sheet.isOpen) sheet.close();
  else if (event.key === "Escape" && isTyping) root.focus();
  else if (event.key === "Escape") return selection.stepBack();
  else if (isTyping || isModified(event)) return false;
  else if (event.key === "?") sheet.keys(head.keys);
  else if (event.key === "/") tree.el.querySelector("input").focus();
  else if (event.key === "g") head.goBox.focus();
  else if (event.key === "f") head.follow.toggle();
  else if (event.key === "v") head.eye.el.click();
  else return false;
}

function followModel(view, error) {
  const { model, segment: { map, colors }, partition: { strip } } = view;
  const onFindings = () => showFindings(view), onError = () => error.show(model.get("_error"));
  const onSelected = selectionFollower(view);
  const end = view.follow({
    selected: onSelected,
    view: () => map.setView(model.get("view")),
    _directory: () => showDirectory(view),
    _strip: () => showStrip(view),
    _segment: () => showSegment(view),
    _file: () => showFile(view),
    _fresh: () => showFresh(view),
    follow: view.head.follow.show,
    show_values: view.head.eye.show,
    _findings: onFindings,
    _counts: onFindings,
    _verified: onFindings,
    _changed: onFindings,
    _verification: onFindings,
    _error: onError,
    color_by: () => {
      colors.show(model.get("color_by"));
      view.held.data?.colorBy(model.get("color_by"));
      showLegend(view);
      map.repaint();
    },
  }, () => {
    map.repaint();
    strip.repaint();
  });
  view.head.eye.show();
  onError();
  showDirectory(view);
  onSelected();
  showFile(view);
  showFresh(view);
  return end;
}

// What to call when the selection changes: another segment is shown again.
function selectionFollower(view) {
  let shown = "";
  return () => {
    const { partition, segment } = view.selection.chosen(), place = `${partition}/${segment}`;
    if (place === shown) return showSelection(view);
    shown = place;
    view.tree.setSelected(view.model.get("file") ?? partition);
    view.files.setPartition(partition);
    showStrip(view);
    if (view.held.data || view.selection.segment()) showSegment(view);
  };
}

export default { render: withKernel(render) };
