// A player's steps: all of them in a list, one as text, and a button for each kind.
import { h } from "../shared/dom.js";
import { count } from "../shared/format.js";
import { dataGrid } from "../shared/rows.js";
import { namesTime } from "../shared/zone.js";

// `player` is {data, at}, which change; `onPick` gets the number of a step.
export function stepList({ player, signal, onPick }) {
  const grid = dataGrid({
    label: "Steps",
    signal,
    rowHeight: 24,
    columns: columnsOf(true),
    cellsOf: (i) => stepCells(player.data, i),
    rowKind: (i) => (player.data.role(i) === "invalid" ? "bad" : i > player.at ? "later" : ""),
    onPick,
  });
  return {
    ...grid,
    setData(data) {
      grid.setColumns(columnsOf(data.hasPlaces));
      grid.setCount(data.length, { keep: true });
    },
  };
}

// Where all steps are in one place, the step shown names it, and the reasons get the room.
function columnsOf(hasPlaces) {
  return [
    { name: "Step", width: "52px", number: true },
    { name: "What", width: "minmax(150px, .42fr)" },
    { name: "Why", width: "minmax(160px, 1fr)" },
    ...(hasPlaces ? [{ name: "Where", width: "minmax(var(--klw-where, 60px), .32fr)", mono: true }] : []),
  ];
}

function stepCells(data, i) {
  const role = data.role(i), reason = data.reason(i), file = data.file(i);
  const why = reason || data.numbers(i).map(([name, text]) => `${name} ${text}`).join(", ");
  return [
    count(i + 1),
    { text: data.kind(i), title: data.kind(i), kind: role === "invalid" || role === "cut" ? "bad" : "" },
    { text: why, title: why },
    ...(data.hasPlaces ? [{ text: shortFile(file), kind: "quiet", title: file }] : []),
  ];
}

// Names of segment files without the zeros in front.
export function shortFile(name) {
  return name.replace(/^0{8,}(?=\d)/, "…");
}

export const stepHead = (data, i) => [h("i", { "data-role": data.role(i) }), data.kind(i)];

// The reason; one of a single word, such as a configuration's name, needs the meaning before it.
export function stepSentence(data, i) {
  const reason = data.reason(i), meaning = data.meaning(i);
  return reason.includes(" ") ? `${reason}.` : `${meaning}${reason ? `: ${reason}` : ""}.`;
}

export function stepWords(data, i) {
  return [
    h("h4", {}, ...stepHead(data, i)),
    h("p", { class: "klw-why" }, `${data.reason(i) || data.meaning(i)}.`),
    data.reason(i) ? h("p", { class: "klw-meaning" }, `${data.meaning(i)}.`) : null,
    h(
      "dl",
      {},
      ...data.numbers(i).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, ...wordsOf(text))]),
      h("dt", {}, "where"),
      h("dd", { class: "klw-mono" }, data.file(i)),
    ),
  ].filter(Boolean);
}

// A time breaks nowhere, not even at its hyphens.
const wordsOf = (text) => namesTime(text) ? text.split(/(?= )/).map((word) => h("span", {}, word)) : [text];

// A button for each kind of step, which leads to the next one of it; `onPick` gets the number of a kind.
export function stepKinds({ onPick }) {
  const el = h("div", { class: "klw-kinds", role: "group", "aria-label": "Next step of a kind" });
  return {
    el,
    setData(data) {
      el.replaceChildren(
        ...data.kinds.map(([kind, meaning, n], number) =>
          h(
            "button",
            {
              type: "button",
              class: "klw-kind",
              title: `${meaning}: go to the next`,
              "data-number": number,
              onclick: () => onPick(number),
            },
            h("i", { "data-role": data.roleOfKind(number) }),
            kind,
            h("small", {}, count(n)),
          )
        ),
      );
    },
    // The kind of the step shown; -1 for none.
    show(number) {
      for (const each of el.children) each.setAttribute("aria-pressed", String(Number(each.dataset.number) === number));
    },
  };
}
