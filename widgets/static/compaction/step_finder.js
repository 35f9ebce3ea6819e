// A box that goes to the next step about a key or an offset.
import { h } from "../shared/dom.js";

// `find(text)` returns {step, batch}, or a promise of it; step -1: there is none; nothing if there was no answer.
// `onFound` gets the two, `onLeave` is called by Escape.
export function stepFinder({ find, onFound, onLeave }) {
  const box = h("input", {
    class: "klw-input",
    type: "text",
    placeholder: "Go to key or offset",
    "aria-label": "Go to the next step of a key or an offset",
    spellcheck: "false",
  });
  const unknown = h("p", { class: "klw-unknown", role: "alert", hidden: true });
  async function go() {
    const found = await find(box.value);
    if (!found) return;
    const { step, batch } = found, isUnknown = step < 0;
    box.setAttribute("aria-invalid", String(isUnknown));
    unknown.hidden = !isUnknown;
    unknown.textContent = isUnknown ? `No step is about the key or offset “${box.value.trim()}”.` : "";
    if (!isUnknown) onFound(step, batch);
  }
  box.addEventListener("input", () => {
    box.removeAttribute("aria-invalid");
    unknown.hidden = true;
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") onLeave();
    if (event.key !== "Enter") return;
    event.stopPropagation();
    if (box.value.trim()) go();
  });
  return h("span", { class: "klw-go" }, box, unknown);
}
