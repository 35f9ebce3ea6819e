// Elements from code. Text from files only ever becomes a text node: it is never read as HTML.
import { namesTime, timesInZone } from "./zone.js";

const FOCUSABLE = new Set(["button", "input", "textarea"]);
const SVG = "http://www.w3.org/2000/svg";

export function h(tag, attributes, ...children) {
  const el = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) el.addEventListener(name.slice(2), value);
    else el.setAttribute(name, value === true ? "" : value);
  }
  // JupyterLab checks only the focused element: without this, D twice in a table deletes the cell.
  if (attributes?.tabindex !== undefined || FOCUSABLE.has(tag)) el.dataset.lmSuppressShortcuts = "true";
  el.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return el;
}

// Disable a control, or enable it. A browser takes the focus from what is disabled; the widget keeps it for its keys.
export function disable(el, isOff = true) {
  const hadFocus = isOff && el.ownerDocument.activeElement === el;
  el.disabled = isOff;
  if (hadFocus) el.closest(".klw")?.focus({ preventScroll: true });
}

// Show a name so that its end is kept where there is no room for all: names of partitions differ at their ends. `prefix`:
// what the names beside it begin with, too, which makes room first.
// Screen readers take the parts for several words, so short names are one, and what can have a label has one.
const SHORT_NAME = 16, NAME_END = 8;
export function fillName(el, name, prefix = "") {
  const cut = name.length - NAME_END, same = name.startsWith(prefix) && prefix.length < cut ? prefix.length : 0;
  const parts = name.length > SHORT_NAME
    ? [name.slice(0, same), name.slice(same, cut), name.slice(cut)].filter(Boolean)
    : [name];
  if (el.textContent === name && el.childElementCount === (parts.length > 1 ? parts.length : 0)) return el;
  el.classList.add("klw-name");
  el.replaceChildren(...(parts.length > 1 ? parts.map((part) => h("span", {}, part)) : parts));
  if (el.matches("[role], button, h3")) el.setAttribute("aria-label", name);
  return el;
}

// What long names begin with, all of them: whole words of it, and so little that each name keeps an end of its own.
const LEAST_SAME = 12;
export function samePrefix(names) {
  const different = [...new Set(names)];
  if (different.length < 2) return "";
  const [first, ...others] = different;
  let end = Math.min(...different.map((name) => name.length - NAME_END));
  for (const other of others) {
    let at = 0;
    while (at < end && first[at] === other[at]) at++;
    end = at;
  }
  const words = first.slice(0, Math.max(0, end)).match(/^.*[-._/]/)?.[0] ?? "";
  return words.length < LEAST_SAME ? "" : words;
}

// Pairs of a name and a text, as a list of definitions; times in the texts are in the zone of the page.
export function pairList(pairs, attributes = {}) {
  return h("dl", attributes, ...pairs.flatMap(([name, text]) => [h("dt", {}, name), definition(text)]));
}

function definition(text) {
  const isTime = typeof text === "string" && namesTime(text);
  return isTime ? h("dd", { "data-times": text }, timesInZone(text)) : h("dd", {}, text);
}

const ICONS = {
  chevron: "M6 4l4 4-4 4",
  code: "M6 4L2 8l4 4M10 4l4 4-4 4",
  check: "M3 8.5l3.2 3.2L13 5",
  refresh: "M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2 6V3h3M14 6V3h-3M2 10v3h3M14 10v3h-3",
  cross: "M4 4l8 8M12 4l-8 8",
  goto: "M3 8h9M8.5 4.5L12 8l-3.5 3.5",
  copy: "M5 5h8v8H5zM3 11V3h8",
  shield: "M8 2l5 2v4c0 3-2.2 5-5 6-2.8-1-5-3-5-6V4z",
  shields: "M6.5 3l4 1.5v3c0 2.6-1.7 4.2-4 5-2.3-.8-4-2.4-4-5v-3zM9.5 2l4 1.5v3c0 1.8-.8 3.2-2.1 4.2",
  first: "M4 3v10M13 3.5L7 8l6 4.5z",
  back: "M11 3.5L5 8l6 4.5z",
  play: "M5 3l8 5-8 5z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  next: "M5 3.5L11 8l-6 4.5z",
  last: "M12 3v10M3 3.5L9 8l-6 4.5z",
  eye: "M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 1 0 3.6 1.8 1.8 0 0 1 0-3.6",
  eyeClosed: "M1.5 6.5C3 9 5.2 10.2 8 10.2s5-1.2 6.5-3.7M4.2 9.4L3 11.5M8 10.4V13M11.8 9.4L13 11.5",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9M10.4 10.4L14 14",
  pin: "M5.5 2.5h5M6.5 2.5v4L4 9.5h8L9.5 6.5v-4M8 9.5V14",
  save: "M8 2v8M4.8 7L8 10.2 11.2 7M3 13.5h10",
  stop: "M4.5 4.5h7v7h-7z",
  follow:
    "M8 7a1 1 0 1 1 0 2 1 1 0 0 1 0-2M5.2 5.2a4 4 0 0 0 0 5.6M10.8 5.2a4 4 0 0 1 0 5.6M3 3a7 7 0 0 0 0 10M13 3a7 7 0 0 1 0 10",
  up: "M4 10l4-4 4 4",
  down: "M4 6l4 4 4-4",
  clock: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2M8 5v3.2l2.2 1.6",
  more: "M3.5 8h.01M8 8h.01M12.5 8h.01",
  columns: "M2 3h12v10H2zM6 3v10M10 3v10",
  present: "M2 3h12v8.5H2zM5.5 14h5",
  keyboard: "M2 4h12v8H2zM5 7h.01M8 7h.01M11 7h.01M5 9.5h6",
};

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg"), path = document.createElementNS(SVG, "path");
  for (
    const [key, value] of Object.entries({
      viewBox: "0 0 16 16",
      width: 14,
      height: 14,
      fill: "none",
      stroke: "currentColor",
      "stroke-width": 1.5,
      "stroke-linecap": "round",
      "stroke-linejoin": "round",
      "aria-hidden": "true",
    })
  ) svg.setAttribute(key, value);
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

// `isLive`: it needs a kernel, so that a page without one does not have it.
export function button(label, { glyph, text, onclick, kind = "", isLive = false } = {}) {
  const live = isLive ? "hide" : null;
  return h(
    "button",
    { type: "button", class: `klw-button ${kind}`, title: label, "aria-label": label, "data-live": live, onclick },
    glyph && icon(glyph),
    text,
  );
}

// A row of buttons, one of them pressed, as in a segmented control; `onpick` returns false to refuse a choice.
export function choice(label, options, current, onpick) {
  const group = h("div", { class: "klw-choice", role: "group", "aria-label": label });
  let pressed = current;
  const show = (value) => {
    pressed = value;
    for (const el of group.children) el.setAttribute("aria-pressed", String(el.dataset.value === value));
  };
  for (const [value, text] of options) {
    const el = h("button", {
      type: "button",
      "data-value": value,
      onclick: () => {
        const before = pressed;
        show(value);
        if (onpick(value) === false) show(before);
      },
    }, text);
    group.append(el);
  }
  show(current);
  return { el: group, show };
}
