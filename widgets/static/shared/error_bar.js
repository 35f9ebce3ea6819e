// Bars that say what went wrong: until it is dismissed, or while it is so.
import { button, h } from "./dom.js";

export function errorBar() {
  const text = h("span", {});
  const el = h(
    "div",
    { class: "klw-error", role: "alert", hidden: true },
    text,
    button("Dismiss", {
      glyph: "cross",
      onclick: () => {
        el.hidden = true;
      },
    }),
  );
  return {
    el,
    show(what) {
      text.textContent = what;
      el.hidden = !what;
    },
  };
}

// The widget's error, as long as it has one.
export function errorLine(model) {
  const el = h("div", { class: "klw-error", role: "alert", hidden: true });
  return {
    el,
    show() {
      el.textContent = model.get("_error") ?? "";
      el.hidden = !el.textContent;
    },
  };
}
