// The palette (Ctrl+K): a few letters find a tab, topic, partition, group, offset or key; arrows and Enter lead there.
import { fillName, h, icon } from "../shared/dom.js";
import { count } from "../shared/format.js";

const AGAIN_MS = 400; // while groups are being read
const TYPING_MS = 30;

// `find(text)` resolves to {found, is_reading}; `go(kind, name, offset)` shows what was chosen.
export function palette({ root, signal, find, go }) {
  const page = root.ownerDocument, isApp = page.body.classList.contains("klw-app");
  const input = h("input", {
    class: "klw-input",
    type: "text",
    role: "combobox",
    placeholder: "Topic, partition, group, tab, offset, key…",
    "aria-label": "Go to a topic, partition, group, tab, offset or key",
    "aria-expanded": "true",
    "aria-controls": "klw-palette-list",
    spellcheck: "false",
    autocomplete: "off",
  });
  const list = h("div", { class: "klw-palettelist", role: "listbox", id: "klw-palette-list", "aria-label": "Places" });
  const note = h("p", { role: "status" });
  const el = h(
    "div",
    { class: "klw-palette", popover: "auto", role: "dialog", "aria-label": "Go to" },
    h("label", {}, icon("search"), input, h("kbd", {}, "Esc")),
    list,
    note,
  );
  let found = [], at = 0, timer = 0, number = 0, before = null;
  root.append(el);
  function mark(next) {
    at = found.length ? (next + found.length) % found.length : 0;
    [...list.children].forEach((row, i) => row.setAttribute("aria-selected", String(i === at)));
    const row = list.children[at];
    if (row) {
      input.setAttribute("aria-activedescendant", row.id);
      row.scrollIntoView({ block: "nearest" });
    } else input.removeAttribute("aria-activedescendant");
  }
  function row([kind, name, about, offset], i) {
    const title = h("b", {});
    fillName(title, name);
    return h(
      "div",
      { role: "option", id: `klw-palette-${i}`, "data-kind": kind, onclick: () => take(i) },
      h("i", {}, kind),
      title,
      offset && h("strong", {}, count(offset)),
      h("span", {}, about),
    );
  }
  async function ask(isAgain = false) {
    const mine = ++number, text = input.value, answer = await find(text);
    if (mine !== number || !el.matches(":popover-open") || !answer) return;
    found = answer.found;
    list.replaceChildren(...found.map(row));
    mark(isAgain ? at : 0);
    const few = found.length ? "" : "Nothing is called so.";
    note.textContent = answer.is_reading ? "The groups are being read…" : few;
    clearTimeout(timer);
    if (answer.is_reading) timer = setTimeout(() => ask(true), AGAIN_MS);
  }
  function take(i) {
    const chosen = found[i];
    if (!chosen) return;
    el.hidePopover();
    const [kind, name, , offset] = chosen;
    go(kind, name, offset);
  }
  function open() {
    if (el.matches(":popover-open")) return el.hidePopover();
    before = page.activeElement;
    input.value = "";
    el.showPopover();
    input.focus();
    ask();
  }
  el.addEventListener("toggle", ({ newState }) => {
    if (newState !== "closed") return;
    clearTimeout(timer);
    number++;
    list.replaceChildren();
    if (el.contains(page.activeElement) || page.activeElement === page.body) before?.focus?.({ preventScroll: true });
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, TYPING_MS);
  });
  el.addEventListener("keydown", (event) => {
    event.stopPropagation();
    const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (way) mark(at + way);
    else if (event.key === "Enter") take(at);
    else if (event.key === "Escape" || isShortcut(event)) el.hidePopover();
    else return;
    event.preventDefault();
  });
  // In JupyterLab, the key is the workbench's while something of it has the focus.
  page.addEventListener("keydown", (event) => {
    const isMine = isApp || root.closest(".klw-workbench")?.contains(page.activeElement);
    if (!isMine || !isShortcut(event)) return;
    event.preventDefault();
    event.stopPropagation();
    open();
  }, { signal, capture: true });
  return { el, open };
}

const isShortcut = ({ key, ctrlKey, metaKey, altKey, shiftKey }) =>
  (ctrlKey || metaKey) && !altKey && !shiftKey && key.toLowerCase() === "k";
