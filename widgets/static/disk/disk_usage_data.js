// What DiskUsage gets, as a tree: everything, directories, topics, partitions, segments, files, parts.
import { bytes, plural, share } from "../shared/format.js";
import { BLUE, colorOfRank, DAMAGE, GREEN, ORANGE, OTHER, PALETTE, PINK, SKY, VIOLET } from "../shared/theme.js";

const QUIET = "#8b949e";
// Colors of parts and files; the rest has the color of its topic.
const KIND_COLORS = {
  keys: BLUE,
  values: GREEN,
  headers: PINK,
  "record overhead": ORANGE,
  "batch overhead": VIOLET,
  index: SKY,
  timeindex: SKY,
  txnindex: SKY,
  entries: SKY,
  unreadable: DAMAGE,
};
const PLAIN = new Set(["preallocated", "whole", "file", "files", "rest"]);
const KIND_WORDS = { directory: "directory", topic: "topic", partition: "partition", segment: "segment" };

export function usageTree(usage, partition, segment) {
  const root = { key: "", name: usage.title, kind: "all", note: "", children: [], path: [], isQuiet: false };
  attach(root, usage.nodes);
  root.size = root.children.reduce((sum, each) => sum + each.size, 0);
  root.occupied = root.children.reduce((sum, each) => sum + each.occupied, 0);
  colorTopics(root);
  if (partition) {
    const place = findNode(root, (node) => node.kind === "partition" && node.key === partition.name);
    if (place) {
      attach(place, partition.nodes);
      place.isRead = true;
      const inside = segment?.partition === partition.name && place.children.find((each) => each.key === segment.base);
      if (inside) {
        attach(inside, segment.nodes);
        inside.isRead = true;
        for (const file of inside.children) if (file.kind === "log") file.color = QUIET; // its parts have colors
      }
    }
  }
  return root;
}

function attach(parent, rows) {
  parent.children = [];
  const nodes = rows.map(([key, name, above, kind, size, occupied, note, isQuiet]) => ({
    key,
    name,
    above,
    kind,
    size,
    occupied,
    note,
    isQuiet,
    children: [],
  }));
  for (const node of nodes) {
    node.parent = node.above < 0 ? parent : nodes[node.above];
    node.path = [...node.parent.path, node.key];
    node.color = KIND_COLORS[node.kind] ?? (PLAIN.has(node.kind) ? QUIET : node.parent.color);
    node.parent.children.push(node);
  }
  for (const node of [parent, ...nodes]) node.children.sort((a, b) => b.occupied - a.occupied || b.size - a.size);
}

// A color for each of the largest topics, the same in every directory, and one for all others; Kafka's own are gray.
function colorTopics(root) {
  const topics = new Map(), places = [];
  const visit = (node) => {
    if (node.kind === "topic") {
      places.push(node);
      if (!node.isQuiet) topics.set(node.key, (topics.get(node.key) ?? 0) + node.occupied);
    } else node.children.forEach(visit);
  };
  visit(root);
  const ranked = [...topics].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  for (const topic of places) {
    topic.color = topic.isQuiet ? QUIET : colorOfRank(ranked.indexOf(topic.key));
    for (const partition of topic.children) partition.color = topic.color;
  }
}

function findNode(node, test) {
  if (test(node)) return node;
  for (const each of node.children) {
    const found = findNode(each, test);
    if (found) return found;
  }
  return null;
}

// The nodes from the root to the end of a path, as far as they are known.
export function nodesOnPath(root, path) {
  const nodes = [root];
  for (const key of path) {
    const next = nodes[nodes.length - 1].children.find((each) => each.key === key);
    if (!next) break;
    nodes.push(next);
  }
  return nodes;
}

// What the list shows: what is inside of a node; of a segment also the parts of its files.
export function listed(node) {
  return node.kind === "segment" ? node.children.flatMap((file) => [file, ...file.children]) : node.children;
}

// The row of the node with this path; -1 for none.
export function rowOf(nodes, path) {
  return path ? nodes.findIndex((node) => node.path.join("\n") === path.join("\n")) : -1;
}

// Can a node be opened? Partitions and segments are read when they are.
export function isOpenable(node) {
  return Boolean(node.path) && (node.kind === "partition" || node.kind === "segment" || node.children.length > 0);
}

// Does a node have to be read before it can be shown? Only partitions and segments are not read at once.
export function isUnread(node) {
  return (node.kind === "partition" || node.kind === "segment") && !node.isRead;
}

// The color of each topic in a tree.
export function topicColors(root) {
  const colors = new Map();
  const visit = (node) => (node.kind === "topic" ? colors.set(node.key, node.color) : node.children.forEach(visit));
  visit(root);
  return colors;
}

// What the colors of a tree's topics mean, where it has more than there are colors.
export function colorNote(root) {
  const others = new Set([...topicColors(root)].filter(([, color]) => color === OTHER).map(([key]) => key)).size;
  return others
    ? `The ${PALETTE.length} largest topics have colors of their own, ${plural(others, "other")} share one.`
    : "";
}

// The number of topics in a tree, each counted once.
export function topicCount(root) {
  const keys = new Set();
  const visit = (node) => (node.kind === "topic" ? keys.add(node.key) : node.children.forEach(visit));
  visit(root);
  return keys.size;
}

// Which part of what is open a node takes.
export function shareText(node, open) {
  return share(open.occupied > 0 ? node.occupied / open.occupied : 0);
}

// What the disk holds of a node, and the length of its files where that differs.
export function sizeText(node) {
  if (node.size === node.occupied) return bytes(node.occupied);
  return `${bytes(node.occupied)} on the disk, ${bytes(node.size)} long`;
}

export function nodeSentence(node, open) {
  const name = KIND_WORDS[node.kind] ? `${KIND_WORDS[node.kind]} ${node.name}` : node.name;
  return [name, sizeText(node), shareText(node, open), node.note].filter(Boolean).join(" · ");
}
