// Which part of its axis a lane chart shows, which item is picked in it, and how both change.

// The state of a chart without lanes. `view` and `whole` are ranges of the axis; `picked` is a lane and an item in it.
export function laneState() {
  return {
    lanes: [],
    marks: [],
    whole: [0, 1],
    view: [0, 1],
    mode: "",
    picked: { lane: -1, item: -1 },
    hover: null,
    scene: null,
    cache: {},
  };
}

// A range within the whole, at least so wide.
export function rangeWithin([from, to], whole, least) {
  const span = Math.max(least, Math.min(whole[1] - whole[0], to - from));
  const start = Math.max(whole[0], Math.min(whole[1] - span, from));
  return [start, start + span];
}

export function isWhole({ view, whole }) {
  return view[0] <= whole[0] && view[1] >= whole[1];
}

// The item that is `step` items after the picked one, or the first or last if none is; -1 in an empty lane.
export function itemAlong({ lanes, picked }, step) {
  const last = (lanes[Math.max(0, picked.lane)]?.length ?? 0) - 1;
  const from = picked.item < 0 ? (step > 0 ? -1 : last + 1) : picked.item;
  return last < 0 ? -1 : Math.max(0, Math.min(last, from + step));
}

// The lane that is `step` lanes after the picked one, and the item there that is nearest to the picked one.
export function placeAcross({ lanes, picked, view }, step) {
  const lane = picked.lane < 0 ? 0 : Math.max(0, Math.min(lanes.length - 1, picked.lane + step));
  const at = picked.item < 0 ? view[1] : lanes[picked.lane].position(picked.item);
  return [lane, lanes[lane].nearest(at)];
}

// What changes the view: `onShow` is called at each change, `onView` with the range (empty: the whole) once it rests.
export function laneZoom({ state, least, onShow, onView, signal }) {
  let saving = 0;
  signal.addEventListener("abort", () => clearTimeout(saving));
  function show(range, isSaved = true) {
    state.view = rangeWithin(range, state.whole, least);
    onShow();
    if (!isSaved) return;
    clearTimeout(saving);
    saving = setTimeout(() => onView(isWhole(state) ? [] : [...state.view]), 150);
  }
  return {
    show,
    fit: () => show(state.whole),
    zoom(factor, at = (state.view[0] + state.view[1]) / 2) {
      const [from, to] = state.view;
      show([at - (at - from) * factor, at + (to - at) * factor]);
    },
    pan(part) {
      const [from, to] = state.view;
      show([from + (to - from) * part, to + (to - from) * part]);
    },
    // Move the view if a position is outside.
    reveal(at) {
      const [from, to] = state.view;
      if (at < from || at > to) show([at - (to - from) / 2, at + (to - from) / 2]);
    },
  };
}
