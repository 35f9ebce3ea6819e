// The explorer's lower half: lists, bytes, files and findings in tabs, and the handles that change sizes.
import { bytesView } from "../bytes/bytes_view.js";
import { h } from "../shared/dom.js";
import { segmentLists } from "./explorer_lists.js";
import { pythonButton } from "./explorer_panels.js";
import { fileList, fileView } from "./file_view.js";
import { findingView } from "../verification/finding_view.js";
import { pageStore } from "../shared/pages.js";
import { splitter } from "../shared/splitter.js";
import { tabStrip } from "../shared/tabs.js";

// The lists of the selected segment, whose data and first rows are in `view.held`.
export function listsOf(view, { selectedBatch, onPick }) {
  const { model, signal, ask, announce, selection, held } = view;
  const store = pageStore({
    changed: () => lists.records.refresh(),
    fetch: (start, stop) => ask("records", selection.inSegment({ start, stop })).then((answer) => answer?.rows),
  });
  const lists = segmentLists({
    model,
    signal,
    store,
    held: () => held.data,
    firstRows: () => held.firstRows,
    selectedBatch,
    onBatch: onPick,
    onRecord: (row) => {
      announce(`Record ${row[0]}.`);
      selection.choose({ position: held.data.position[row[5]], offset: row[0] || null });
    },
    onShow: (name) => view.tabs.show(name, true),
    onWindow: () => view.tail?.moved(),
  });
  return { store, ...lists };
}

export function bytesOf({ signal, ask, selection }) {
  return bytesView({
    signal,
    fetch: (inside, start, stop) => {
      const { position } = selection.chosen();
      return ask("bytes", selection.inSegment({ position, inside, start, stop }));
    },
  });
}

export function filesOf({ signal, ask, model, selection }) {
  return fileList({
    signal,
    fetch: () => ask("files", { partition: selection.chosen().partition }).then((answer) => answer?.rows ?? []),
    onOpen: (file) => model.choose({ file }),
  });
}

// A file of the directory in place of the partition, until it is closed.
export function openFileOf(view) {
  const { root, signal, ask, model, selection, tree } = view;
  return fileView({
    root,
    signal,
    tools: [pythonButton(view, "file", "File")],
    fetch: (path, start, stop) => ask("file_bytes", { path, start, stop }),
    onClose: () => {
      model.choose({ file: null });
      tree.setSelected(selection.chosen().partition);
      tree.el.querySelector(".klw-tree").focus();
    },
  });
}

export function findingsOf({ signal, selection }) {
  return findingView({
    signal,
    onPick: (each) => each.partition === selection.chosen().partition && selection.goTo(each),
    onGo: selection.goTo,
  });
}

export function explorerTabs(view) {
  const { records, batches, offsetIndex, timeIndex, hex, files, findings, root } = view;
  const python = (name, label) => pythonButton(view, name, label);
  return tabStrip({
    records: ["Records", records.el, python("records", "Records")],
    bytes: ["Bytes", hex.el, python("bytes", "Bytes")],
    batches: ["Batches", batches.el, python("batches", "Batches")],
    offset_index: ["Offset index", offsetIndex.el, python("offset_index", "Offset index")],
    time_index: ["Time index", timeIndex.el, python("time_index", "Time index")],
    files: ["Files", files.el],
    findings: ["Findings", findings.el, findings.tools, python("findings", "Findings")],
  }, {
    beside: "bytes",
    handle: splitter({
      root,
      pane: () => hex.el.parentElement,
      name: "--klw-beside",
      label: "Width of the bytes",
      axis: "x",
      grows: -1,
      least: 320,
      most: 1400,
    }),
  });
}

// The tree, the pictures with the lists, and the handles between them.
export function explorerBody({ root, tree, instead, views, tabs, file }) {
  const foot = splitter({
    root,
    pane: () => (file.el.isConnected ? file.body : tabs.el.querySelector(".klw-panes")),
    name: "--klw-panes",
    label: "Height of the lists",
    axis: "y",
    least: 150,
    most: 1000,
  });
  const fence = splitter({
    root,
    pane: () => tree.el,
    name: "--klw-side",
    label: "Width of the topics",
    axis: "x",
    least: 120,
    most: 640,
  });
  const main = h("main", { class: "klw-main" }, instead.el, views, foot);
  return { el: h("div", { class: "klw-body" }, tree.el, fence, main), foot };
}
