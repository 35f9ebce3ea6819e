// DiskUsage: what fills the disk, as a treemap and a list; a click opens, Escape closes.
import { isOpenable, listed, nodesOnPath, usageTree } from "./disk_usage_data.js";
import { button, h, icon } from "./dom.js";
import { bytes, plural } from "./format.js";
import { painter } from "./host.js";
import { withKernel } from "./kernel.js";
import { popover } from "./popover.js";
import { dataGrid } from "./rows.js";
import { followTheme } from "./theme.js";
import { squarify, withRest } from "./treemap.js";

const MOST_TILES = 120, MOST_INNER = 40, HEADER = 20, PAD = 3;
const HATCHED = new Set(["preallocated", "unreadable"]);
const KIND_WORDS = { directory: "directory", topic: "topic", partition: "partition", segment: "segment" };

function render({ model, el, signal: outer }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  let root = null, open = null, shown = [], tiled = [], picked = -1;
  let inside = {}; // what a file answered; a kernel changes the traits instead

  const frame = h("section", { class: "klw klw-disk", tabindex: 0 });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const sheet = popover(frame);
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const code = button("Python code for these sizes", {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Python", model.get("query")),
  });
  const refresh = button("List the directory again", {
    glyph: "refresh",
    onclick: () => model.send({ kind: "refresh", id: 0 }),
  });
  const error = h("div", { class: "klw-error", hidden: true, role: "alert" });
  const crumbs = h("nav", { class: "klw-crumbs", "aria-label": "What is open" });
  const up = button("Close, one level up", { glyph: "back", onclick: () => goUp() });
  const map = h("div", {
    class: "klw-treemap",
    tabindex: 0,
    role: "listbox",
    "aria-label": "Treemap: arrow keys select, Enter opens, Escape goes up",
  });
  const line = h("p", { class: "klw-diskline" });
  const list = dataGrid({
    label: "Sizes",
    signal,
    rowHeight: 26,
    emptyText: "Nothing here.",
    onPick: (i) => pick(i, { isFromList: true }),
    onOpen: (i) => openNode(shown[i]),
    columns: [
      { name: "Name", width: "minmax(110px, 1.4fr)" },
      { name: "On disk", width: "76px", number: true, title: "Bytes that the disk holds" },
      { name: "Share", width: "58px", number: true },
      { name: "Length", width: "76px", number: true, title: "Length of the files, with their holes" },
      { name: "What", width: "minmax(90px, 1.2fr)" },
    ],
    cellsOf(i) {
      const node = shown[i];
      return [
        {
          text: node.name,
          title: node.name,
          kind: isOpenable(node) ? "opens" : node.parent !== open ? "part" : "",
        },
        bytes(node.occupied),
        share(node),
        { text: bytes(node.size), kind: node.size === node.occupied ? "quiet" : "" },
        { text: node.note, title: node.note, kind: node.kind === "unreadable" ? "bad" : "hidden" },
      ];
    },
    rowKind: (i) => (shown[i].kind === "unreadable" && shown[i].size ? "bad" : ""),
  });
  const ask = painter(map, draw, signal);
  frame.append(
    h("header", { class: "klw-top" }, title, sum, code, refresh),
    error,
    h("div", { class: "klw-phead" }, up, crumbs),
    h(
      "div",
      { class: "klw-diskbody" },
      h("div", { class: "klw-treebox" }, map, line),
      h("div", { class: "klw-sizes" }, list.el),
    ),
    live,
  );
  el.append(frame);

  const share = (node) => {
    const part = open.occupied > 0 ? (100 * node.occupied) / open.occupied : 0;
    return part > 0 && part < 0.1 ? "<0.1 %" : `${part.toFixed(part < 10 ? 1 : 0)} %`;
  };
  const both = (node) =>
    node.size === node.occupied
      ? bytes(node.occupied)
      : `${bytes(node.occupied)} on the disk, ${bytes(node.size)} long`;
  const sentence = (node) =>
    [KIND_WORDS[node.kind] ? `${KIND_WORDS[node.kind]} ${node.name}` : node.name, both(node), share(node), node.note]
      .filter(Boolean).join(" · ");

  // What is open.
  function openNode(node) {
    if (!node || !isOpenable(node)) return;
    const isKnown = node.isRead || (node.kind !== "partition" && node.kind !== "segment");
    if (isKnown) go(node.path);
    else if (model.isLive) model.choose({ at: node.path });
    else model.send({ kind: "inside", id: 0, path: node.path }); // a file may have it
  }
  const onAnswer = (content) => {
    if (content.kind !== "inside") return;
    inside = { partition: content.partition ?? inside.partition, segment: content.segment ?? null };
    go(content.path);
  };
  function go(path) {
    model.set("at", path);
    model.save_changes();
  }
  function goUp() {
    const path = model.get("at");
    if (path.length) go(path.slice(0, -1));
  }
  function pick(i, { isFromList = false } = {}) {
    picked = i;
    const node = shown[i];
    if (!isFromList) list.select(i);
    for (const tile of map.querySelectorAll("[role=option]")) {
      tile.setAttribute("aria-selected", String(tile.__node === node));
      if (tile.__node === node) map.setAttribute("aria-activedescendant", tile.id);
    }
    showLine(node);
    if (node) live.textContent = sentence(node);
  }
  // To the next field, the one that is less large, or back.
  function step(by) {
    const last = tiled.length - 1, at = tiled.indexOf(shown[picked]);
    if (last >= 0) pick(shown.indexOf(tiled[Math.max(0, Math.min(last, at + by))]));
  }
  function showLine(node) {
    const hint = open && open.children.some(isOpenable) ? "Click a field to open it." : "";
    line.textContent = node ? sentence(node) : hint;
    line.title = line.textContent;
  }

  // From the model to the views.
  function showAll() {
    const at = model.get("at") ?? [];
    root = usageTree(
      model.get("_usage"),
      inside.partition ?? model.get("_partition"),
      inside.segment ?? model.get("_segment"),
    );
    const path = nodesOnPath(root, at), before = open && open.path.join("\n"), kept = shown[picked]?.key;
    open = path[path.length - 1];
    shown = listed(open);
    tiled = open.children;
    const isSame = open.path.join("\n") === before;
    picked = isSame ? shown.findIndex((node) => node.key === kept) : -1;
    title.textContent = root.name;
    title.title = model.get("_usage").path;
    const kinds = new Set();
    visitTopics(root, (topic) => kinds.add(topic.key));
    sum.textContent = `${plural(kinds.size, "topic")} · ${both(root)}`;
    frame.setAttribute("aria-label", `What fills the disk of ${root.name}: ${both(root)}`);
    crumbs.replaceChildren(...path.flatMap((node, i) => crumb(node, i === path.length - 1, i)));
    crumbs.append(h("span", { class: "klw-about" }, both(open)));
    up.disabled = at.length === 0;
    const isWaiting = path.length - 1 < at.length ||
      (["partition", "segment"].includes(open.kind) && !open.isRead);
    frame.dataset.waiting = String(isWaiting);
    list.setEmptyText(isWaiting ? "Reading…" : "No files here.");
    list.setCount(shown.length, { keep: isSame });
    list.select(picked, false);
    showLine(shown[picked] ?? null);
    markSelected();
    ask();
  }
  function visitTopics(node, act) {
    if (node.kind === "topic") act(node);
    else node.children.forEach((each) => visitTopics(each, act));
  }
  function crumb(node, isLast, level) {
    const name = node.kind === "segment" ? `segment ${node.name}` : node.kind === "partition" ? node.key : node.name;
    const link = h("button", {
      type: "button",
      class: "klw-crumb",
      "aria-current": isLast ? "true" : null,
      title: node.kind === "all" ? model.get("_usage").path : null,
      onclick: () => go(node.path),
    }, name);
    return level ? [h("i", { "aria-hidden": "true" }, icon("chevron")), link] : [link];
  }
  function markSelected() {
    const segment = model.get("selected")?.segment;
    for (const tile of map.children) {
      tile.toggleAttribute("data-linked", tile.__node?.kind === "segment" && tile.__node.key === segment);
    }
  }

  // The treemap: what is open, and one level of what is inside.
  function draw() {
    const box = [0, 0, map.clientWidth, map.clientHeight], nodes = withRest(tiled, MOST_TILES);
    const rects = squarify(nodes.map((node) => node.occupied), box), tiles = [];
    nodes.forEach((node, i) => {
      const rect = inset(rects[i], 1.5), inner = innerBox(node, rect);
      tiles.push(tile(node, rect, { isOption: true, isBox: inner !== null, number: i }));
      if (!inner) return;
      const inside = withRest(node.children, MOST_INNER);
      squarify(inside.map((each) => each.occupied), inner).forEach((each, k) => {
        tiles.push(tile(inside[k], inset(each, 1), { isOption: false, isBox: false }));
      });
    });
    if (!nodes.length) tiles.push(h("p", { class: "klw-note" }, emptyText()));
    map.replaceChildren(...tiles);
    markSelected();
    if (picked >= 0) pick(picked);
    stats.draws++;
    stats.tiles = tiles.length;
  }
  function emptyText() {
    if (frame.dataset.waiting === "true") return "Reading…";
    return open.kind === "all" ? "No partitions in this directory." : "The disk holds nothing of it.";
  }
  function innerBox(node, [x, y, w, h]) {
    if (node.children.length === 0 || node.kind === "files" || w < 74 || h < 56) return null;
    return [x + PAD, y + HEADER, w - 2 * PAD, h - HEADER - PAD];
  }
  function tile(node, [x, y, w, height], { isOption, isBox, number }) {
    const isNamed = w > 34 && height > 17;
    const el = h(
      "div",
      {
        class: "klw-tile",
        id: isOption ? `klw-tile-${number}` : null,
        role: isOption ? "option" : null,
        "aria-hidden": isOption ? null : "true",
        "aria-selected": isOption ? "false" : null,
        "aria-label": isOption ? `${node.name}, ${both(node)}, ${share(node)}` : null,
        title: sentence(node),
        "data-named": isNamed,
        "data-box": isBox,
        "data-hatched": HATCHED.has(node.kind),
        "data-opens": isOpenable(node),
        "data-active": node.kind === "segment" && node.note === "active",
        style: `left:${x.toFixed(1)}px;top:${y.toFixed(1)}px;width:${w.toFixed(1)}px;height:${height.toFixed(1)}px;` +
          `--hue:${node.colour ?? "#8b949e"}`,
      },
      isNamed ? h("b", {}, node.name) : null,
      isNamed && (isBox ? w > 150 : height > 34 && w > 60) ? h("span", {}, bytes(node.occupied)) : null,
    );
    el.__node = node;
    return el;
  }
  map.addEventListener("click", (event) => {
    const node = event.target.closest(".klw-tile")?.__node;
    if (!node) return;
    const own = shown.indexOf(node);
    if (own >= 0) pick(own);
    if (isOpenable(node)) openNode(node);
    else if (own < 0) openNode(node.parent);
  });
  map.addEventListener("pointerover", (event) => {
    const node = event.target.closest(".klw-tile")?.__node;
    if (node) line.textContent = sentence(node);
  });
  map.addEventListener("pointerleave", () => showLine(shown[picked]));

  frame.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const onMap = event.target === map || event.target === frame;
    if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else if (event.key === "Escape" || event.key === "Backspace") goUp();
    else if (!onMap) return;
    else if (event.key === "ArrowRight" || event.key === "ArrowDown") step(1);
    else if (event.key === "ArrowLeft" || event.key === "ArrowUp") step(-1);
    else if (event.key === "Home") step(-Infinity);
    else if (event.key === "End") step(Infinity);
    else if (event.key === "Enter") openNode(shown[picked]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const showError = () => {
    error.textContent = model.get("_error");
    error.hidden = !error.textContent;
  };
  const followed = {
    "change:_usage": showAll,
    "change:_partition": showAll,
    "change:_segment": showAll,
    "change:at": showAll,
    "change:selected": markSelected,
    "change:_error": showError,
    "msg:custom": onAnswer,
  };
  for (const [name, act] of Object.entries(followed)) model.on(name, act);
  followTheme(frame, ask, signal);
  showAll();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(name, act);
  };
}

function inset([x, y, w, h], by) {
  return [x + by, y + by, Math.max(1, w - 2 * by), Math.max(1, h - 2 * by)];
}

export default { render: withKernel(render, { isWhole: true }) };
