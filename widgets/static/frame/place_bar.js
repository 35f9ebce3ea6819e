// PlaceBar: directory › topic › partition › segment › offset, each a field that searches; a range of time; back, forward,
// and values.
import { button, disable, h, icon, pairList } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { LATEST_MS, timestamp } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { picker } from "../shared/picker.js";
import { requests } from "../shared/requests.js";
import { valuesButton } from "../shared/values_button.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-placebar", { "aria-label": "Place" }), error = errorBar();
  const ask = requests(model, { signal: frame.signal, onError: error.show, onSilence: () => {} });
  const pick = (part) => (text) => ask("pick", { part, text });
  const title = h("span", { class: "klw-title" });
  const fields = {
    topic: picker("Topic", "topic", pick("topic")),
    partition: picker("Partition", "partition", pick("partition")),
    segment: picker("Segment, by its base offset", "segment", pick("segment")),
    offset: picker("Offset", "offset", async (text) => {
      if (await pick("offset")(text) === null && /^\d+$/.test(text)) await fate.ask(text);
    }),
  };
  const fate = fateOf(model, ask, error);
  const back = button("Back (Alt ←)", { glyph: "back", isLive: true, onclick: () => ask("move", { by: -1 }) });
  const forward = button("Forward (Alt →)", { glyph: "next", isLive: true, onclick: () => ask("move", { by: 1 }) });
  const times = timeRange(model, ask), eye = valuesButton(model);
  frame.fill(
    h(
      "header",
      { class: "klw-top" },
      h("span", { class: "klw-moves" }, back, forward),
      title,
      ...Object.values(fields).flatMap((field) => [h("i", { "aria-hidden": "true" }, icon("chevron")), field.el]),
      fate.button,
      h("span", { class: "klw-sum" }),
      times.el,
      eye.el,
    ),
    error.el,
    fate.el,
  );
  const view = { model, frame, title, fields, back, forward, eye, fate, times };
  onKeys(frame.root, (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!event.altKey || !by) return false;
    ask("move", { by });
  });
  const address = addressOf(given.el, model, ask);
  const show = () => {
    showPlace(view);
    address.write();
  };
  const end = frame.follow({
    selected: show,
    tab: show,
    times: show,
    show_values: show,
    _title: show,
    _topics: show,
    _topic: show,
    _partitions: show,
    _segments: show,
    _moves: show,
    _error: () => error.show(model.get("_error")),
  });
  showPlace(view);
  tellHeight(frame);
  address.read();
  return end;
}

// What became of an offset: a button beside it, and a panel with the answer until another place is shown.
function fateOf(model, ask, error) {
  const text = h("strong", {}), rows = h("div", {});
  const close = button("Close", { glyph: "cross", onclick: () => el.hidden = true });
  const el = h("div", { class: "klw-fate", role: "region", "aria-label": "What became of the offset", hidden: true });
  el.append(h("header", {}, text, close), rows);
  let shown = "";
  const tell = async (offset) => {
    const told = await ask("fate", { offset });
    if (!told) return;
    error.show("");
    text.textContent = told.conclusion;
    rows.replaceChildren(pairList(told.rows.slice(1)));
    el.hidden = false;
  };
  const asks = button("What became of this offset?", {
    glyph: "search",
    text: "Fate",
    kind: "klw-framed",
    isLive: true,
    onclick: () => tell(model.get("selected").offset),
  });
  return {
    el,
    button: asks,
    ask: tell,
    show({ partition, offset }) {
      const place = `${partition} ${offset}`;
      if (place !== shown) el.hidden = true;
      shown = place;
      asks.hidden = offset === null;
    },
  };
}

// The range of time that views obey: two fields, and a button for all times.
function timeRange(model, ask) {
  const send = (changes) => ask("times", { ...textsOf(model), ...changes });
  const start = picker("From, a time in UTC", "from", (text) => send({ start: text }));
  const stop = picker("To, a time in UTC", "to", (text) => send({ stop: text }));
  const clear = button("All times", { glyph: "cross", isLive: true, onclick: () => send({ start: "", stop: "" }) });
  return {
    el: h(
      "span",
      {
        class: "klw-timerange",
        role: "group",
        "aria-label": "Range of time",
        title: "The time that Records and Groups show: 2026-01-31 12:00, -1h, yesterday",
      },
      icon("clock"),
      start.el,
      "–",
      stop.el,
      clear,
    ),
    show() {
      const { start: from, stop: to } = textsOf(model);
      start.set(from, null);
      stop.set(to, null);
      clear.hidden = !from && !to;
    },
  };
}

// The range as texts, empty for an open end; midnight is a date.
function textsOf(model) {
  const [from, to] = model.get("times"), text = (ms) => timestamp(ms).replace(/T00:00:00\.000Z$|\.000(?=Z$)/, "");
  return { start: from > 0 ? text(from) : "", stop: to < LATEST_MS ? text(to) : "" };
}

function showPlace({ model, title, fields, back, forward, eye, fate, times, frame }) {
  const selected = { ...NOTHING, ...model.get("selected") }, moves = model.get("_moves");
  const { title: name, path } = model.get("_title");
  title.textContent = name;
  title.title = path;
  fields.topic.set(model.get("_topic"), model.get("_topics"));
  fields.partition.set(selected.partition ?? "", model.get("_partitions"));
  fields.segment.set(selected.segment ?? "", model.get("_segments"));
  fields.offset.set(selected.offset ?? "", selected.partition === null ? [] : null);
  fate.show(selected);
  times.show();
  disable(back, !moves.back);
  disable(forward, !moves.forward);
  eye.show();
  frame.stats.draws++;
}

// In the app, the tabs stay below the line, however many rows it has.
function tellHeight({ root, signal }) {
  const sized = new ResizeObserver(() =>
    root.ownerDocument.body.style.setProperty("--klw-place", `${root.offsetHeight}px`)
  );
  sized.observe(root);
  signal.addEventListener("abort", () => sized.disconnect());
}

// In the app, the address names the open view and the place, so that it can be kept and sent.
function addressOf(el, model, ask) {
  const page = el.ownerDocument, isApp = page.body.classList.contains("klw-app");
  const names = ["partition", "segment", "offset"];
  return {
    read() {
      const wanted = new URLSearchParams(isApp ? page.location.hash.slice(1) : "");
      const changes = {};
      if (wanted.get("partition")) {
        changes.selected = { ...NOTHING, ...Object.fromEntries(names.map((name) => [name, wanted.get(name)])) };
      }
      if (wanted.get("tab")) changes.tab = wanted.get("tab");
      if (Object.keys(changes).length) model.choose(changes);
      const [start, stop] = [wanted.get("from") ?? "", wanted.get("to") ?? ""];
      if (start || stop) ask("times", { start, stop });
    },
    write() {
      if (!isApp) return;
      const selected = { ...NOTHING, ...model.get("selected") };
      const { start, stop } = textsOf(model);
      const parts = [
        ["tab", model.get("tab")],
        ...names.map((name) => [name, selected[name]]),
        ["from", start],
        ["to", stop],
      ];
      const text = new URLSearchParams(parts.filter(([, value]) => value)).toString();
      page.defaultView.history.replaceState(null, "", `#${text}`);
    },
  };
}

export default { render: withKernel(render, { isWhole: true }) };
