// The head of RecordBrowser: where to search, and what can be done with the records that are listed.
import { button, h } from "../shared/dom.js";
import { valuesButton } from "../shared/values_button.js";
import { exportSheet } from "./record_export.js";
import { placePicker } from "./record_query.js";

// `listed()` returns how many records are listed.
export function recordHead({ model, sheet, ask, listed, signal }) {
  const title = h("span", { class: "klw-title" });
  const picker = placePicker({ onPick: (changes) => model.choose(changes) });
  const eye = valuesButton(model);
  const save = button("Write the listed records to a file", {
    glyph: "save",
    text: "Export",
    kind: "klw-framed",
    isLive: true,
    onclick: () => exportSheet({ sheet, from: save, ask, count: listed(), signal }),
  });
  save.setAttribute("aria-haspopup", "dialog");
  const code = (text, language, glyph) => {
    const made = button(`The listed records as ${text}`, {
      glyph,
      text,
      onclick: () => sheet.python(made, `The listed records as ${text}`, model.get("code")[language]),
    });
    made.setAttribute("aria-haspopup", "dialog");
    return made;
  };
  return {
    el: h(
      "header",
      { class: "klw-top" },
      title,
      picker.el,
      h("span", { class: "klw-sum" }),
      eye.el,
      code("Python", "python", "code"),
      code("SQL", "sql"),
      save,
    ),
    toggleValues: () => eye.el.click(),
    showPlaces() {
      const choices = model.get("_choices");
      title.textContent = choices.title ?? "";
      picker.set(choices, model.get("topic"), model.get("partition"));
    },
    showValues: eye.show,
  };
}
