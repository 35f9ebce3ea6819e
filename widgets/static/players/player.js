// StepPlayer: the steps the engine reported, one after the other.
import { withKernel } from "../shared/kernel.js";
import { PlayerData } from "./player_data.js";
import { playerFrame } from "./player_frame.js";
import { segmentViews } from "./segment_views.js";

function render({ model, el, signal }) {
  return playerFrame({ model, el, signal, makeData: (sent) => new PlayerData(sent), makeViews: segmentViews });
}

export default { render: withKernel(render, { isWhole: true }) };
