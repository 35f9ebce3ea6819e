// A handle between two panes: drag it, or move it with the arrow keys; Enter or a double click sets it back.
import { h } from "./dom.js";

const STEP = 16;

// `pane` has the size in pixels that the style sheet reads from the variable `name` of `root`; `grows` is 1 if it grows
// as the handle moves right or down, otherwise -1.
export function splitter({ root, pane, name, label, axis, grows = 1, least, most, changed }) {
  const isX = axis === "x";
  const el = h("div", {
    class: "klw-split",
    role: "separator",
    tabindex: 0,
    "aria-label": label,
    "aria-orientation": isX ? "vertical" : "horizontal",
    "aria-valuemin": least,
    "aria-valuemax": most,
    title: `${label}: drag, or use the arrow keys; a double click sets it back`,
  });
  const size = () => Math.round(pane().getBoundingClientRect()[isX ? "width" : "height"]);
  const note = () => el.setAttribute("aria-valuenow", size());
  function set(pixels) {
    root.style.setProperty(name, `${Math.max(least, Math.min(most, Math.round(pixels)))}px`);
    note();
    changed?.();
  }
  function reset() {
    root.style.removeProperty(name);
    note();
    changed?.();
  }
  let drag = null;
  const place = (event) => (isX ? event.clientX : event.clientY);
  el.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    drag = { from: place(event), size: size() };
    el.setPointerCapture(event.pointerId);
  });
  el.addEventListener("pointermove", (event) => {
    if (drag && place(event) !== drag.from) set(drag.size + grows * (place(event) - drag.from));
  });
  for (const end of ["pointerup", "pointercancel"]) {
    el.addEventListener(end, () => {
      drag = null;
    });
  }
  el.addEventListener("dblclick", reset);
  el.addEventListener("focus", note);
  new ResizeObserver(note).observe(el);
  el.addEventListener("keydown", (event) => {
    const steps = isX ? { ArrowRight: STEP, ArrowLeft: -STEP } : { ArrowDown: STEP, ArrowUp: -STEP };
    if (event.key in steps) set(size() + grows * steps[event.key]);
    else if (event.key === "Home") set(least);
    else if (event.key === "End") set(most);
    else if (event.key === "Enter") reset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  return el;
}
