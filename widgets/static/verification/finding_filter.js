// Which findings to list: by severity, kind and topic.
import { button, choice, h } from "../shared/dom.js";
import { count } from "../shared/format.js";

export const ANY = { severity: "", kind: "", topic: "" };

// The findings that meet a filter; `except` names a part of it that does not count.
export function matching(findings, filter, except = "") {
  const asked = Object.entries(filter).filter(([name, value]) => value !== "" && name !== except);
  return findings.filter((each) => asked.every(([name, value]) => each[name] === value));
}

// What a part of the filter can be, and how many findings each choice has under the rest of it.
export function choicesOf(findings, filter, name) {
  const counts = new Map(findings.map((each) => [each[name], 0]));
  for (const each of matching(findings, filter, name)) {
    counts.set(each[name], counts.get(each[name]) + 1);
  }
  return [...counts].filter(([value]) => value !== null).sort(([a], [b]) => (a < b ? -1 : 1));
}

// From the counts by partition and severity: all findings, and the errors.
export function findingTotals(counts) {
  const severities = Object.values(counts).flatMap(Object.entries);
  const sum = (wanted) => severities.reduce((n, [name, each]) => n + (wanted(name) ? each : 0), 0);
  return { all: sum(() => true), errors: sum((name) => name === "error") };
}

// The controls of the filter; `onSet` gets the name and the value of a part, `onClear` shows all findings again.
export function filterBar({ severity, onSet, onClear }) {
  const grades = choice(
    "Which findings",
    [["", "All"], ["error", "Errors"], ["warning", "Warnings"]],
    severity,
    (value) => onSet("severity", value),
  );
  const menu = (name, label) =>
    h("select", {
      class: "klw-input klw-select",
      "aria-label": label,
      onchange: (event) => onSet(name, event.target.value),
    });
  const menus = { kind: menu("kind", "Kind of finding"), topic: menu("topic", "Topic") };
  const about = h("span", { class: "klw-about" });
  const clear = button("Show all findings", { glyph: "cross", text: "Clear", onclick: onClear });
  return {
    el: h("div", { class: "klw-phead" }, grades.el, menus.kind, menus.topic, clear, about),
    about,
    get isClear() {
      return clear.hidden;
    },
    show(findings, asked, isFiltered) {
      grades.show(asked.severity);
      fillMenu(menus.kind, choicesOf(findings, asked, "kind"), asked.kind, "All kinds");
      fillMenu(menus.topic, choicesOf(findings, asked, "topic"), asked.topic, "All topics");
      clear.hidden = !isFiltered;
    },
  };
}

function fillMenu(menu, found, asked, anyText) {
  const choices = asked && !found.some(([value]) => value === asked) ? [...found, [asked, 0]] : found;
  const key = JSON.stringify(choices);
  if (menu.dataset.choices !== key) { // an open menu would close
    menu.dataset.choices = key;
    menu.replaceChildren(
      h("option", { value: "" }, anyText),
      ...choices.map(([value, n]) => h("option", { value }, `${value} (${count(n)})`)),
    );
  }
  menu.value = asked;
  menu.disabled = !choices.length;
}
