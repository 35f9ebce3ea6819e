// The logs of a partition on the disks of several brokers, drawn as lanes over offsets.
import { button, h } from "../shared/dom.js";
import { plural } from "../shared/format.js";
import { PALETTE } from "../shared/theme.js";

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

export function colorOf({ epochs }, epoch) {
  return PALETTE[Math.max(0, epochs.indexOf(epoch)) % PALETTE.length];
}

// Places on the axis are parts of 1. `onShow` gets a broker and the part of the axis that was clicked, or null for the
// replica as a whole; without it, nothing can be clicked.
export function paintReplicas(box, state, onShow) {
  const width = box.clientWidth || 900,
    isNarrow = width < 700,
    left = isNarrow ? SIZE.narrow : SIZE.name,
    right = width - (isNarrow ? 30 : SIZE.right);
  const tall = SIZE.head + state.lanes.length * SIZE.lane + SIZE.foot, x = (part) => left + part * (right - left);
  const picture = draw("svg", { width, height: tall, "aria-hidden": "true" });
  const defs = draw("defs", {}),
    pattern = draw("pattern", {
      id: "klw-disk-cut",
      width: 6,
      height: 6,
      patternUnits: "userSpaceOnUse",
      patternTransform: "rotate(45)",
    });
  pattern.append(draw("rect", { class: "klw-hatch", width: 2.2, height: 6 }));
  defs.append(pattern);
  picture.append(defs);
  if (state.lost) {
    const [from, to, text] = state.lost, band = draw("g", { class: "klw-lostband" });
    band.append(
      draw("rect", { x: x(from), y: SIZE.head - 4, width: Math.max(2, x(to) - x(from)), height: tall - SIZE.head }),
    );
    picture.append(titled(band, `Committed ${text} would be lost`));
  }
  picture.append(draw("text", { class: "klw-tickname", x: left - 12, y: SIZE.head - 12 }, "offset"));
  let last = -Infinity;
  for (const [part, text] of state.ticks) {
    picture.append(
      draw("line", { class: "klw-tick", x1: x(part), x2: x(part), y1: SIZE.head - 7, y2: tall - SIZE.foot }),
    );
    if (x(part) - last < 12 + text.length * 6) continue;
    last = x(part);
    picture.append(draw("text", { class: "klw-ticktext", x: x(part), y: SIZE.head - 12 }, text));
  }
  const names = state.lanes.map((lane, k) => {
    const top = SIZE.head + k * SIZE.lane;
    const drawn = laneOf(lane, { state, x, top, right, width, left });
    if (onShow && lane.start[1] !== lane.end[1]) {
      drawn.dataset.can = "show";
      drawn.addEventListener("click", (event) => {
        const at = event.clientX - box.getBoundingClientRect().left;
        if (at >= left) onShow(lane.broker, (at - left) / (right - left));
      });
    }
    picture.append(drawn);
    return h(
      "div",
      { class: "klw-diskname", style: `top:${top + 16}px;width:${left - 22}px` },
      onShow
        ? button(`Show ${state.name} of broker ${lane.broker} in Explore`, {
          glyph: "goto",
          text: `Broker ${lane.broker}`,
          kind: "klw-diskgo",
          onclick: () => onShow(lane.broker, null),
        })
        : h("strong", {}, `Broker ${lane.broker}`),
      h(
        "div",
        {},
        lane.broker === state.leader ? h("span", { class: "klw-chip", "data-leads": "true" }, "leads") : null,
        lane.is_ahead ? h("span", { class: "klw-chip" }, "ahead") : null,
        state.lanes.length > 1 && lane.broker === state.keep
          ? h("span", { class: "klw-chip", "data-keep": "true" }, "keep")
          : null,
      ),
      h("small", {}, lane.damage ? plural(lane.damage, "problem") : lane.stopped),
    );
  });
  if (state.divergence) {
    const [part, text] = state.divergence, near = x(part) > width - 170, line = draw("g", { class: "klw-divergence" });
    line.append(
      draw("line", { x1: x(part), x2: x(part), y1: SIZE.head - 7, y2: tall - SIZE.foot }),
      draw(
        "text",
        { x: x(part) + (near ? -5 : 5), y: 13, "text-anchor": near ? "end" : "start" },
        `differ from ${text}`,
      ),
    );
    picture.append(titled(line, `Replicas hold different records from offset ${text}`));
  }
  box.style.height = `${tall}px`;
  box.replaceChildren(picture, ...names);
  box.setAttribute(
    "aria-label",
    `${state.lanes.map(inWords).join(" ")} ${
      state.divergence ? `Different from offset ${state.divergence[1]}.` : ""
    } ${state.outcome} Up and down arrows choose the leader.`,
  );
}

