// A row of the explorer's tree: name, chip, findings and size.
import { fillName, h, icon } from "../shared/dom.js";
import { bytes, count, plural } from "../shared/format.js";

export function treeRow() {
  return h(
    "div",
    { class: "klw-item", role: "treeitem" },
    h("i", {}, icon("chevron")),
    h("b", {}),
    h("span", { class: "klw-chip" }),
    h("span", { class: "klw-badge", role: "img" }),
    h("small", {}),
  );
}

// `isOpen` is for a node with children; `sums` are the findings of the node and of all below it.
export function fillTreeRow(row, node, { isSelected, isActive, isOpen, isFresh, sums }) {
  const [, name, chip, badge, size] = row.children;
  row.id = `klw-node-${node.at}`;
  row.style.setProperty("--level", node.level);
  row.setAttribute("aria-level", node.level + 1);
  row.setAttribute("aria-selected", String(isSelected));
  if (node.children) row.setAttribute("aria-expanded", String(isOpen));
  else row.removeAttribute("aria-expanded");
  Object.assign(row.dataset, { kind: node.kind, quiet: String(node.quiet), active: String(isActive) });
  fillName(name, node.name, node.prefix);
  row.dataset.fresh = String(isFresh);
  row.title = `${node.title ?? node.name}${isFresh ? ": changed since following began" : ""}`;
  chip.hidden = !node.chip;
  chip.textContent = node.chip ?? "";
  fillBadge(badge, sums);
  size.textContent = node.size === null ? "" : bytes(node.size);
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
