// A bar that says what went wrong, until it is dismissed.
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
