// The tree of log directories, topics, partitions and other files; only the visible rows exist.
import { button, h, icon } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";
import { windowedRows } from "../shared/rows.js";

// The nodes that show, in order: those whose ancestors are open, or everything that leads to a match.
export function visibleNodes(nodes, open, filter) {
  const wanted = filter.trim().toLowerCase();
  if (!wanted) {
    return nodes.filter((node) => {
      for (let up = node.parent; up >= 0; up = nodes[up].parent) if (!open.has(nodes[up].key)) return false;
      return true;
    });
  }
  const keep = new Set();
  nodes.forEach((node, i) => {
    let hit = node.name.toLowerCase().includes(wanted) || node.key.toLowerCase().includes(wanted);
    for (let up = node.parent; !hit && up >= 0; up = nodes[up].parent) {
      hit = nodes[up].kind === "topic" && nodes[up].name.toLowerCase().includes(wanted);
    }
    for (let up = i; hit && up >= 0; up = nodes[up].parent) keep.add(up);
  });
  return nodes.filter((_, i) => keep.has(i));
}

// What each node says of findings: those about it and about all below it; whether every partition below was verified.
export function sumUpward(nodes, counts, verified, changed = []) {
  const checked = new Set(verified), stale = new Set(changed);
  const sums = nodes.map((node) => ({
    error: 0,
    warning: 0,
    ...counts[node.key],
    partitions: node.kind === "partition" ? 1 : 0,
    verified: node.kind === "partition" && checked.has(node.key) ? 1 : 0,
    changed: stale.has(node.key) ? 1 : 0,
  }));
  for (let i = nodes.length - 1; i >= 0; i--) { // parents come before their children
    if (nodes[i].parent < 0) continue;
    const above = sums[nodes[i].parent];
    for (const name of Object.keys(above)) above[name] += sums[i][name];
  }
  return sums;
}

function fillBadge(badge, { error, warning, partitions, verified, changed }) {
  const isVerified = partitions > 0 && verified === partitions;
  badge.hidden = !error && !warning && !isVerified;
  badge.textContent = error || warning ? count(error + warning) : "✓";
  badge.dataset.kind = error ? "error" : warning ? "warning" : "";
  const parts = [error && plural(error, "error"), warning && plural(warning, "warning")].filter(Boolean);
  const what = parts.join(", ") || "no findings";
  const some = !isVerified && partitions > 0 && `${count(verified)} of ${count(partitions)} verified`;
  badge.title = [what, some, changed > 0 && "changed since it was verified"].filter(Boolean).join("; ");
  badge.dataset.stale = String(changed > 0);
  badge.setAttribute("aria-label", badge.title);
}

