import { onZone } from "./zone.js";

// When to draw: on the next frame, and only while the element is on a page, rendered, and has a width.
// JupyterLab does not render invisible cells, or removes them from the page; requests made meanwhile are kept.
// Times change with the zone of the page. Chromium loses texts that are measured and changed in a cell that it does not render.
export function painter(el, paint, signal) {
  let frame = 0, dirty = true, width = -1, height = -1, ratio = 0;
  const isRendered = () => el.isConnected && el.checkVisibility({ contentVisibilityAuto: true });
  const stale = () => dirty || el.clientWidth !== width || el.clientHeight !== height || ratioOf(el) !== ratio;
  const run = () => {
    frame = 0;
    if (!isRendered() || !el.clientWidth) return;
    dirty = false;
    width = el.clientWidth;
    height = el.clientHeight;
    ratio = ratioOf(el);
    paint();
  };
  const ask = () => {
    dirty = true;
    if (!frame) frame = requestAnimationFrame(run);
  };
  const look = () => {
    if (isRendered() && stale()) ask();
  };
  const seen = new IntersectionObserver(look), sized = new ResizeObserver(look);
  seen.observe(el);
  onZone(ask, signal);
  sized.observe(el);
  signal.addEventListener("abort", () => {
    seen.disconnect();
    sized.disconnect();
    cancelAnimationFrame(frame);
  });
  return ask;
}

// Pixels of the screen in one of an element, which may be zoomed; a point of an event in the element's pixels.
const ratioOf = (el) => (devicePixelRatio || 1) * (el.currentCSSZoom ?? 1);
export function pointIn(el, { clientX, clientY }) {
  const { left, top } = el.getBoundingClientRect(), zoom = el.currentCSSZoom ?? 1;
  return [(clientX - left) / zoom, (clientY - top) / zoom];
}

// Make the canvas as large as its box on the screen, whatever the pixel ratio; true when it changed.
export function fitCanvas(canvas, context) {
  const ratio = ratioOf(canvas);
  const width = Math.round(canvas.clientWidth * ratio), height = Math.round(canvas.clientHeight * ratio);
  const changed = canvas.width !== width || canvas.height !== height;
  if (changed) {
    canvas.width = width;
    canvas.height = height;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return changed;
}

// Move a number pair smoothly; a second call replaces the first. No motion if the user prefers less.
export function glider(set, signal) {
  let frame = 0;
  signal.addEventListener("abort", () => cancelAnimationFrame(frame));
  const stop = () => {
    cancelAnimationFrame(frame);
    frame = 0;
  };
  const go = (from, to, duration = 160) => {
    stop();
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return set(to[0], to[1]);
    const start = performance.now();
    const step = (now) => {
      const t = Math.min(1, Math.max(0, (now - start) / duration)), ease = 1 - (1 - t) ** 3;
      set(from[0] + (to[0] - from[0]) * ease, from[1] + (to[1] - from[1]) * ease);
      frame = t < 1 ? requestAnimationFrame(step) : 0;
    };
    frame = requestAnimationFrame(step);
  };
  return { go, stop };
}
