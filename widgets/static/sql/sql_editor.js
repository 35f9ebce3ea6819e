// The field in which SQL is typed: Ctrl+Enter runs it, Tab takes the marked completion.
import { h } from "../shared/dom.js";

let editors = 0;

// `complete(text, at)` resolves to {completions: [[start, word, meaning]]}.
export function sqlEditor({ complete, onRun }) {
  const id = `klw-sql-${++editors}`;
  const input = h("textarea", {
    class: "klw-input klw-sqltext",
    rows: 3,
    spellcheck: "false",
    autocomplete: "off",
    role: "combobox",
    "aria-label": "Query in SQL",
    "aria-expanded": "false",
    "aria-controls": id,
    "data-live": "disable",
    placeholder: "select topic, count(*) from records group by all",
  });
  const list = h("div", { class: "klw-completions", id, role: "listbox", "aria-label": "Completions", hidden: true });
  const el = h("div", {}, input, list);
  let choices = [], at = 0;
  function hide() {
    choices = [];
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
  }
  function mark(next) {
    at = (next + choices.length) % choices.length;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
  }
  async function offer() {
    const text = input.value, place = input.selectionStart, answer = await complete(text, place);
    if (input.value !== text || document.activeElement !== input) return;
    choices = answer?.completions ?? [];
    list.replaceChildren(...choices.map(([, word, meaning], i) =>
      h(
        "div",
        { role: "option", onpointerdown: (event) => (event.preventDefault(), take(i)) },
        h("b", {}, word),
        h("span", {}, meaning),
      )
    ));
    list.hidden = !choices.length;
    input.setAttribute("aria-expanded", String(choices.length > 0));
    if (choices.length) mark(0);
  }
  function take(i) {
    const [start, word] = choices[i];
    hide();
    input.setRangeText(word, start, input.selectionStart, "end");
    input.focus();
  }
  input.addEventListener("input", offer);
  input.addEventListener("blur", hide);
  input.addEventListener("keydown", (event) => {
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      hide();
      onRun();
    } else if (way && choices.length) mark(at + way);
    else if (event.key === "Tab" && !event.shiftKey && choices.length) take(at);
    else if (event.key === "Escape" && choices.length) hide();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return {
    el,
    focus: () => input.focus(),
    get text() {
      return input.value;
    },
    set(text) {
      hide();
      if (input.value !== text) input.value = text;
    },
  };
}
