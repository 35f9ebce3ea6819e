// In the app, the part of a widget that scrolls takes the height that the window has left.
const MARGIN = 13; // px below the widget
const CHOSEN = "--klw-panes"; // the height that a person gave by a handle

export function fillWindow(root, part, signal) {
  const page = root.ownerDocument, view = page.defaultView;
  if (!page.body.classList.contains("klw-app")) return;
  let frame = 0;
  const fit = () => {
    frame = 0;
    if (!part.offsetParent) return;
    part.style.height = "";
    if (isStacked(part) || root.style.getPropertyValue(CHOSEN)) return;
    const { top, bottom, height } = part.getBoundingClientRect();
    const below = root.getBoundingClientRect().bottom - bottom;
    const free = view.innerHeight - (top + view.scrollY) - below - MARGIN;
    if (free > height) part.style.height = `${Math.floor(free)}px`;
  };
  const ask = () => frame ||= view.requestAnimationFrame(fit);
  const sized = new ResizeObserver(ask);
  sized.observe(root);
  view.addEventListener("resize", ask, { signal });
  signal.addEventListener("abort", () => {
    sized.disconnect();
    view.cancelAnimationFrame(frame);
  });
}

// Where there is no room side by side, each part of it has a height of its own.
function isStacked(part) {
  const { display, gridTemplateColumns } = getComputedStyle(part), shown = [...part.children].filter(isShown);
  return display === "grid" && shown.length > 1 && gridTemplateColumns.split(" ").length < 2;
}

const isShown = (el) => getComputedStyle(el).display !== "none";
