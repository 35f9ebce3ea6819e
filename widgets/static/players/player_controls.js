// The controls of a player: first, back, play, next, last, a slider, and how fast it plays.
import { button, choice, disable, h, icon } from "../shared/dom.js";
import { count } from "../shared/format.js";

const SPEEDS = [["0.1", "0.1/s"], ["0.3", "0.3/s"], ["1", "1/s"], ["5", "5/s"], ["25", "25/s"]];

export function playerControls({ onGo, signal }) {
  let length = 0, at = -1, timer = 0, speed = 1;
  let poster = -1; // the step that it opened on, until another one is shown: play begins at the first step
  const go = (i) => {
    if (length) onGo(Math.max(0, Math.min(length - 1, i)), { isPlaying: timer !== 0 });
  };
  const by = (step) => {
    stop();
    go(at + step);
  };
  const first = button("First step (Home)", {
    glyph: "first",
    onclick: () => {
      stop();
      go(0);
    },
  });
  const back = button("Step back (←)", { glyph: "back", onclick: () => by(-1) });
  const play = button("Play (space)", { glyph: "play", kind: "klw-framed klw-play", onclick: () => toggle() });
  const next = button("Next step (→)", { glyph: "next", onclick: () => by(1) });
  const last = button("Last step (End)", {
    glyph: "last",
    onclick: () => {
      stop();
      go(length - 1);
    },
  });
  const slider = h("input", { type: "range", class: "klw-range", min: 0, max: 0, value: 0, "aria-label": "Step" });
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  const place = h("span", { class: "klw-place" });
  const speeds = choice("Steps a second", SPEEDS, "1", (value) => {
    speed = Number(value);
    if (timer) wait();
  });
  const el = h(
    "div",
    { class: "klw-controls", role: "group", "aria-label": "Steps" },
    first,
    back,
    play,
    next,
    last,
    slider,
    place,
    speeds.el,
  );

  function tick() {
    if (at >= length - 1) return stop();
    go(at + 1);
    wait();
  }
  function wait() {
    clearTimeout(timer);
    timer = setTimeout(tick, 1000 / speed);
  }
  function face(isPlaying) {
    const text = isPlaying ? "Pause (space)" : "Play (space)";
    play.replaceChildren(icon(isPlaying ? "pause" : "play"));
    play.title = text;
    play.setAttribute("aria-label", text);
  }
  function stop() {
    if (!timer) return;
    clearTimeout(timer);
    timer = 0;
    face(false);
  }
  function toggle() {
    if (timer) return stop();
    if (!length) return;
    if (at === poster || at >= length - 1) go(0);
    face(true);
    wait();
  }
  signal.addEventListener("abort", stop);

  return {
    el,
    by,
    toggle,
    stop,
    toEnd(end) {
      stop();
      go(end < 0 ? 0 : length - 1);
    },
    // Play slower (-1) or faster (1).
    hurry(by) {
      const now = SPEEDS.findIndex(([value]) => Number(value) === speed);
      const [value] = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, now + by))];
      speeds.show(value);
      speed = Number(value);
      if (timer) wait();
    },
    // Other steps are there, and one of them is shown first.
    open(i) {
      poster = i;
    },
    show(i, n) {
      [at, length] = [i, n];
      if (i !== poster) poster = -1;
      slider.max = Math.max(0, n - 1);
      slider.value = Math.max(0, i);
      for (const each of [slider, play]) disable(each, n === 0);
      for (const each of [first, back]) disable(each, i <= 0);
      for (const each of [next, last]) disable(each, i >= n - 1);
      place.textContent = n ? `${count(i + 1)} of ${count(n)}` : "no steps";
      slider.setAttribute("aria-valuetext", place.textContent);
    },
    get isPlaying() {
      return timer !== 0;
    },
    get speed() {
      return speed;
    },
  };
}
