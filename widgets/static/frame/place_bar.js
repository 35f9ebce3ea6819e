// PlaceBar: directory › broker › topic › partition › segment › offset, each a field that searches; a range of time; back, forward,
// and values.
import { button, disable, h, icon, pairList } from "../shared/dom.js";
import { errorBar } from "../shared/error_bar.js";
import { LATEST_MS, timestamp } from "../shared/format.js";
import { NOTHING, onKeys, widgetFrame } from "../shared/frame.js";
import { withKernel } from "../shared/kernel.js";
import { picker } from "../shared/picker.js";
import { requests } from "../shared/requests.js";
import { valuesButton } from "../shared/values_button.js";
import { setZone } from "../shared/zone.js";
import { palette } from "./palette.js";
import { ticketPanel } from "./ticket.js";
import { zoneMenu } from "./zone_menu.js";

function render(given) {
  const { model } = given, frame = widgetFrame(given, "klw-placebar", { "aria-label": "Place" }), error = errorBar();
  const ask = requests(model, { signal: frame.signal, onError: error.show, onSilence: () => {} });
  const pick = (part) => (text) => ask("pick", { part, text });
  const title = h("span", { class: "klw-title" });
  const fields = {
    broker: picker("Broker", "broker", pick("broker")),
    topic: picker("Topic", "topic", pick("topic")),
    partition: picker("Partition", "partition", pick("partition")),
    segment: picker("Segment, by its base offset", "segment", pick("segment")),
    offset: picker("Offset", "offset", async (text) => {
      if (await pick("offset")(text) === null && /^\d+$/.test(text)) await fate.ask(text);
    }),
  };
  const fate = fateOf(model, ask, error);
  const address = addressOf(given.el, model, ask);
  const back = button("Back (Alt ←)", { glyph: "back", isLive: true, onclick: () => address.move(-1) });
  const forward = button("Forward (Alt →)", { glyph: "next", isLive: true, onclick: () => address.move(1) });
  const times = timeRange(model, ask), zones = zoneMenu(model), eye = valuesButton(model);
  const finder = palette({
    root: frame.root,
    signal: frame.signal,
    find: (text) => ask("find", { text }),
    go: (what, name, offset) => ask("go", { what, name, offset }),
  });
  const came = cameBar(model, ask), ticket = ticketPanel({ model, ask, root: frame.root });
  const seek = button("Go to a topic, partition, group, tab, offset or key (Ctrl+K)", {
    glyph: "search",
    text: "Ctrl K",
    kind: "klw-framed klw-seek",
    isLive: true,
    onclick: finder.open,
  });
  frame.fill(
    h(
      "header",
      { class: "klw-top" },
      h("span", { class: "klw-moves" }, back, forward),
      title,
      ...Object.values(fields).map((field) =>
        h("span", { class: "klw-step" }, h("i", { "aria-hidden": "true" }, icon("chevron")), field.el)
      ),
      fate.button,
      h("span", { class: "klw-sum" }),
      h("span", { class: "klw-placeends" }, seek, times.el, zones.el, ticket.opens, eye.el),
    ),
    error.el,
    fate.el,
    ticket.el,
    came.el,
  );
  const view = { model, frame, title, fields, back, forward, eye, fate, times, zones };
  onKeys(frame.root, (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!event.altKey || !by) return false;
    address.move(by);
  });
  const show = () => showPlace(view);
  const end = frame.follow({
    selected: show,
    tab: show,
    times: show,
    zone: show,
    show_values: show,
    broker: show,
    _brokers: show,
    came: came.show,
    pins: ticket.show,
    _title: show,
    _topics: show,
    _topic: show,
    _partitions: show,
    _segments: show,
    _moves: show,
    _address: address.write,
    _error: () => error.show(model.get("_error")),
  });
  showPlace(view);
  came.show();
  ticket.show();
  tellHeight(frame);
  address.start(frame.signal);
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

// What came to live directories since the reader looked: each part leads to it.
function cameBar(model, ask) {
  const since = h("span", {}), parts = h("span", { class: "klw-cameparts" });
  const close = button("Count again from now", {
    glyph: "cross",
    isLive: true,
    onclick: () => ask("came", { what: "" }),
  });
  const el = h("div", { class: "klw-came", role: "region", "aria-label": "Since you looked", hidden: true });
  el.append(since, parts, close);
  const go = ({ currentTarget }) => ask("came", { what: currentTarget.dataset.what });
  return {
    el,
    show() {
      const { since: time, parts: told = [] } = model.get("came");
      el.hidden = !told.length || !model.isLive;
      since.textContent = `Since ${time}`;
      while (parts.childElementCount > told.length) parts.lastChild.remove();
      told.forEach(([what, text, tone], at) => { // the buttons stay: their numbers change every second
        const show = parts.children[at] ?? parts.appendChild(button("", { isLive: true, onclick: go }));
        Object.assign(show.dataset, { what, tone });
        show.textContent = `+${text}`;
        show.title = `Show what came: ${text}`;
        show.setAttribute("aria-label", show.title);
      });
    },
  };
}

