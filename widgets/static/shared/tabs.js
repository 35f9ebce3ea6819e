// Tabs: one pane shows at a time; arrow keys move along the strip. Where there is room, and the pane called `beside` has
// anything to show, the style sheet puts it next to the chosen one, after `handle`, and hides its tab.
import { h } from "./dom.js";

let groupCount = 0;

export function tabStrip(panes, { beside, handle, label = "What is in the segment" } = {}) {
  const group = `klw-tabs-${++groupCount}`, names = Object.keys(panes), parts = {};
  const about = h("span", { class: "klw-about" }), tools = h("span", { class: "klw-tools" });
  const strip = h("div", { class: "klw-tablist", role: "tablist", "aria-label": label });
  const body = h("div", { class: "klw-panes" });
  let current = names[0];
  for (const [name, [text, pane, ...tool]] of Object.entries(panes)) {
    const small = h("small", {}),
      tab = h(
        "button",
        {
          type: "button",
          role: "tab",
          id: `${group}-${name}`,
          "aria-controls": `${group}-${name}-pane`,
          "data-pane": name,
          onclick: () => show(name),
        },
        h("span", { class: "klw-tabname", "data-text": text }, text),
        small,
      );
    const holder = h("div", {
      class: "klw-pane",
      role: "tabpanel",
      "data-pane": name,
      id: `${group}-${name}-pane`,
      "aria-labelledby": `${group}-${name}`,
    }, pane);
    parts[name] = { tab, small, holder, pane, tool };
    strip.append(tab);
    body.append(holder);
  }
  if (handle) body.append(handle);
  const head = h("div", { class: "klw-tabs" }, strip, about, tools);
  strip.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], at = names.indexOf(current);
    if (!step || event.target.getAttribute("role") !== "tab") return;
    event.preventDefault();
    event.stopPropagation();
    show(names[(at + step + names.length) % names.length]);
    parts[current].tab.focus();
  });
  function show(name, focus = false) {
    const stands = beside === name && getComputedStyle(parts[name].tab).display === "none";
    if (!stands) open(name);
    if (focus) {
      (parts[name].pane.matches("[tabindex]") ? parts[name].pane : parts[name].pane.querySelector("[tabindex]"))
        ?.focus();
    }
  }
  function open(name) {
    current = name;
    el.dataset.current = name;
    for (const each of names) {
      const { tab, holder } = parts[each];
      tab.setAttribute("aria-selected", String(each === name));
      tab.tabIndex = each === name ? 0 : -1;
      holder.hidden = each !== name;
    }
    tools.replaceChildren(...parts[name].tool);
  }
  const el = h("section", { class: "klw-panel klw-lower" }, head, body);
  open(current);
  return {
    el,
    show,
    setCount(name, text) {
      parts[name].small.textContent = text;
    },
    // Whether the pane `beside` has anything to show next to the chosen one.
    setBeside(isFilled) {
      el.dataset.beside = String(isFilled);
    },
    setAbout(text) {
      about.textContent = text;
    },
  };
}
