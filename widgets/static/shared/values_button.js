// The button that shows keys, values and headers, or hides them: the trait `show_values`.
import { button, icon } from "./dom.js";

export function valuesButton(model) {
  const el = button("Show keys, values and headers", {
    glyph: "eye",
    text: "Values",
    kind: "klw-framed klw-eye",
    isLive: true,
    onclick: () => model.choose({ show_values: !model.get("show_values") }),
  });
  return {
    el,
    show() {
      const isOpen = model.get("show_values");
      el.setAttribute("aria-pressed", String(isOpen));
      el.title = isOpen ? "Hide keys, values and headers" : "Show keys, values and headers";
      el.setAttribute("aria-label", el.title);
      el.querySelector("svg").replaceWith(icon(isOpen ? "eye" : "eyeClosed"));
    },
  };
}
