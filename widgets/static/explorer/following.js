// Following: the button that switches it, and a sentence that says since when and what is new.
import { button, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";

export function followButton({ model }) {
  const el = button("Follow: show what is written as it appears (F)", {
    glyph: "follow",
    text: "Follow",
    kind: "klw-framed klw-follow",
    isLive: true,
    onclick: toggle,
  });
  const about = h("span", { class: "klw-followed", hidden: true });
  function toggle() {
    model.choose({ follow: !model.get("follow") });
    show();
  }
  function show() {
    const isOn = model.get("follow"), { since, partitions = [] } = model.get("_fresh");
    el.setAttribute("aria-pressed", String(isOn));
    about.hidden = !since;
    about.textContent = since
      ? `${isOn ? "following" : "followed"} since ${since} UTC · ${
        partitions.length ? `${plural(partitions.length, "partition")} changed` : "nothing new"
      }`
      : "";
    el.title = about.textContent ? `Follow (F): ${about.textContent}` : el.getAttribute("aria-label");
  }
  show();
  return { el, about, toggle, show };
}

// Whether a segment's new contents begin with the old ones: the same batches, and perhaps more.
export function isGrowth(old, data) {
  const last = old.length - 1;
  if (last < 0) return true;
  return last < data.length && old.position[last] === data.position[last] &&
    old.columns.last_offset.exact(last) === data.columns.last_offset.exact(last) && old.end[last] === data.end[last];
}
