// TabState: what a tab shows while its view is not there: it is being made, it failed, or something is to be chosen.
import { widgetFrame } from "../shared/frame.js";
import { stateNote } from "../shared/state.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-tabstate", { "aria-label": "State" });
  frame.fill(stateNote(model.get("kind"), model.get("text")));
  frame.stats.draws++;
  return frame.follow({});
}

export default { render };
