// The nodes of the explorer's tree: which of them show, where they are, and what is summed over those below.
import { samePrefix } from "../shared/dom.js";

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

// The nodes as the kernel sends them, with their place, their depth, the number of their children, and what all topics
// begin with.
export function placed(sent) {
  const prefix = samePrefix(sent.filter(({ kind }) => kind === "topic").map(({ name }) => name));
  const nodes = sent.map((node, at) => ({ ...node, at, level: 0, children: 0, prefix }));
  for (const node of nodes) {
    if (node.parent < 0) continue;
    node.level = nodes[node.parent].level + 1;
    nodes[node.parent].children++;
  }
  return nodes;
}

// The keys of the nodes above one.
export function keysAbove(nodes, key) {
  const keys = [];
  for (let up = nodes.find((each) => each.key === key)?.parent ?? -1; up >= 0; up = nodes[up].parent) {
    keys.push(nodes[up].key);
  }
  return keys;
}
