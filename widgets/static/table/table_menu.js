// What can be done with a table's rows: copy, download, and its columns as they were. It is above everything on the page.
import { button, h, icon } from "../shared/dom.js";

const SAID_MS = 1800;

// A menu below a button; `items` are [glyph, text, hint, act].
export function openMenu(from, label, items) {
  const el = h(
    "div",
    { class: "klw-menu", role: "menu", popover: "auto", "aria-label": label },
    ...items.map(([glyph, text, hint, act]) =>
      h(
        "button",
        {
          type: "button",
          role: "menuitem",
          tabindex: -1,
          onclick: () => {
            el.hidePopover();
            act();
          },
        },
        icon(glyph),
        h("span", {}, text),
        h("kbd", {}, hint),
      )
    ),
  );
  el.addEventListener("keydown", (event) => moveIn(el, event));
  el.addEventListener("toggle", ({ newState }) => {
    if (newState !== "closed") return;
    el.remove();
    from.setAttribute("aria-expanded", "false");
    if (document.activeElement === document.body) from.focus({ preventScroll: true });
  });
  from.closest(".klw").append(el);
  el.showPopover();
  placeBelow(el, from);
  from.setAttribute("aria-expanded", "true");
  el.querySelector("button")?.focus({ preventScroll: true });
}

// The button with what can be done with a table; `items()` returns the entries of its menu.
export function tableMenu({ label, items }) {
  const el = button(`${label}: copy, download`, { glyph: "more", kind: "klw-more" });
  const show = () => openMenu(el, `${label}: what to do`, items());
  el.setAttribute("aria-haspopup", "menu");
  el.addEventListener("click", (event) => {
    event.stopPropagation();
    show();
  });
  return { el, show };
}

function moveIn(menu, event) {
  const stops = [...menu.querySelectorAll("button")], at = stops.indexOf(document.activeElement);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: -1 }[event.key];
  event.stopPropagation();
  if (next === undefined) return;
  event.preventDefault();
  stops.at(next % stops.length).focus();
}

function placeBelow(menu, from) {
  const box = from.getBoundingClientRect(), { offsetWidth: wide, offsetHeight: high } = menu;
  const top = box.bottom + high + 8 > innerHeight ? box.top - high - 4 : box.bottom + 4;
  const left = box.left + wide + 8 > innerWidth ? box.right - wide : box.left;
  menu.style.left = `${Math.max(8, Math.min(innerWidth - wide - 8, left))}px`;
  menu.style.top = `${Math.max(8, top)}px`;
}

// Say for a moment what was done, beside what it was done with, and to screen readers.
export function say(near, text) {
  const root = near.closest(".klw"), live = root?.querySelector(":scope > [aria-live]");
  if (!root) return;
  if (live) live.textContent = text;
  const el = h("div", { class: "klw-toast", popover: "manual", "aria-hidden": "true" }, text);
  root.append(el);
  el.showPopover();
  const box = near.getBoundingClientRect();
  el.style.left = `${Math.max(8, box.left + (box.width - el.offsetWidth) / 2)}px`;
  el.style.top = `${Math.min(box.bottom, innerHeight) - el.offsetHeight - 12}px`;
  setTimeout(() => el.remove(), SAID_MS);
}
