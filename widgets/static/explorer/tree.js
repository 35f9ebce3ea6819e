// The tree of log directories, topics, partitions and other files; only the visible rows exist.
import { button, h } from "../shared/dom.js";
import { onKeys } from "../shared/frame.js";
import { windowedRows } from "../shared/rows.js";
import { stateInstead, stateNote } from "../shared/state.js";
import { keysAbove, placed, sumUpward, visibleNodes } from "./tree_nodes.js";
import { fillTreeRow, treeRow } from "./tree_row.js";

// `onSelect` gets the key of a partition, `onFile` that of a file.
export function directoryTree({ onSelect, onFile, signal }) {
  const picks = { partition: onSelect, file: onFile }, parts = treeParts(() => clearFilter(tree)), { el, box } = parts;
  const tree = {
    ...parts,
    nodes: [],
    shown: [], // the visible ones
    sums: [], // findings of each node
    open: new Set(), // keys
    fresh: new Set(), // keys
    found: { counts: {}, verified: [], changed: [] },
    selected: null,
    active: 0, // the row that keys move
  };
  const rows = tree.rows = windowedRows({
    box,
    rowHeight: 26,
    signal,
    makeRow: treeRow,
    fillRow(row, i) {
      const node = tree.shown[i];
      fillTreeRow(row, node, {
        isSelected: node.key === tree.selected && node.kind in picks,
        isActive: i === tree.active,
        isOpen: isOpen(tree, node),
        isFresh: tree.fresh.has(node.key),
        sums: tree.sums[node.at],
      });
    },
  });
  actOnTree(tree, picks);
  filterTree(tree);
  return {
    el,
    setNodes(sent, { openAll }) {
      const { counts, verified, changed } = tree.found;
      tree.nodes = placed(sent);
      tree.sums = sumUpward(tree.nodes, counts, verified, changed);
      for (const node of openAll ? tree.nodes : []) if (node.children && !node.quiet) tree.open.add(node.key);
      showNodes(tree);
    },
    setSelected(key) {
      tree.selected = key;
      for (const above of keysAbove(tree.nodes, key)) tree.open.add(above);
      showNodes(tree);
      const i = tree.shown.findIndex((each) => each.key === key);
      if (i < 0) return;
      // With its topic, unless a click chose it: then nothing moves under the mouse.
      const { parent } = tree.shown[i];
      if (i !== tree.active && parent >= 0) rows.reveal(tree.shown.indexOf(tree.nodes[parent]));
      tree.active = i;
      rows.reveal(i);
    },
    // Findings by node, as {key: {severity: count}}, the verified partitions, those changed since; all summed upward.
    setFindings(counts, verified, changed) {
      tree.found = { counts, verified, changed };
      tree.sums = sumUpward(tree.nodes, counts, verified, changed);
      rows.refresh();
    },
    // Keys of the nodes with something new.
    setFresh(keys) {
      tree.fresh = new Set(keys);
      rows.refresh();
    },
    repaint: rows.refresh,
  };
}

function treeParts(onClear) {
  const filter = h("input", {
    class: "klw-input",
    type: "search",
    placeholder: "Filter topics",
    "aria-label": "Filter topics and partitions",
    spellcheck: "false",
  });
  const box = h("div", { class: "klw-tree", tabindex: 0, role: "tree", "aria-label": "Topics and partitions" });
  const nothing = stateInstead([box]);
  const clear = button("Clear the filter", { text: "Clear the filter", kind: "klw-framed", onclick: onClear });
  const el = h(
    "nav",
    { class: "klw-side", "aria-label": "Log directory" },
    h("div", { class: "klw-filter" }, filter),
    box,
    nothing.el,
  );
  return { el, box, filter, nothing, clear };
}

const isOpen = ({ open, filter }, node) => open.has(node.key) || filter.value.trim() !== "";

function showNodes(tree) {
  const { nodes, open, filter, rows, nothing, clear } = tree, wanted = filter.value.trim();
  const shown = tree.shown = visibleNodes(nodes, open, filter.value);
  tree.active = Math.min(tree.active, Math.max(0, shown.length - 1));
  rows.setCount(shown.length);
  const text = `No topic, partition or file has “${wanted}” in its name.`;
  nothing.set(shown.length || !wanted ? null : stateNote("empty", text, clear));
}

function toggle(tree, node, isOpened = !tree.open.has(node.key)) {
  if (isOpened) tree.open.add(node.key);
  else tree.open.delete(node.key);
  showNodes(tree);
}

// Clicks and keys: `picks` has what to call for a partition and for a file.
function actOnTree(tree, picks) {
  const { box, rows } = tree;
  function activate(i, isClick) {
    const { shown } = tree, active = tree.active = Math.max(0, Math.min(shown.length - 1, i)), node = shown[active];
    if (!node) return;
    box.setAttribute("aria-activedescendant", `klw-node-${node.at}`);
    rows.reveal(active);
    if (node.kind in picks) picks[node.kind](node.key);
    else if (isClick && node.children) toggle(tree, node);
  }
  function inward(node) {
    if (isOpen(tree, node)) activate(tree.active + 1);
    else toggle(tree, node, true);
  }
  function outward(node) {
    if (node.children && tree.open.has(node.key)) toggle(tree, node, false);
    else if (node.parent >= 0) activate(tree.shown.indexOf(tree.nodes[node.parent]));
  }
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".klw-item");
    if (row) activate(Number(row.dataset.row), true);
  });
  onKeys(box, ({ key }) => {
    const { active, shown } = tree, node = shown[active], page = rows.shown - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (key in steps) activate(active + steps[key]);
    else if (key === "Home") activate(0);
    else if (key === "End") activate(shown.length - 1);
    else if (key === "ArrowRight" && node?.children) inward(node);
    else if (key === "ArrowLeft" && node) outward(node);
    else if (key === "Enter" || key === " ") activate(active, true);
    else return false;
  });
}

function filterTree(tree) {
  const { filter, box, rows } = tree;
  filter.addEventListener("input", () => {
    tree.active = 0;
    rows.reset();
    showNodes(tree);
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      box.focus();
    }
    if (event.key === "Escape" && filter.value) {
      clearFilter(tree);
      event.stopPropagation();
    }
  });
}

function clearFilter(tree) {
  tree.filter.value = "";
  showNodes(tree);
  tree.filter.focus();
}
