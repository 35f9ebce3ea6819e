// The list of the fields whose bytes are visible; the pointer lights one, a click or the arrow keys mark one.
import { h } from "../shared/dom.js";
import { count } from "../shared/format.js";

// `isMarked(field)` and `isWithin(field)` say whether a field is what is marked, or is in it; `onLight` and `onMark`
// get a field.
export function fieldList({ isMarked, isWithin, onLight, onMark }) {
  const el = h("div", { class: "klw-fields", tabindex: 0, role: "list", "aria-label": "Visible fields" });
  let shownKey = "", fields = [];
  el.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !fields.length) return;
    event.preventDefault();
    event.stopPropagation();
    const at = fields.findIndex(isMarked), next = at < 0 ? 0 : at + step;
    if (!fields[next]) return;
    onMark(fields[next]);
    el.children[next]?.scrollIntoView({ block: "nearest" });
  });
  return {
    el,
    clear() {
      shownKey = "";
      fields = [];
      el.replaceChildren();
    },
    // Show fields by their keys; `position` is that of the first byte in the file.
    show(found, position) {
      const key = [...found.keys()].join();
      if (key === shownKey) return;
      shownKey = key;
      fields = [...found.values()];
      el.replaceChildren(...fields.map((field) => fieldItem(field, position, { onLight, onMark })));
    },
    // Show again what is lit and marked, with `isScrolled` the first marked field in sight; is there one?
    mark(lit, { isScrolled }) {
      fields.forEach((field, k) => {
        const item = el.children[k];
        item.dataset.lit = String(item.dataset.key === lit?.key);
        item.setAttribute("aria-current", String(isMarked(field)));
        item.dataset.wanted = String(isWithin(field));
      });
      const first = isScrolled ? fields.findIndex(isWithin) : -1;
      if (first >= 0) el.scrollTop = el.children[first].offsetTop - el.offsetTop;
      return first >= 0;
    },
    scrollTo: ({ key }) => el.querySelector(`[data-key="${key}"]`)?.scrollIntoView({ block: "nearest" }),
  };
}

function fieldItem(field, position, { onLight, onMark }) {
  const { name, value, note, size, start } = field;
  return h(
    "div",
    {
      class: "klw-field",
      role: "listitem",
      style: `--level:${field.level}`,
      "data-wrong": field.wrong,
      "data-key": field.key,
      title: `${name}: ${value}${note ? ` (${note})` : ""}\n${count(size)} bytes at ${count(position + start)}`,
      onpointerenter: () => onLight(field),
      onclick: () => onMark(field),
    },
    h("i", field.leaf ? { "data-tone": field.tone } : {}),
    h("b", {}, name),
    h("span", {}, value, note ? h("em", {}, note) : null),
  );
}
