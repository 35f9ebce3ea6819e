// Numbers that sum up sections: a press leads to the rows that are counted, or to the section.
import { h } from "../shared/dom.js";

// `names`: the sections in order; `show` is called with the name of one, `lead` with that and a number's place in it.
export function numberTiles(names, show, lead = null) {
  const el = h("div", { class: "klw-overtiles", role: "group", "aria-label": "Numbers" });
  return {
    el,
    // `all`: section → its numbers, each with label, value and tone.
    set(all) {
      const made = names.flatMap((name) =>
        (all[name] ?? []).map(({ label, value, tone, leads }, at) =>
          h(
            "button",
            {
              type: "button",
              class: "klw-number-tile",
              "data-tone": tone,
              "aria-label": `${label}: ${value}`,
              onclick: () => leads && lead ? lead(name, at) : show(name),
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
