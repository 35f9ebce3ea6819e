// The button that shows keys, values and headers, or hides them: the trait `show_values`. A saved widget may not have
// them (`_keeps_values` is false): its kernel alone shows them.
import { button, icon } from "./dom.js";

export const showsValues = (model) =>
  model.get("show_values") && (model.isLive || model.get("_keeps_values") !== false);

// Whether what came with the state lacks values that are shown: `state` is what Python sent.
export const lacksValues = (model, state) =>
  Boolean(state?.shows_values) && !model.get("_keeps_values") && model.isLive;

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
      const isOpen = showsValues(model);
      el.setAttribute("aria-pressed", String(isOpen));
      el.title = isOpen ? "Hide keys, values and headers" : "Show keys, values and headers";
      el.setAttribute("aria-label", el.title);
      el.querySelector("svg").replaceWith(icon(isOpen ? "eye" : "eyeClosed"));
    },
  };
}
