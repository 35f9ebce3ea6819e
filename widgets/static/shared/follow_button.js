// The button that follows what a broker writes, and a sentence beside it: since when, and what came. Key F.
import { button, h } from "./dom.js";

// `sentence()` is what is known of it, empty for nothing; `onFollow(isOn)` is called after a switch.
export function followButton({ model, sentence, onFollow = () => {} }) {
  const label = "Follow: show what is written as it appears (F)";
  const el = button(label, {
    glyph: "follow",
    text: "Follow",
    kind: "klw-framed klw-follow",
    isLive: true,
    onclick: toggle,
  });
  const about = h("span", { class: "klw-followed", hidden: true });
  function toggle() {
    const isOn = !model.get("follow");
    if (model.choose({ follow: isOn }) !== false) onFollow(isOn);
    show();
  }
  function show() {
    el.setAttribute("aria-pressed", String(model.get("follow")));
    about.textContent = sentence();
    about.hidden = !about.textContent;
    el.title = about.textContent ? `Follow (F): ${about.textContent}` : label;
  }
  show();
  return { el, about, toggle, show };
}
