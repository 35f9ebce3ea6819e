// The head of a widget of sections: what it is about, how far it is, stop, and the Python code.
import { button, disable, h } from "../shared/dom.js";
import { count, plural } from "../shared/format.js";

export function sectionHead({ model, ask, announce, root }, sheet, { name, codeLabel, more = [] }) {
  const title = h("span", { class: "klw-title" }), sum = h("span", { class: "klw-sum" });
  const bar = h("progress", { "aria-label": "Sections made", max: 1 });
  const cancel = button("Stop; keep what was found", {
    glyph: "cross",
    text: "Stop",
    kind: "klw-framed",
    isLive: true,
    onclick: () => {
      disable(cancel);
      ask("cancel");
    },
  });
  const code = button(codeLabel, {
    glyph: "code",
    text: "Python",
    onclick: () => sheet.python(code, "Python", model.get("query")),
  });
  return {
    el: h("header", { class: "klw-top" }, title, sum, bar, cancel, code, ...more),
    // `note`: what is said once nothing runs.
    show(note = "") {
      const directory = model.get("_directory"), progress = model.get("_progress");
      const isRunning = progress.state === "running";
      title.textContent = directory.title;
      title.title = directory.path;
      root.setAttribute("aria-label", `${name} of ${directory.title}`);
      sum.textContent = isRunning
        ? `${directory.about} · reading: ${count(progress.checked)} of ${plural(progress.partitions, "answer")}`
        : directory.about + note;
      bar.hidden = cancel.hidden = !isRunning;
      for (const each of more) disable(each, isRunning);
      if (!isRunning) {
        cancel.disabled = false;
        if (progress.state) announce(`${name} of ${directory.title} is there.`);
      }
      bar.value = progress.partitions ? progress.checked / progress.partitions : 0;
    },
  };
}
