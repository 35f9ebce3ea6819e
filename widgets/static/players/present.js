// Present mode: the player fills the window, its sentence stands in large letters above the picture, Esc leaves.
import { button, h, icon } from "../shared/dom.js";
import { stepHead, stepSentence } from "./player_steps.js";

const LEAST_WIDE = 640, MOST = 2.4; // px that a picture is wide at least; how much larger it is at most
const ROUNDS = 4; // of measuring: a larger picture has less width, so that its legend takes more lines

// `data()` are the steps, `at()` is the one shown.
export function presenting({ root, signal, data, at }) {
  const text = h("p", {}), head = h("h4", {});
  const sentence = h("div", { class: "klw-sentence", hidden: true }, head, text);
  const toggle = button("Present (F)", { glyph: "present", onclick: () => set(!isOn()) });
  const isOn = () => root.classList.contains("klw-present");
  const parts = () => [...root.children].filter((each) => !each.matches(".klw-top, .klw-sentence, .klw-quiet"));

  // The top layer of the page: whatever holds the widget neither clips nor covers it.
  function set(wanted) {
    if (wanted === isOn()) return;
    const place = root.parentElement;
    place.style.minHeight = wanted ? `${root.offsetHeight}px` : "";
    root.classList.toggle("klw-present", wanted);
    sentence.hidden = !wanted;
    toggle.title = wanted ? "Leave (Esc)" : "Present (F)";
    toggle.setAttribute("aria-label", toggle.title);
    toggle.replaceChildren(icon(wanted ? "cross" : "present"));
    if (wanted) {
      root.popover = "manual";
      root.showPopover();
      fit();
    } else root.popover = null;
    root.focus({ preventScroll: true });
  }

  // As large as the window lets it be, with room for the longest sentence, so that nothing moves from step to step.
  function fit() {
    if (!isOn()) return;
    const said = text.textContent, sentences = data().steps.map((_, i) => stepSentence(data(), i));
    sentence.style.minHeight = "";
    text.textContent = sentences.reduce((longest, each) => each.length > longest.length ? each : longest, "");
    sentence.style.minHeight = `${Math.min(sentence.offsetHeight, innerHeight / 3)}px`;
    text.textContent = said;
    let zoom = 1;
    root.dataset.measuring = "";
    for (let round = 0; round < ROUNDS; round++) {
      root.style.setProperty("--klw-zoom", zoom);
      const free = root.clientHeight - root.querySelector(".klw-top").offsetHeight - sentence.offsetHeight;
      const tall = parts().reduce((sum, each) => sum + each.getBoundingClientRect().height, 0);
      zoom = Math.max(1, Math.min(MOST, innerWidth / LEAST_WIDE, (zoom * free) / Math.max(1, tall)));
    }
    delete root.dataset.measuring;
    root.style.setProperty("--klw-zoom", Math.floor(zoom * 100) / 100);
  }
  addEventListener("resize", fit, { signal });
  root.addEventListener("focusout", ({ relatedTarget }) => {
    if (isOn() && relatedTarget && !root.contains(relatedTarget)) root.focus();
  });

  return {
    sentence,
    toggle,
    fit,
    get isOn() {
      return isOn();
    },
    set,
    show() {
      const i = at();
      head.replaceChildren(...(i < 0 ? [] : stepHead(data(), i)));
      text.textContent = i < 0 ? "" : stepSentence(data(), i);
    },
  };
}
