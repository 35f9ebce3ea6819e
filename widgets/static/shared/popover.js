// Small sheets over a widget: the Python code of a view, and the keys.
import { button, h, icon } from "./dom.js";
import { toClipboard } from "../table/row_texts.js";

const EXPLORER_KEYS = [
  ["↑ ↓", "move in the tree and in tables"],
  ["← →", "previous or next segment or batch"],
  ["+ −", "zoom the segment map"],
  ["A D", "pan the segment map"],
  ["0", "show the whole segment"],
  ["Enter", "from a batch to its records, from a record to its bytes"],
  ["Home End", "first or last"],
  ["/", "filter topics"],
  ["G", "go to an offset or a time"],
  ["V", "show keys, values and headers, or hide them"],
  ["F", "follow what is written, or stop"],
  ["Esc", "clear the selection, close a sheet"],
  ["?", "this list"],
];

export const PLAYER_KEYS = [
  ["← →", "previous or next step"],
  ["Home End", "first or last step"],
  ["Space", "play or pause"],
  ["− +", "play slower or faster"],
  ["F", "fill the window, or leave"],
  ["↑ ↓", "move in the list of steps"],
  ["Esc", "close a sheet, leave the full window"],
  ["?", "this list"],
];

export function popover(root, keyNames = EXPLORER_KEYS) {
  let el = null, owner = null;
  const close = () => {
    el?.remove();
    el = null;
    owner?.setAttribute("aria-expanded", "false");
    owner?.focus();
    owner = null;
  };
  function open(from, label, body, extra) {
    if (owner === from && el) return close();
    close();
    el = h(
      "div",
      { class: "klw-code", role: "dialog", "aria-label": label },
      h("header", {}, h("span", {}, label), extra, button("Close", { glyph: "cross", onclick: close })),
      body,
    );
    owner = from;
    owner?.setAttribute("aria-expanded", "true");
    root.append(el);
    const box = root.getBoundingClientRect(), at = from ? from.getBoundingClientRect().bottom - box.top + 4 : 44;
    el.style.top = `${Math.max(44, Math.min(at, box.height - el.offsetHeight - 8))}px`;
    el.addEventListener("keydown", stayInside);
    el.querySelector("button")?.focus();
  }
  // Tab moves in a circle: after the last control comes the first, not what is below the widget.
  function stayInside(event) {
    if (event.key !== "Tab") return;
    const stops = [...el.querySelectorAll("a, button, input, select, textarea, [tabindex]")].filter((each) =>
      !each.disabled && each.tabIndex >= 0 && each.offsetParent
    );
    const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
    if (document.activeElement !== from) return;
    event.preventDefault();
    to.focus();
  }
  return {
    open,
    close,
    get isOpen() {
      return el !== null;
    },
    python(from, label, code) {
      const copy = button("Copy", {
        glyph: "copy",
        text: "Copy",
        kind: "klw-framed",
        onclick: () => copyText(code, copy),
      });
      open(from, label, h("pre", { tabindex: 0 }, h("code", {}, code)), copy);
    },
    keys(from) {
      open(
        from,
        "Keys",
        h("dl", { class: "klw-keys" }, ...keyNames.flatMap(([key, what]) => [h("dt", {}, key), h("dd", {}, what)])),
      );
    },
  };
}

// The button that shows the Python code of a view: `codeOf()`.
export function codeButton(sheet, label, codeOf) {
  const el = button(label, { glyph: "code", text: "Python", onclick: () => sheet.python(el, label, codeOf()) });
  el.setAttribute("aria-haspopup", "dialog");
  return el;
}

// A click beside a sheet closes it.
export function closeOutside(root, sheet) {
  root.addEventListener("pointerdown", ({ target }) => {
    if (sheet.isOpen && !target.closest(".klw-code") && !target.closest("[aria-haspopup]")) sheet.close();
  });
}

// Copy a text, and say on the button whether it was.
export async function copyText(text, from) {
  const done = await toClipboard(text, from.parentElement);
  from.replaceChildren(icon(done ? "check" : "cross"), done ? "Copied" : "Select and copy by hand");
}
