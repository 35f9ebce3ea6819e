// The sheet that writes the listed records to a file, where the kernel runs.
import { button, disable, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";

const FORMATS = [["parquet", "Parquet"], ["csv", "CSV"], ["jsonl", "JSON lines"]];

export function exportSheet({ sheet, from, ask, count: listed, signal }) {
  const path = h("input", {
    class: "klw-input",
    type: "text",
    value: "records.parquet",
    spellcheck: "false",
    "aria-label": "File to write",
  });
  const format = h(
    "select",
    {
      class: "klw-input klw-select",
      "aria-label": "Format",
      "data-lm-suppress-shortcuts": "true",
      onchange: () => {
        path.value = path.value.replace(/(\.(parquet|csv|jsonl))?$/, `.${format.value}`);
      },
    },
    ...FORMATS.map(([value, text]) => h("option", { value }, text)),
  );
  path.addEventListener("input", () => {
    const ending = path.value.split(".").pop();
    if (FORMATS.some(([value]) => value === ending)) format.value = ending;
  });
  const told = h("div", { class: "klw-told", role: "status" });
  const stop = button("Stop writing", {
    glyph: "stop",
    text: "Stop",
    kind: "klw-framed",
    onclick: () => ask("stop_export"),
  });
  stop.hidden = true;
  const write = button("Write the file", { glyph: "save", text: "Write", kind: "klw-framed", onclick: () => begin() });
  async function begin() {
    disable(write);
    stop.hidden = false;
    let answer = await ask("export", { path: path.value, format: format.value });
    while (answer?.status === "running" && !signal.aborted) {
      told.textContent = `${plural(answer.records, "record")} written…`;
      await new Promise((done) => setTimeout(done, 200));
      answer = await ask("export_progress");
    }
    write.disabled = false;
    stop.hidden = true;
    if (answer) told.textContent = answer.text;
    told.dataset.kind = answer?.status === "failed" ? "bad" : "";
  }
  sheet.open(
    from,
    "Export",
    h(
      "div",
      { class: "klw-export" },
      h("p", {}, `${plural(listed ?? 0, "record")} as they are stored, shown or not, in log order, all columns.`),
      h("div", { class: "klw-exportrow" }, path, format, write, stop),
      told,
    ),
  );
  path.focus();
  path.setSelectionRange(0, path.value.lastIndexOf("."));
}
