// A field to choose a name in: it searches among those that can be picked.
import { h } from "./dom.js";

let lists = 0;

// A field that shows a name; when it has the focus, it searches among those that can be picked.
export function picker(label, hint, onPick) {
  const id = `klw-picks-${++lists}`, options = h("datalist", { id });
  const input = h("input", {
    class: "klw-input",
    type: "text",
    list: id,
    "aria-label": label,
    placeholder: hint,
    spellcheck: "false",
    autocomplete: "off",
  });
  let shown = "";
  input.addEventListener("focus", () => {
    input.placeholder = shown || hint;
    input.value = "";
  });
  input.addEventListener("blur", () => {
    input.placeholder = hint;
    input.value = shown;
  });
  const take = () => {
    const text = input.value.trim();
    if (!text || text === shown) return;
    onPick(text);
    input.blur();
  };
  input.addEventListener("change", take);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.stopPropagation();
    if (event.key === "Enter") take();
    else input.blur();
  });
  return {
    el: h("span", { class: "klw-picker" }, input, options),
    set(value, names) {
      shown = value ?? "";
      if (input.ownerDocument.activeElement !== input) input.value = shown;
      else input.placeholder = shown || hint;
      input.style.width = `calc(${Math.min(32, Math.max(6, shown.length))}ch + 22px)`;
      input.disabled = names !== null && !names.length;
      if (names && names !== options.__names) {
        options.replaceChildren(...names.map((name) => h("option", { value: name })));
        options.__names = names;
      }
    },
  };
}