// The range of time that views obey: two fields, and a button for all times.
function timeRange(model, ask) {
  const send = (changes) => ask("times", { ...textsOf(model), ...changes });
  const start = picker("", "from", (text) => send({ start: text }));
  const stop = picker("", "to", (text) => send({ stop: text }));
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
      for (const [name, field] of [["From", start], ["To", stop]]) {
        field.el.querySelector("input").setAttribute("aria-label", `${name}, a time in ${model.get("zone")}`);
      }
      start.set(from, null);
      stop.set(to, null);
      clear.hidden = !from && !to;
    },
  };
}

const MIDNIGHT = /T00:00:00\.000(Z|[+-][\d:]+)$/;

// The range as texts, empty for an open end; midnight is a date.
function textsOf(model) {
  const [from, to] = model.get("times"),
    text = (ms) => timestamp(ms).replace(MIDNIGHT, "").replace(/\.000(?=[Z+-])/, "");
  return { start: from > 0 ? text(from) : "", stop: to < LATEST_MS ? text(to) : "" };
}

function showPlace({ model, title, fields, back, forward, eye, fate, times, zones, frame }) {
  const selected = { ...NOTHING, ...model.get("selected") }, moves = model.get("_moves");
  const { title: name, path } = model.get("_title");
  title.textContent = name;
  title.title = path;
  const brokers = model.get("_brokers"), broker = model.get("broker");
  fields.broker.el.parentElement.hidden = !brokers.length;
  fields.broker.set(broker ? `broker ${broker}` : brokers[0] ?? "", brokers);
  fields.topic.set(model.get("_topic"), model.get("_topics"));
  fields.partition.set(selected.partition ?? "", model.get("_partitions"));
  fields.segment.set(selected.segment ?? "", model.get("_segments"));
  fields.offset.set(selected.offset ?? "", selected.partition === null ? [] : null);
  fate.show(selected);
  setZone(model.get("zone"));
  zones.show();
  times.show();
  disable(back, !moves.back);
  disable(forward, !moves.forward);
  eye.show();
  frame.stats.draws++;
}

// In the app, the tabs stay below the line, however many rows it has.
function tellHeight({ root, signal }) {
  const page = root.ownerDocument;
  let high = 0;
  const sized = new ResizeObserver(() => {
    if (!root.offsetHeight || root.offsetHeight === high) return;
    high = root.offsetHeight;
    page.body.style.setProperty("--klw-place", `${high}px`);
    page.defaultView.dispatchEvent(new Event("resize")); // what fills the window fits it again
  });
  sized.observe(root);
  signal.addEventListener("abort", () => sized.disconnect());
}

const RESTS_MS = 160; // between two addresses of one place, such as the steps of a player: browsers refuse more

// In the app, the address says what is shown, so that it can be kept and sent, and the browser's way back leads through
// it.
function addressOf(el, model, ask) {
  const page = el.ownerDocument.defaultView, isApp = page.document.body.classList.contains("klw-app");
  const text = () => `#${new URLSearchParams(model.get("_address").parts)}`;
  let number = 0, opening = 0; // the last place that was written; addresses that are on their way
  let written = 0, timer = 0;
  function write() {
    if (!isApp || opening) return;
    clearTimeout(timer);
    const { number: now } = model.get("_address"), isNew = number > 0 && now > number, early = written + RESTS_MS;
    if (!isNew && performance.now() < early) return void (timer = setTimeout(write, RESTS_MS));
    [number, written] = [now, performance.now()];
    if (text() !== page.location.hash) page.history[isNew ? "pushState" : "replaceState"](null, "", text());
  }
  async function open() {
    const parts = Object.fromEntries(new URLSearchParams(page.location.hash.slice(1)));
    opening++;
    await ask("open", { parts });
    opening--;
    number = model.get("_address").number; // this place is in the browser's history already
    write();
  }
  return {
    write,
    move(by) {
      if (isApp) page.history.go(by);
      else ask("move", { by });
    },
    start(signal) {
      if (!isApp) return;
      page.addEventListener("popstate", () => (opening || page.location.hash !== text()) && open(), { signal });
      if (page.location.hash.length > 1) open();
      else write();
    },
  };
}

export default { render: withKernel(render, { isWhole: true }) };
