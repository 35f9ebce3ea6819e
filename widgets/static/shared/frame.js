// What every widget begins and ends with: its frame on the page, what is announced, and the traits it follows.
import { h } from "./dom.js";
import { fillWindow } from "./fill.js";
import { followTheme } from "./theme.js";

// The traits of `selected` where nothing is chosen.
export const NOTHING = { partition: null, segment: null, position: null, offset: null };

// `given` is what anywidget gives to `render`; `kind` names more classes, `attributes` more attributes of the frame.
export function widgetFrame({ model, el, signal: outer }, kind = "", attributes = {}) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = { draws: 0 });
  const root = h("section", { class: `klw ${kind}`.trim(), tabindex: -1, ...attributes });
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  return {
    root,
    signal,
    stats,
    announce(text) {
      live.textContent = text;
    },
    // Put the parts of the widget on the page; in the app, the one with the class `klw-fill` fills the window.
    fill(...parts) {
      root.append(...parts, live);
      el.append(root);
      const filled = root.querySelector(".klw-fill");
      if (filled) fillWindow(root, filled, signal);
    },
    // Call the act of a trait when it changes, and of a name with a colon at that event; `repaint` if the theme
    // changes. Returns the function that ends the widget.
    follow(acts, repaint = () => {}) {
      const followed = Object.entries(acts).map(([name, act]) => [name.includes(":") ? name : `change:${name}`, act]);
      for (const [event, act] of followed) model.on(event, act);
      followTheme(root, repaint, signal);
      return () => {
        life.abort();
        for (const [event, act] of followed) model.off(event, act);
      };
    },
  };
}

// Let a key act: `act` returns false for a key that is not the widget's.
export function onKeys(el, act) {
  el.addEventListener("keydown", (event) => {
    if (act(event) === false) return;
    event.preventDefault();
    event.stopPropagation();
  });
}

// Is a key held that makes another meaning of the one pressed?
export const isModified = (event) => event.ctrlKey || event.metaKey || event.altKey;