function inWords({ broker, start, end, high, cut }) {
  return `Broker ${broker}: log start offset ${start[1]}, log end offset ${end[1]}, ${
    high ? `high watermark ${high[1]}` : "no high watermark"
  }${cut ? `, would truncate ${cut[2]}` : ""}.`;
}

function laneOf(lane, { state, x, top, right, width, left }) {
  const y = top + SIZE.top, low = y + SIZE.log, group = draw("g", { class: "klw-disk" });
  group.append(
    draw("line", { class: "klw-laneline", x1: 0, x2: width, y1: top + SIZE.lane - 1, y2: top + SIZE.lane - 1 }),
    draw("line", { class: "klw-laneaxis", x1: left, x2: right, y1: low, y2: low }),
  );
  for (const [epoch, from, to, text] of lane.epochs) {
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
    group.append(
      titled(run, `Broker ${lane.broker}, ${text}: ${epoch < 0 ? "no leader epoch" : `leader epoch ${epoch}`}`),
    );
  }
  if (state.cells) {
    for (let k = 1; k < state.cells; k++) {
      if (k / state.cells > lane.start[0] && k / state.cells < lane.end[0]) {
        group.append(
          draw("line", {
            class: "klw-celline",
            x1: x(k / state.cells),
            x2: x(k / state.cells),
            y1: y + 1,
            y2: low - 1,
          }),
        );
      }
    }
  }
  for (const [from, to, text] of lane.unreadable) {
    group.append(
      titled(
        draw("rect", { class: "klw-unreadable", x: x(from), y: y - 5, width: Math.max(3, x(to) - x(from)), height: 4 }),
        `${text} cannot be read`,
      ),
    );
  }
  if (lane.cut) {
    const [from, to, text] = lane.cut;
    group.append(
      titled(
        draw("rect", {
          class: "klw-cut",
          x: x(from) + 0.75,
          y,
          width: Math.max(2, x(to) - x(from) - 1.5),
          height: SIZE.log,
          rx: 3,
        }),
        `Broker ${lane.broker} would truncate ${text}`,
      ),
    );
  }
  for (const [kind, from, to, text] of lane.differs) {
    const strip = draw("rect", {
      class: "klw-diffmark",
      "data-lane": kind,
      x: x(from) + 0.75,
      y: low - 7,
      width: Math.max(2, x(to) - x(from) - 1.5),
      height: 7,
    });
    group.append(titled(strip, `Broker ${lane.broker}, ${DIFFERS[kind]}: ${text}`));
  }
  const mark = (kind, [part, offset], label, at, from, to, words) => {
    const isLate = x(part) > width - 74, spot = draw("g", { class: "klw-diskmark", "data-lane": kind });
    spot.append(
      draw("line", { x1: x(part), x2: x(part), y1: from, y2: to }),
      draw(
        "text",
        { x: x(part) + (isLate ? -5 : 5), y: at, "text-anchor": isLate ? "end" : "start" },
        `${label} ${offset}`,
      ),
    );
    group.append(titled(spot, `${words} ${offset}`));
  };
  if (lane.start[1] !== "0") mark("start", lane.start, "start", y - 6, y - 16, low, "Log start offset");
  mark("leo", lane.end, "LEO", y - 6, y - 16, low, "Log end offset");
  if (lane.high) {
    group.append(
      draw("rect", {
        class: "klw-below-hw",
        x: x(lane.start[0]),
        y: low + 3,
        width: Math.max(0, x(lane.high[0]) - x(lane.start[0])),
        height: 4,
        rx: 2,
      }),
    );
    mark("hw", lane.high, "HW", low + 20, low, low + 22, "Checkpointed high watermark");
  }
  return group;
}
