// Which bytes of a segment its map shows, and how that changes.
import { clampView, zoomView } from "../charts/axis.js";
import { glider } from "../shared/host.js";

// The view of new contents: the one before if it is the same segment, not shown as a whole; otherwise the wanted one.
export function nextView({ view, oldSize, size, wanted, isSame }) {
  const isWhole = view[0] <= 0 && view[1] >= oldSize;
  if (isSame && !isWhole) return clampView(view[0], view[1], size);
  if (!isSame && wanted?.length === 2) return clampView(wanted[0], wanted[1], size);
  return [0, Math.max(1, size)];
}

// The view that shows bytes [start, end): this one if they are in it.
export function viewShowing([from, to], start, end) {
  const span = to - from, long = end - start;
  if (start >= from && end <= to) return [from, to];
  return long > span ? [start - long * 0.2, end + long * 0.2] : [start - span / 2, start + span / 2];
}

// What changes `state.view`: `onShow` is called at each change, `onView` with the view once it rests.
export function mapZoom({ state, onShow, onView, signal }) {
  let saving = 0;
  signal.addEventListener("abort", () => clearTimeout(saving));
  const clamped = ([from, to]) => clampView(from, to, state.data.fileSize);
  function show(wanted) {
    state.view = clamped(wanted);
    onShow();
    clearTimeout(saving);
    saving = setTimeout(() => onView([...state.view]), 150);
  }
  const glide = glider((from, to) => show([from, to]), signal);
  const jump = (wanted) => glide.go(state.view, clamped(wanted));
  return {
    show,
    stop: glide.stop,
    fit: () => jump([0, state.data.fileSize]),
    zoom: (factor, at = (state.view[0] + state.view[1]) / 2) => jump(zoomView(state.view, factor, at)),
    pan(part) {
      const [from, to] = state.view;
      jump([from + (to - from) * part, to + (to - from) * part]);
    },
    center(at) {
      const half = (state.view[1] - state.view[0]) / 2;
      show([at - half, at + half]);
    },
    // A batch with room on both sides, as a part of its own length.
    toBatch(i, room) {
      const start = state.data.position[i], end = state.data.end[i], margin = (end - start) * room;
      jump([start - margin, end + margin]);
    },
    // Move the view only if a batch is not in it.
    reveal(i) {
      const wanted = viewShowing(state.view, state.data.position[i], state.data.end[i]);
      if (wanted[0] !== state.view[0] || wanted[1] !== state.view[1]) jump(wanted);
    },
  };
}
