// The frame of a player: title, stage, controls, the step as text, all steps; the caller supplies the picture.
import { button, h } from "../shared/dom.js";
import { isModified, onKeys, widgetFrame } from "../shared/frame.js";
import { playerControls } from "./player_controls.js";
import { presenting } from "./present.js";
import { stepAddress } from "./step_address.js";
import { stepKinds, stepList, stepWords } from "./player_steps.js";
import { plural } from "../shared/format.js";
import { codeButton, PLAYER_KEYS, popover } from "../shared/popover.js";
import { stateInstead, stateNote } from "../shared/state.js";

const FASTEST_SPOKEN = 1, MOST_SMOOTH = 400;

// `makeData` takes the data sent; `makeViews` makes the picture:
// {top, above, panel, beside, setData(data), show(at, isSmooth), repaint()}, elements and functions.
export function playerFrame({ model, el, signal: outer, makeData, makeViews }) {
  const frame = widgetFrame({ model, el, signal: outer }, "klw-player", { tabindex: 0 }),
    { root, signal, stats } = frame;
  const player = { ...frame, model, makeData, data: makeData({}), at: -1 };
  const pick = (i) => {
    player.controls.stop();
    go(player, i);
  };
  const sheet = popover(root, PLAYER_KEYS);
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  keys.setAttribute("aria-haspopup", "dialog");
  const code = codeButton(sheet, "This step in Python", () => codeOf(player));
  player.present = presenting({ root, signal, data: () => player.data, at: () => player.at });
  player.title = h("span", { class: "klw-title" });
  player.about = h("span", { class: "klw-sum" });
  player.controls = playerControls({ onGo: (i, options) => go(player, i, options), signal });
  player.now = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "This step" });
  player.kinds = stepKinds({ onPick: (number) => pick(player.data.nextOfKind(number, player.at)) });
  player.list = stepList({ player, signal, onPick: pick });
  player.leftOut = h("div", { class: "klw-left-out", hidden: true });
  const steps = h("div", { class: "klw-steps" }, player.kinds.el, player.list.el, player.leftOut);
  const given = { root, pick, signal, stats, model, data: () => player.data, at: () => player.at, steps };
  const views = player.views = makeViews(given);
  const body = [
    h("section", { class: "klw-panel" }, ...views.panel, player.controls.el),
    h("div", { class: "klw-below klw-fill" }, player.now, ...(views.beside ?? [steps])),
  ];
  player.instead = stateInstead(body);
  frame.fill(
    h(
      "header",
      { class: "klw-top" },
      player.title,
      player.about,
      ...(views.top ?? []),
      h("span", { class: "klw-tools" }, code, player.present.toggle, keys),
    ),
    player.present.sentence,
    ...(views.above ?? []),
    player.instead.el,
    ...body,
  );
  onKeys(root, (event) => actOnKey(player, { sheet, keys }, event));
  player.address = stepAddress({ model, root, signal, go: (i) => go(player, i) });
  const end = frame.follow({
    _played: () => showPlayed(player),
    _title: () => showTitle(player),
    _about: () => {
      showTitle(player);
      showStep(player);
    },
    at: () => showStep(player),
  }, views.repaint);
  showTitle(player);
  showPlayed(player);
  player.address.read?.();
  return end;
}

function go({ model, at, controls, data, announce }, i, { isPlaying = false } = {}) {
  if (i === at) return;
  model.set("at", i);
  model.save_changes();
  if (!isPlaying || controls.speed <= FASTEST_SPOKEN) announce(data.sentence(i));
}

// The Python code that gives the step shown: the whole of it, or for a player that is called `player`.
function codeOf({ model, at }) {
  return model.get("_code") ? `${model.get("_code")}, at=${at})` : `player.at = ${at}`;
}

function actOnKey({ controls, present }, { sheet, keys }, event) {
  if (event.key === "Escape" && present.isOn && !sheet.isOpen) return present.set(false);
  if (isModified(event) || event.target.tagName === "INPUT") return false;
  if (event.key === "ArrowRight") controls.by(1);
  else if (event.key === "ArrowLeft") controls.by(-1);
  else if (event.key === "Home") controls.toEnd(-1);
  else if (event.key === "End") controls.toEnd(1);
  else if (event.key === " " && event.target.tagName !== "BUTTON") controls.toggle();
  else if (event.key === "+" || event.key === "-") controls.hurry(event.key === "+" ? 1 : -1);
  else if (event.key.toLowerCase() === "f") present.set(!present.isOn);
  else if (event.key === "?") sheet.keys(keys);
  else if (event.key === "Escape" && sheet.isOpen) sheet.close();
  else return false;
}

// From the model to the views.
function showPlayed(player) {
  const { model, controls, views, list, kinds, leftOut } = player;
  controls.stop();
  const data = player.data = player.makeData(model.get("_played"));
  views.setData(data);
  list.setData(data);
  kinds.setData(data);
  leftOut.hidden = !data.leftOut;
  leftOut.textContent = `${plural(data.leftOut, "later step")} omitted.`;
  player.at = -1;
  showStep(player, false);
  controls.open(player.at);
  player.present.fit();
}

function showTitle({ model, title, about, root }) {
  title.textContent = title.title = model.get("_title");
  about.textContent = about.title = model.get("_about");
  root.setAttribute("aria-label", `${model.get("_title")}. Arrow keys step, space plays.`);
}

function showStep(player, isSmooth = true) {
  const { model, data, views, controls, list, kinds, now } = player, last = player.at;
  const at = player.at = Math.max(-1, Math.min(data.length - 1, model.get("at")));
  views.show(at, isSmooth && Math.abs(at - last) < MOST_SMOOTH);
  controls.show(at, data.length);
  list.select(at);
  kinds.show(at < 0 ? -1 : data.kindNumber(at));
  player.instead.set(data.length ? null : stateNote("empty", model.get("_about") || "No steps recorded."));
  now.replaceChildren(...(at < 0 ? [] : stepWords(data, at)));
  player.present.show();
  if (last >= 0) player.address?.write(at);
}
