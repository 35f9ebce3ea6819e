// A field to choose a name in: it searches among those that can be picked.
import { fillName, h, samePrefix } from "./dom.js";

const LONG_NAME = 24, MOST_WIDE = 72, OF_PREFIX = 12; // characters; those that are kept of what all names begin with

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
  const name = h("span", { "aria-hidden": "true" }); // of a long name, so that its end is in sight
  const el = h("span", { class: "klw-picker", "data-value": "" }, input, options, name);
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
    el,
    set(value, names) {
      shown = value ?? "";
      if (input.ownerDocument.activeElement !== input) input.value = shown;
      else input.placeholder = shown || hint;
      if (names && names !== options.__names) options.__prefix = samePrefix(names);
      const prefix = names?.length ? options.__prefix ?? "" : "", more = Math.max(0, prefix.length - OF_PREFIX);
      input.style.width = `calc(${Math.min(MOST_WIDE, Math.max(6, shown.length - more))}ch + 22px)`;
      input.title = el.dataset.value = shown.length > LONG_NAME ? shown : "";
      fillName(name, el.dataset.value, prefix);
      input.disabled = names !== null && !names.length;
      if (names && names !== options.__names) {
        options.replaceChildren(...names.map((name) => h("option", { value: name })));
        options.__names = names;
      }
    },
  };
}
