// The note where there is nothing to show: "empty", "loading", "failed", or "absent" (not without a kernel). One
// sentence, and at most one thing to do.
import { h } from "./dom.js";

const ROLES = { failed: "alert", loading: "status", empty: "status", absent: "status" };

export function stateNote(kind, text, action = null) {
  const bar = kind === "loading" && h("i", { "aria-hidden": "true" });
  const told = h("p", { "data-named": /^\S*\//.test(text) }, text); // a path stays as it is written
  return h("div", { class: "klw-state", "data-kind": kind, role: ROLES[kind] }, bar, told, action);
}

// Show a note instead of some parts of a widget, or these parts again.
export function stateInstead(parts) {
  const el = h("div", { class: "klw-instead", hidden: true });
  return {
    el,
    // `note`: of `stateNote`; null: nothing is missing.
    set(note) {
      el.hidden = !note;
      el.replaceChildren(...(note ? [note] : []));
      for (const part of parts) part.hidden = Boolean(note);
    },
  };
}
