// Numbers that sum up sections: a press leads to the section.
import { h } from "../shared/dom.js";

// `names`: the sections in order; `show` is called with the name of one.
export function numberTiles(names, show) {
  const el = h("div", { class: "klw-overtiles", role: "group", "aria-label": "Numbers" });
  return {
    el,
    // `all`: section → its numbers, each with label, value and tone.
    set(all) {
      const made = names.flatMap((name) =>
        (all[name] ?? []).map(({ label, value, tone }) =>
          h(
            "button",
            {
              type: "button",
              class: "klw-number-tile",
              "data-tone": tone,
              "aria-label": `${label}: ${value}`,
              onclick: () => show(name),
            },
            h("b", {}, value),
            h("span", {}, label),
          )
        )
      );
      el.replaceChildren(...made);
      el.hidden = !made.length;
    },
  };
}
