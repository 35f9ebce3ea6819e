// The treemap of DiskUsage: what is open, and one level of what is inside, as fields to click.
import { fillName, h, samePrefix } from "../shared/dom.js";
import { bytes } from "../shared/format.js";
import { painter } from "../shared/host.js";
import { stateNote } from "../shared/state.js";
import { isOpenable, nodeSentence, shareText, sizeText } from "./disk_usage_data.js";
import { tilesOf } from "./treemap.js";

const NARROW = 90; // px: the beginning of a name says more than its end
const LEAST = 46, LEAST_ALIKE = 72, AROUND = 14, LETTER = 6.8; // px: of a part of a name, of one that begins as others
const HATCHED = new Set(["preallocated", "unreadable"]);

// `held()` returns {open, picked, nothing, linked}: the open node, the one that is selected in it, the kind
// and the words of what is shown without any, and the segment of the explorer's selection. `onClick` and `onPoint` get
// a node, null for none.
export function usageMap({ held, signal, stats, onClick, onPoint }) {
  const el = h("div", {
    class: "klw-treemap",
    tabindex: 0,
    role: "listbox",
    "aria-label": "Treemap: arrow keys select, Enter opens, Escape goes up",
  });
  const nodeAt = (event) => event.target.closest(".klw-tile")?.__node ?? null;

  function draw() {
    const { open, nothing } = held(), prefixOf = prefixes();
    const tiles = tilesOf(open.children, [0, 0, el.clientWidth, el.clientHeight]).map((each) =>
      tileOf(each, open, prefixOf(each.node))
    );
    el.setAttribute("role", tiles.length ? "listbox" : "group");
    if (!tiles.length) tiles.push(stateNote(...nothing));
    el.replaceChildren(...tiles);
    markLinked();
    markPicked();
    stats.draws++;
    stats.tiles = tiles.length;
  }
  function markPicked() {
    const { picked } = held();
    if (!picked) return;
    for (const tile of el.querySelectorAll("[role=option]")) {
      tile.setAttribute("aria-selected", String(tile.__node === picked));
      if (tile.__node === picked) el.setAttribute("aria-activedescendant", tile.id);
    }
  }
  function markLinked() {
    const { linked } = held();
    for (const tile of el.children) {
      tile.toggleAttribute("data-linked", tile.__node?.kind === "segment" && tile.__node.key === linked);
    }
  }
  el.addEventListener("click", (event) => nodeAt(event) && onClick(nodeAt(event)));
  el.addEventListener("pointerover", (event) => nodeAt(event) && onPoint(nodeAt(event)));
  el.addEventListener("pointerleave", () => onPoint(null));
  return { el, ask: painter(el, draw, signal), markPicked, markLinked };
}

// Returns what the names beside a node's begin with, too.
function prefixes() {
  const known = new Map();
  return ({ parent }) => {
    if (!parent) return "";
    if (!known.has(parent)) known.set(parent, samePrefix(parent.children.map(({ name }) => name)));
    return known.get(parent);
  };
}

function tileOf({ node, rect: [x, y, wide, tall], number, isBox }, open, prefix) {
  const needed = Math.min(AROUND + LETTER * node.name.length, prefix ? LEAST_ALIKE : LEAST);
  const isNamed = wide >= needed && tall > 17, isOption = number !== null;
  const el = h(
    "div",
    {
      class: "klw-tile",
      id: isOption ? `klw-tile-${number}` : null,
      role: isOption ? "option" : null,
      "aria-hidden": isOption ? null : "true",
      "aria-selected": isOption ? "false" : null,
      "aria-label": isOption ? `${node.name}, ${sizeText(node)}, ${shareText(node, open)}` : null,
      title: nodeSentence(node, open),
      "data-named": isNamed,
      "data-box": isBox,
      "data-hatched": HATCHED.has(node.kind),
      "data-opens": isOpenable(node),
      "data-active": node.kind === "segment" && node.note === "active",
      style: `left:${x.toFixed(1)}px;top:${y.toFixed(1)}px;width:${wide.toFixed(1)}px;height:${tall.toFixed(1)}px;` +
        `--hue:${node.color ?? "#8b949e"}`,
    },
    isNamed ? (wide < NARROW && !prefix ? h("b", {}, node.name) : fillName(h("b", {}), node.name, prefix)) : null,
    isNamed && (isBox ? wide > 150 : tall > 34 && wide > 60) ? h("span", {}, bytes(node.occupied)) : null,
  );
  el.__node = node;
  return el;
}
