// Findings: a list with two lines for each, and the whole text of the selected one beside it.
import { button, choice, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { TONES } from "../shared/theme.js";

// `onPick` and `onGo` get a finding: it was selected in the list, or is to be shown where it is. Without `isScoped`,
// there is no choice between a partition and everything. `goTo` names the place; null: there is no such button.
export function findingView({ onPick, onGo, signal, isScoped = true, goTo = "Show" }) {
  let all = [], partition = null, total = 0, shown = [], current = null;
  const scopes = choice(
    "Which findings",
    [["here", "This partition"], ["all", "Everything"]],
    "here",
    (what) => setScope(what),
  );
  let scope = isScoped ? "here" : "all";
  const list = dataGrid({
    label: "Findings",
    signal,
    rowHeight: 46,
    columns: [{ name: "Severity", width: "76px" }, { name: "Finding", width: "minmax(0,1fr)" }],
    cellsOf(i) {
      const each = shown[i];
      return [
        { text: each.severity, kind: TONES[each.severity] ?? "" },
        { text: each.kind, after: placeOf(each, scope === "all"), under: each.found, title: each.found },
      ];
    },
    rowKind: (i) => TONES[shown[i].severity] ?? "",
    onPick: (i) => {
      select(i);
      onPick(current);
    },
    onOpen: () => goTo && onGo(current),
  });
  const detail = h("div", { class: "klw-found", tabindex: 0, role: "region", "aria-label": "The selected finding" });
  const el = h("div", { class: "klw-findings" }, list.el, detail);

  function select(i) {
    current = shown[i] ?? null;
    detail.replaceChildren(...(current ? wordsOf(current, goTo, () => onGo(current)) : []));
    detail.hidden = !current;
  }
  function setScope(what) {
    scope = what;
    scopes.show(what);
    update();
  }
  function update() {
    const before = current && keyOf(current), rest = total - all.length;
    shown = scope === "all" ? all : all.filter((each) => each.partition === partition);
    list.setCount(shown.length, { keep: true });
    const again = shown.findIndex((each) => keyOf(each) === before);
    select(Math.max(0, again));
    list.select(current ? Math.max(0, again) : -1, false);
    if (rest > 0 && scope === "all") {
      scopes.el.title = `${plural(rest, "more finding")} not listed: logs.verify() returns all of them`;
    }
  }
  return {
    el,
    tools: scopes.el,
    setScope,
    setState: list.setState,
    // All findings, how many there are even if not listed, and the selected partition.
    setFindings(next, number, here) {
      all = next;
      total = number;
      partition = here;
      update();
    },
  };
}

const keyOf = (each) => JSON.stringify([each.path, each.kind, each.position, each.offset, each.found]);

function placeOf(each, isAnywhere) {
  const file = each.file.replace(/^0{8,}(?=\d)/, "…"); // the partition has room
  const at = each.position === null ? file : `${file} at ${count(each.position)}`;
  return isAnywhere && each.partition !== null ? `${each.partition} · ${at}` : at;
}

function wordsOf(each, goTo, go) {
  const rows = [
    ["Found", each.found],
    ["Expected", each.expected],
    ["Lost", each.lost?.replace(/^Lost: o/, "O")],
    ["A broker", each.broker],
    ["Offset", each.offset === null ? "" : count(each.offset)],
    ["Position", each.position === null ? "" : `byte ${count(each.position)}`],
    ["File", each.path],
  ];
  return [
    h(
      "h4",
      {},
      h("span", { class: "klw-chip", "data-kind": each.severity }, each.severity),
      each.kind,
      goTo
        ? button("Show where this is", { glyph: "goto", text: goTo, kind: "klw-framed", isLive: true, onclick: go })
        : "",
    ),
    h("p", {}, `${each.meaning.charAt(0).toUpperCase()}${each.meaning.slice(1)}.`),
    h("dl", {}, ...rows.flatMap(([name, text]) => (text ? [h("dt", {}, name), h("dd", {}, text)] : []))),
  ];
}