export function directoryTree({ onSelect, onFile, signal }) {
  const picks = { partition: onSelect, file: onFile };
  const filter = h("input", {
    class: "klw-input",
    type: "search",
    placeholder: "Filter topics",
    "aria-label": "Filter topics and partitions",
    spellcheck: "false",
  });
  const box = h("div", { class: "klw-tree", tabindex: 0, role: "tree", "aria-label": "Topics and partitions" });
  const noMatch = h("p", {}),
    nothing = h(
      "div",
      { class: "klw-none", role: "status", hidden: true },
      noMatch,
      button("Clear the filter", { text: "Clear the filter", kind: "klw-framed", onclick: clear }),
    );
  const el = h(
    "nav",
    { class: "klw-side", "aria-label": "Log directory" },
    h("div", { class: "klw-filter" }, filter),
    box,
    nothing,
  );
  let nodes = [], shown = [], selected = null, active = 0;
  let sums = [], found = { counts: {}, verified: [], changed: [] };
  const open = new Set();
  let fresh = new Set();
  const rows = windowedRows({
    box,
    rowHeight: 26,
    signal,
    makeRow: () =>
      h(
        "div",
        { class: "klw-item", role: "treeitem" },
        h("i", {}, icon("chevron")),
        h("b", {}),
        h("span", { class: "klw-chip" }),
        h("span", { class: "klw-badge", role: "img" }),
        h("small", {}),
      ),
    fillRow(row, i) {
      const node = shown[i], [, name, chip, badge, size] = row.children;
      row.id = `klw-node-${node.at}`;
      row.style.setProperty("--level", node.level);
      row.setAttribute("aria-level", node.level + 1);
      row.setAttribute("aria-selected", String(node.key === selected && node.kind in picks));
      if (node.children) row.setAttribute("aria-expanded", String(isOpen(node)));
      else row.removeAttribute("aria-expanded");
      Object.assign(row.dataset, { kind: node.kind, quiet: String(node.quiet), active: String(i === active) });
      name.textContent = node.name;
      row.dataset.fresh = String(fresh.has(node.key));
      row.title = `${node.title ?? node.name}${fresh.has(node.key) ? ": changed since following began" : ""}`;
      chip.hidden = !node.chip;
      chip.textContent = node.chip ?? "";
      fillBadge(badge, sums[node.at]);
      size.textContent = node.size === null ? "" : bytes(node.size);
    },
  });
  const isOpen = (node) => open.has(node.key) || filter.value.trim() !== "";
  function update() {
    shown = visibleNodes(nodes, open, filter.value);
    active = Math.min(active, Math.max(0, shown.length - 1));
    rows.setCount(shown.length);
    nothing.hidden = shown.length > 0 || !filter.value.trim();
    noMatch.textContent = `No topic, partition or file has “${filter.value.trim()}” in its name.`;
  }
  function clear() {
    filter.value = "";
    update();
    filter.focus();
  }
  function toggle(node, to = !open.has(node.key)) {
    if (to) open.add(node.key);
    else open.delete(node.key);
    update();
  }
  function activate(i, isClick) {
    active = Math.max(0, Math.min(shown.length - 1, i));
    const node = shown[active];
    if (!node) return;
    box.setAttribute("aria-activedescendant", `klw-node-${node.at}`);
    rows.reveal(active);
    if (node.kind in picks) picks[node.kind](node.key);
    else if (isClick && node.children) toggle(node);
  }
  box.addEventListener("click", (event) => {
    const row = event.target.closest(".klw-item");
    if (row) activate(Number(row.dataset.row), true);
  });
  box.addEventListener("keydown", (event) => {
    const node = shown[active], page = rows.shown - 1;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page };
    if (event.key in steps) activate(active + steps[event.key]);
    else if (event.key === "Home") activate(0);
    else if (event.key === "End") activate(shown.length - 1);
    else if (event.key === "ArrowRight" && node?.children) {
      if (isOpen(node)) activate(active + 1);
      else toggle(node, true);
    } else if (event.key === "ArrowLeft" && node) {
      if (node.children && open.has(node.key)) toggle(node, false);
      else if (node.parent >= 0) activate(shown.indexOf(nodes[node.parent]));
    } else if (event.key === "Enter" || event.key === " ") activate(active, true);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  filter.addEventListener("input", () => {
    active = 0;
    rows.reset();
    update();
  });
  filter.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      box.focus();
    }
    if (event.key === "Escape" && filter.value) {
      clear();
      event.stopPropagation();
    }
  });
  return {
    el,
    setNodes(next, { openAll }) {
      nodes = next.map((node, at) => ({ ...node, at, level: 0, children: 0 }));
      for (const node of nodes) {
        if (node.parent >= 0) {
          node.level = nodes[node.parent].level + 1;
          nodes[node.parent].children++;
        }
      }
      sums = sumUpward(nodes, found.counts, found.verified, found.changed);
      if (openAll) { for (const node of nodes) if (node.children && !node.quiet) open.add(node.key); }
      update();
    },
    setSelected(key) {
      selected = key;
      const node = nodes.find((each) => each.key === key);
      for (let up = node?.parent ?? -1; up >= 0; up = nodes[up].parent) open.add(nodes[up].key);
      update();
      const i = shown.findIndex((each) => each.key === key);
      if (i >= 0) {
        // With its topic, unless a click chose it: then nothing moves under the mouse.
        if (i !== active && node.parent >= 0) rows.reveal(shown.indexOf(nodes[node.parent]));
        active = i;
        rows.reveal(i);
      }
    },
    // Findings by node, as {key: {severity: count}}, the verified partitions, those changed since; all summed upward.
    setFindings(counts, verified, changed) {
      found = { counts, verified, changed };
      sums = sumUpward(nodes, counts, verified, changed);
      rows.refresh();
    },
    // Keys of the nodes with something new.
    setFresh(keys) {
      fresh = new Set(keys);
      rows.refresh();
    },
    repaint: rows.refresh,
  };
}
