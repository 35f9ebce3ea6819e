// The logs of a partition on the disks of several brokers, drawn as lanes over offsets.
import { button, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { colorOfRank, OTHER, PALETTE } from "../shared/theme.js";

const SVG_SPACE = "http://www.w3.org/2000/svg";
const SIZE = { head: 40, lane: 92, top: 30, log: 30, foot: 8, name: 150, narrow: 92, right: 78 };

function draw(tag, attributes, text) {
  const el = document.createElementNS(SVG_SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) el.setAttribute(name, value);
  if (text !== undefined) el.textContent = text;
  return el;
}

function titled(el, text) {
  el.append(draw("title", {}, text));
  return el;
}

export const MARKS = [
  ["leo", "log end offset (LEO)"],
  ["hw", "checkpointed high watermark (HW)"],
  ["divergence", "replicas differ from here"],
  ["cut", "would be truncated"],
  ["lost", "committed, would be lost"],
  ["different", "other records than the leader's"],
  ["missing", "missing, on the leader"],
  ["extra", "not on the leader"],
];
const DIFFERS = Object.fromEntries(MARKS);

// The newest epochs have colors of their own; older ones share one.
export function colorOf({ epochs }, epoch) {
  return colorOfRank(epochs.indexOf(epoch) - Math.max(0, epochs.length - PALETTE.length));
}

// The epochs in a legend: [name, color].
export function epochNames({ epochs }) {
  const older = epochs.slice(0, -PALETTE.length), newest = epochs.slice(-PALETTE.length);
  const nameOf = (epoch) => epoch < 0 ? "no epoch" : `epoch ${epoch}`;
  return [
    ...(older.length ? [[plural(older.length, "older epoch"), OTHER]] : []),
    ...newest.map((epoch) => [nameOf(epoch), colorOf({ epochs }, epoch)]),
  ];
}

// Places on the axis are parts of 1. `onShow` gets {broker, part}, the broker and the part of the axis that was clicked,
// or {broker} for the replica as a whole; null: nothing can be clicked.
export function paintReplicas(box, state, onShow) {
  const scene = sceneOf(state, box.clientWidth || 900), { width, tall } = scene;
  const picture = draw("svg", { width, height: tall, "aria-hidden": "true" });
  picture.append(hatching());
  if (state.lost) picture.append(lostBand(scene));
  picture.append(...axisParts(scene));
  const names = state.lanes.map((lane, k) => {
    const top = SIZE.head + k * SIZE.lane, drawn = laneOf(lane, scene, top);
    if (onShow && lane.start[1] !== lane.end[1]) showOnClick(drawn, box, lane, scene, onShow);
    picture.append(drawn);
    return laneName(lane, scene, top, onShow);
  });
  if (state.divergence) picture.append(divergenceLine(scene));
  box.style.height = `${tall}px`;
  box.replaceChildren(picture, ...names);
  box.setAttribute("aria-label", inWords(state));
}

function sceneOf(state, width) {
  const isNarrow = width < 700,
    left = isNarrow ? SIZE.narrow : SIZE.name,
    right = width - (isNarrow ? 30 : SIZE.right);
  return {
    state,
    width,
    left,
    right,
    tall: SIZE.head + state.lanes.length * SIZE.lane + SIZE.foot,
    x: (part) => left + part * (right - left),
  };
}

function hatching() {
  const pattern = draw("pattern", {
    id: "klw-disk-cut",
    width: 6,
    height: 6,
    patternUnits: "userSpaceOnUse",
    patternTransform: "rotate(45)",
  });
  pattern.append(draw("rect", { class: "klw-hatch", width: 2.2, height: 6 }));
  const defs = draw("defs", {});
  defs.append(pattern);
  return defs;
}

function lostBand({ state, x, tall }) {
  const [from, to, text] = state.lost, band = draw("g", { class: "klw-lostband" });
  band.append(
    draw("rect", { x: x(from), y: SIZE.head - 4, width: Math.max(2, x(to) - x(from)), height: tall - SIZE.head }),
  );
  return titled(band, `Committed ${text} would be lost`);
}

// Lines at the offsets of the axis, and as many of the offsets as there is room for.
function axisParts({ state, x, tall, left }) {
  const parts = [draw("text", { class: "klw-tickname", x: left - 12, y: SIZE.head - 12 }, "offset")];
  let last = -Infinity;
  for (const [part, text] of state.ticks) {
    const at = x(part);
    parts.push(draw("line", { class: "klw-tick", x1: at, x2: at, y1: SIZE.head - 7, y2: tall - SIZE.foot }));
    if (at - last < 12 + text.length * 6) continue;
    last = at;
    parts.push(draw("text", { class: "klw-ticktext", x: at, y: SIZE.head - 12 }, text));
  }
  return parts;
}

function divergenceLine({ state, x, tall, width }) {
  const [part, text] = state.divergence, at = x(part), isLate = at > width - 170;
  const line = draw("g", { class: "klw-divergence" });
  line.append(
    draw("line", { x1: at, x2: at, y1: SIZE.head - 7, y2: tall - SIZE.foot }),
    draw("text", { x: at + (isLate ? -5 : 5), y: 13, "text-anchor": isLate ? "end" : "start" }, `differ from ${text}`),
  );
  return titled(line, `Replicas hold different records from offset ${text}`);
}

function showOnClick(drawn, box, { broker }, { left, right }, onShow) {
  drawn.dataset.can = "show";
  drawn.addEventListener("click", (event) => {
    const at = event.clientX - box.getBoundingClientRect().left;
    if (at >= left) onShow({ broker, part: (at - left) / (right - left) });
  });
}

function laneName(lane, { state, left }, top, onShow) {
  const { broker } = lane, name = `Broker ${broker}`;
  const open = onShow && button(`Show ${state.name} of broker ${broker} in Explore`, {
    glyph: "goto",
    text: name,
    kind: "klw-diskgo",
    onclick: () => onShow({ broker }),
  });
  const isKept = state.lanes.length > 1 && broker === state.keep;
  return h(
    "div",
    { class: "klw-diskname", style: `top:${top + 16}px;width:${left - 22}px` },
    open ?? h("strong", {}, name),
    h(
      "div",
      {},
      broker === state.leader ? h("span", { class: "klw-chip", "data-leads": "true" }, "leads") : null,
      lane.is_ahead ? h("span", { class: "klw-chip" }, "ahead") : null,
      isKept ? h("span", { class: "klw-chip", "data-keep": "true" }, "keep") : null,
    ),
    h("small", {}, lane.damage ? plural(lane.damage, "problem") : lane.stopped),
  );
}

function inWords({ lanes, divergence, outcome }) {
  const sentences = lanes.map(({ broker, start, end, high, cut }) =>
    `Broker ${broker}: log start offset ${start[1]}, log end offset ${end[1]}, ${
      high ? `high watermark ${high[1]}` : "no high watermark"
    }${cut ? `, would truncate ${cut[2]}` : ""}.`
  );
  if (divergence) sentences.push(`Different from offset ${divergence[1]}.`);
  return [...sentences, outcome, "Up and down arrows choose the leader."].join(" ");
}

function laneOf(lane, scene, top) {
  const y = top + SIZE.top, low = y + SIZE.log, { width, left, right, state } = scene;
  const group = draw("g", { class: "klw-disk" }), bottom = top + SIZE.lane - 1;
  group.append(
    draw("line", { class: "klw-laneline", x1: 0, x2: width, y1: bottom, y2: bottom }),
    draw("line", { class: "klw-laneaxis", x1: left, x2: right, y1: low, y2: low }),
    ...epochRuns(lane, scene, y),
    ...cellLines(lane, state.cells, scene, y),
    ...strips(lane, scene, y),
    ...offsetMarks(lane, scene, y),
  );
  return group;
}

// The log, as a box for each leader epoch.
function epochRuns({ broker, epochs }, { state, x }, y) {
  return epochs.map(([epoch, from, to, text]) => {
    const wide = x(to) - x(from), run = draw("g", { class: "klw-run" });
    run.append(
      draw("rect", {
        x: x(from) + 0.75,
        y,
        width: Math.max(1.5, wide - 1.5),
        height: SIZE.log,
        rx: 3,
        style: `--epoch:${colorOf(state, epoch)}`,
      }),
    );
    if (wide > 56 && epoch >= 0) run.append(draw("text", { x: x(from) + 9, y: y + 19 }, `epoch ${epoch}`));
    return titled(run, `Broker ${broker}, ${text}: ${epoch < 0 ? "no leader epoch" : `leader epoch ${epoch}`}`);
  });
}

// Between the offsets of a short log.
function cellLines({ start, end }, cells, { x }, y) {
  const inside = Array.from({ length: cells }, (_, k) => k / cells).filter((part) => part > start[0] && part < end[0]);
  return inside.map((part) =>
    draw("line", { class: "klw-celline", x1: x(part), x2: x(part), y1: y + 1, y2: y + SIZE.log - 1 })
  );
}

// Ranges of the log: above it what cannot be read, over it what would be truncated, in it what differs.
function strips({ broker, unreadable, cut, differs }, { x }, y) {
  const strip = ([from, to], inset, least, attributes, text) => {
    const width = Math.max(least, x(to) - x(from) - 2 * inset);
    return titled(draw("rect", { x: x(from) + inset, width, ...attributes }), text);
  };
  return [
    ...unreadable.map(([from, to, text]) =>
      strip([from, to], 0, 3, { class: "klw-unreadable", y: y - 5, height: 4 }, `${text} cannot be read`)
    ),
    ...(cut ? [cut] : []).map(([from, to, text]) =>
      strip(
        [from, to],
        0.75,
        2,
        { class: "klw-cut", y, height: SIZE.log, rx: 3 },
        `Broker ${broker} would truncate ${text}`,
      )
    ),
    ...differs.map(([kind, from, to, text]) =>
      strip(
        [from, to],
        0.75,
        2,
        { class: "klw-diffmark", "data-lane": kind, y: y + SIZE.log - 7, height: 7 },
        `Broker ${broker}, ${DIFFERS[kind]}: ${text}`,
      )
    ),
  ];
}

// The log start offset unless it is 0, the log end offset, and the checkpointed high watermark with what is below it.
function offsetMarks({ start, end, high }, { x, width }, y) {
  const low = y + SIZE.log;
  const mark = (kind, [part, offset], label, at, from, to, words) => {
    const place = x(part), isLate = place > width - 74, spot = draw("g", { class: "klw-diskmark", "data-lane": kind });
    const anchor = isLate ? "end" : "start";
    spot.append(
      draw("line", { x1: place, x2: place, y1: from, y2: to }),
      draw("text", { x: place + (isLate ? -5 : 5), y: at, "text-anchor": anchor }, `${label} ${offset}`),
    );
    return titled(spot, `${words} ${offset}`);
  };
  const above = (kind, place, label, words) => mark(kind, place, label, y - 6, y - 16, low, words);
  const marks = [above("leo", end, "LEO", "Log end offset")];
  if (start[1] !== "0") marks.unshift(above("start", start, "start", "Log start offset"));
  if (!high) return marks;
  const from = x(start[0]), wide = Math.max(0, x(high[0]) - from);
  const below = draw("rect", { class: "klw-below-hw", x: from, y: low + 3, width: wide, height: 4, rx: 2 });
  return [...marks, below, mark("hw", high, "HW", low + 20, low, low + 22, "Checkpointed high watermark")];
}
