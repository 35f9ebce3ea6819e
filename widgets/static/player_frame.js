// The frame of a player: title, stage, controls, the step in words, all steps; the caller supplies the picture.
import { button, h } from "./dom.js";
import { count, plural } from "./format.js";
import { playerControls } from "./player_controls.js";
import { PLAYER_KEYS, popover } from "./popover.js";
import { dataGrid } from "./rows.js";
import { followTheme } from "./theme.js";

const FASTEST_SPOKEN = 1;

// `makeData` takes the data sent; `makeViews` makes the picture:
// {top, above, panel, beside, setData(data), show(at, isSmooth), repaint()}, elements and functions.
export function playerFrame({ model, el, signal: outer, makeData, makeViews }) {
  const life = new AbortController(), { signal } = life;
  outer?.addEventListener("abort", () => life.abort());
  const stats = (el.__stats = {});
  const live = h("div", { class: "klw-quiet", "aria-live": "polite" });
  const root = h("section", { class: "klw klw-player", tabindex: 0 });
  let data = makeData({}), at = -1;

  function go(i, { isPlaying = false } = {}) {
    if (i === at) return;
    model.set("at", i);
    model.save_changes();
    if (!isPlaying || controls.speed <= FASTEST_SPOKEN) live.textContent = data.sentence(i);
  }
  const pick = (i) => {
    controls.stop();
    go(i);
  };

  const sheet = popover(root, PLAYER_KEYS);
  const keys = button("Keys (?)", { glyph: "keyboard", onclick: () => sheet.keys(keys) });
  keys.setAttribute("aria-haspopup", "dialog");
  const title = h("span", { class: "klw-title" }), about = h("span", { class: "klw-sum" });
  const controls = playerControls({ onGo: go, signal });
  const now = h("div", { class: "klw-now", tabindex: 0, role: "region", "aria-label": "This step" });
  const kinds = h("div", { class: "klw-kinds", role: "group", "aria-label": "Next step of a kind" });
  const list = dataGrid({
    label: "Steps",
    signal,
    rowHeight: 24,
    emptyText: "No steps recorded.",
    columns: [{ name: "Step", width: "52px", number: true }, { name: "What", width: "minmax(150px, .42fr)" }, {
      name: "Why",
      width: "minmax(160px, 1fr)",
    }, { name: "Where", width: "minmax(84px, .28fr)", mono: true }],
    cellsOf: (
      i,
    ) => [count(i + 1), { text: data.kind(i), kind: isBad(i) ? "bad" : "" }, {
      text: data.reason(i) || numbersText(i),
      title: data.reason(i),
    }, { text: shortFile(data.file(i)), kind: "quiet", title: data.file(i) }],
    rowKind: (i) => (data.role(i) === "invalid" ? "bad" : i > at ? "later" : ""),
    onPick: pick,
  });
  const isBad = (i) => data.role(i) === "invalid" || data.role(i) === "cut";
  const numbersText = (i) => data.numbers(i).map(([name, text]) => `${name} ${text}`).join(", ");
  const leftOut = h("div", { class: "klw-note klw-left-out", hidden: true });
  const steps = h("div", { class: "klw-steps" }, kinds, list.el, leftOut);
  const views = makeViews({ root, pick, signal, stats, model, data: () => data, at: () => at, steps });
  root.append(
    h("header", { class: "klw-top" }, title, about, ...(views.top ?? []), keys),
    ...(views.above ?? []),
    h("section", { class: "klw-panel" }, ...views.panel, controls.el),
    h("div", { class: "klw-below" }, now, ...(views.beside ?? [steps])),
    live,
  );
  el.append(root);

  // From the model to the views.
  function showPlayed() {
    controls.stop();
    data = makeData(model.get("_played"));
    views.setData(data);
    list.setCount(data.length, { keep: true });
    kinds.replaceChildren(
      ...data.kinds.map(([kind, meaning, n], number) =>
        h(
          "button",
          {
            type: "button",
            class: "klw-kind",
            title: `${meaning}: go to the next`,
            "data-number": number,
            onclick: () => pick(data.nextOfKind(number, at)),
          },
          h("i", { "data-role": data.roleOfKind(number) }),
          kind,
          h("small", {}, count(n)),
        )
      ),
    );
    leftOut.hidden = !data.leftOut;
    leftOut.textContent = `${plural(data.leftOut, "later step")} omitted.`;
    at = -1;
    showStep(false);
  }
  function showWords() {
    title.textContent = model.get("_title");
    about.textContent = about.title = model.get("_about");
    root.setAttribute("aria-label", `${model.get("_title")}. Arrow keys step, space plays.`);
  }
  function showStep(isSmooth = true) {
    const last = at;
    at = Math.max(-1, Math.min(data.length - 1, model.get("at")));
    views.show(at, isSmooth && Math.abs(at - last) < 400);
    controls.show(at, data.length);
    list.select(at);
    for (const each of kinds.children) {
      each.setAttribute("aria-pressed", String(at >= 0 && Number(each.dataset.number) === data.kindNumber(at)));
    }
    now.replaceChildren(
      ...(at < 0 ? [h("p", { class: "klw-why" }, model.get("_about") || "No steps recorded.")] : words(at)),
    );
  }
  function words(i) {
    return [
      h("h4", {}, h("i", { "data-role": data.role(i) }), data.kind(i)),
      h("p", { class: "klw-why" }, data.reason(i) ? `${data.reason(i)}.` : `${data.meaning(i)}.`),
      data.reason(i) ? h("p", { class: "klw-meaning" }, `${data.meaning(i)}.`) : null,
      h(
        "dl",
        {},
        ...data.numbers(i).flatMap(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]),
        h("dt", {}, "where"),
        h("dd", { class: "klw-mono" }, data.file(i)),
      ),
    ].filter(Boolean);
  }

  root.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    const isButton = event.target.tagName === "BUTTON";
    if (event.key === "ArrowRight") controls.by(1);
    else if (event.key === "ArrowLeft") controls.by(-1);
    else if (event.key === "Home") controls.toEnd(-1);
    else if (event.key === "End") controls.toEnd(1);
    else if (event.key === " " && !isButton) controls.toggle();
    else if (event.key === "?") sheet.keys(keys);
    else if (event.key === "Escape" && sheet.isOpen) sheet.close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });

  const followed = {
    _played: showPlayed,
    _title: showWords,
    _about: () => {
      showWords();
      showStep();
    },
    at: () => showStep(),
  };
  for (const [name, act] of Object.entries(followed)) model.on(`change:${name}`, act);
  followTheme(root, views.repaint, signal);
  showWords();
  showPlayed();
  return () => {
    life.abort();
    for (const [name, act] of Object.entries(followed)) model.off(`change:${name}`, act);
  };
}

// Names of segment files without the zeros in front.
function shortFile(name) {
  return name.replace(/^0{8,}(?=\d)/, "…");
}
