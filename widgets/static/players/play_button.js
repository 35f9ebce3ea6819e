// The button of a view that leads to the player of what the view is about; in the app only.
import { button } from "../shared/dom.js";

export function playButton(model, ask) {
  const el = button("Play this step by step", {
    glyph: "play",
    text: "Steps",
    isLive: true,
    onclick: () => ask("play", {}),
  });
  el.hidden = !model.get("_can_play");
  return el;
}
