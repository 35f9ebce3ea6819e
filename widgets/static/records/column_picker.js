// The sheet in which columns of the records are chosen and put in order: fields of keys and values, too.
import { button, h } from "../shared/dom.js";
import { columnLabel, PLAIN_NAMES } from "./record_columns.js";

// `chosen()` returns the names of the shown columns, `fields()` resolves to the paths that there are.
export function columnPicker({ sheet, from, chosen, fields, onChange }) {
  const search = h("input", {
    class: "klw-input",
    type: "search",
    placeholder: "Find a field",
    "aria-label": "Find a field",
    spellcheck: "false",
    oninput: () => show(),
  });
  const list = h("ul", { class: "klw-columns" });
  const first = button("The first columns again", {
    text: "Reset",
    kind: "klw-framed",
    onclick: () => set([...PLAIN_NAMES]),
  });
  const hint = h("p", {}, "");
  let paths = [];
  function set(names, focus) {
    if (onChange(names) === false) return;
    show(names);
    list.querySelector(`[data-focus="${CSS.escape(focus ?? "")}"]`)?.focus();
  }
  function row(name, names) {
    const at = names.indexOf(name), isShown = at >= 0;
    const box = h("input", {
      type: "checkbox",
      "data-focus": `${name} box`,
      onchange: () => set(isShown ? names.filter((each) => each !== name) : [...names, name], `${name} box`),
    });
    box.checked = isShown;
    const move = (way, glyph, text) => {
      const el = button(`${columnLabel(name)}: ${text}`, {
        glyph,
        onclick: () => {
          const next = names.filter((each) => each !== name);
          next.splice(at + way, 0, name);
          set(next, `${name} ${glyph}`);
        },
      });
      el.dataset.focus = `${name} ${glyph}`;
      el.disabled = at + way < 0 || at + way >= names.length;
      return el;
    };
    return h(
      "li",
      {},
      h("label", {}, box, h("span", { class: name.includes("$") ? "klw-mono" : null }, columnLabel(name))),
      isShown && move(-1, "up", "one place to the left"),
      isShown && move(1, "down", "one place to the right"),
    );
  }
  function show(names = chosen()) {
    const wanted = search.value.trim().toLowerCase();
    const rest = [...PLAIN_NAMES, ...paths].filter((name) => !names.includes(name));
    const isLike = (name) => columnLabel(name).toLowerCase().includes(wanted);
    list.replaceChildren(...[...names, ...rest].filter(isLike).map((name) => row(name, names)));
  }
  sheet.open(
    from,
    "Columns",
    h("div", { class: "klw-pickcolumns" }, h("div", { class: "klw-exportrow" }, search, first), hint, list),
  );
  show();
  fields().then((found) => {
    paths = found ?? [];
    hint.textContent = paths.length ? "" : "No fields: values are hidden, or the first records are not JSON.";
    hint.hidden = paths.length > 0;
    show();
  });
}
