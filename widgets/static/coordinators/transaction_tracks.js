// Producers as lanes over the offsets of a partition, transactions as bars, the last stable offset as a line.
import { countTicks } from "../charts/axis.js";
import { count, plural } from "../shared/format.js";
import {
  LANES,
  paintAxis,
  paintHairline,
  paintLaneGrid,
  paintLaneGround,
  paintLaneName,
  paintOverviewFrame,
} from "../charts/lane_scene.js";
import { DAMAGE, GREEN, hatch, ORANGE } from "../shared/theme.js";
import { barRuns, OPEN } from "./transaction_data.js";

export const BAR_COLORS = [GREEN, DAMAGE, ORANGE];
const HEAD = 22, TALL = 46, BAR = 16;

export const transactionPicture = {
  least: 4,
  tall: () => TALL,
  head: () => HEAD,
  paint: paintTransactions,
  paintBelow: paintTransactionOverview,
  card: transactionCard,
  describe: (lanes) =>
    `${
      plural(lanes.length, "producer")
    } over the offsets of the log. Arrow keys move between transactions and producers.`,
};

const offsetTicks = ({ view, span }) => countTicks(view[0], view[1], span / 90);

function transactionCard(lane, offset, { view, span }) {
  const i = lane.at(offset), near = i >= 0 ? i : lane.nearest(offset), reach = (4 * (view[1] - view[0])) / span;
  const isNear = near >= 0 && offset >= lane.first[near] - reach && offset <= lane.end(near) + reach;
  return isNear
    ? { title: lane.name, facts: lane.facts(near) }
    : { title: lane.name, facts: [["offset", count(Math.floor(offset))], ["here", "no transaction of this producer"]] };
}

function paintTransactions(scene, { lanes, picked, hover, marks, head, tall }) {
  const bottom = head + lanes.length * tall;
  paintLaneGrid(scene, offsetTicks(scene), head, bottom);
  lanes.forEach((lane, i) => {
    const top = head + i * tall;
    paintLaneGround(scene, top, tall, i === picked.lane);
    paintBars(scene, lane, top + (tall - BAR) / 2, i === picked.lane ? picked.item : -1);
    paintLaneName(scene, lane.name, lane.about(), top + tall / 2);
  });
  for (const each of marks) paintStable(scene, each, bottom);
  if (hover !== null) paintHairline(scene, hover, head, bottom);
}

function paintBars(scene, lane, top, picked) {
  const { pen, ink, view, span, left, x } = scene, least = (view[1] - view[0]) / span;
  const stripes = hatch(pen, ink.dark ? "rgba(0,0,0,.42)" : "rgba(255,255,255,.5)", 6);
  pen.save();
  pen.beginPath();
  pen.rect(left, top - 12, span + 1, BAR + 24);
  pen.clip();
  pen.textAlign = "center";
  for (const run of barRuns(lane, view, least)) {
    const a = x(run.start),
      b = x(run.end),
      gap = b - a > 6 ? 1 : 0,
      wide = Math.max(1, b - a - gap),
      isOpen = run.outcome === OPEN;
    const solid = isOpen ? Math.max(1.5, x(lane.last[run.item] + 1) - a) : wide;
    pen.fillStyle = BAR_COLORS[run.outcome];
    pen.fillRect(a, top, Math.min(wide, solid), BAR);
    if (run.outcome === 1) {
      pen.fillStyle = stripes;
      pen.fillRect(a, top, wide, BAR);
    }
    if (isOpen) {
      pen.setLineDash([4, 3]);
      pen.lineWidth = 1.5;
      pen.strokeStyle = BAR_COLORS[OPEN];
      pen.strokeRect(a + 0.75, top + 0.75, Math.max(2, b - a - 1.5), BAR - 1.5);
      pen.setLineDash([]);
    } else if (b - a > 10 && run.item === run.lastItem) {
      paintMarker(
        scene,
        run.outcome,
        Math.max(a + 1, x(run.end - 1)),
        Math.max(2.5, Math.min(4, x(run.end) - x(run.end - 1))),
        top,
      );
    }
  }
  if (picked >= 0) {
    const a = x(lane.first[picked]), wide = Math.max(4, x(lane.end(picked)) - a);
    for (const [color, thick] of [[ink.bg, 5], [ink.fg, 2]]) {
      pen.strokeStyle = color;
      pen.lineWidth = thick;
      pen.strokeRect(a - 2, top - 3, wide + 3, BAR + 6);
    }
  }
  pen.restore();
}

// A transaction marker: a dark tick at the end of its bar, higher than the bar for a commit, lower for an abort.
function paintMarker({ pen, ink }, outcome, at, wide, top) {
  pen.fillStyle = ink.fg;
  pen.fillRect(at, outcome === 1 ? top : top - 4, wide, BAR + 4);
}

// The last stable offset, and after it what read_committed consumers cannot read yet.
function paintStable({ pen, ink, x, left, span, view }, { at, end, title }, bottom) {
  const isBlocked = end > at, place = Math.max(left, Math.min(left + span, x(at)));
  if (isBlocked && view[1] > at) {
    pen.fillStyle = ink.warm;
    pen.fillRect(place, HEAD - 4, Math.max(2, Math.min(left + span, x(end)) - place), bottom - HEAD + 4);
  }
  if (at < view[0] || at > view[1]) return;
  pen.fillStyle = ink.fg;
  pen.fillRect(place - 1, HEAD - 8, 2, bottom - HEAD + 8);
  pen.font = ink.strong;
  const wide = pen.measureText(title).width, isLeft = place + 8 + wide > left + span + LANES.right;
  pen.textAlign = isLeft ? "right" : "left";
  pen.fillText(title, place + (isLeft ? -6 : 6), 9);
}

// All offsets: bars of all producers on one line, those that aborted or are open above the others.
function paintTransactionOverview(scene, { lanes, whole, marks, cache }) {
  const { pen, ink, span } = scene, least = (whole[1] - whole[0]) / span;
  paintAxis(scene, offsetTicks(scene));
  cache.runs ??= lanes.flatMap((lane) => barRuns(lane, whole, least)).sort((a, b) => a.outcome - b.outcome);
  paintOverviewFrame(scene, "All offsets", whole, (place, top, tall) => {
    for (const { start, end, outcome } of cache.runs) {
      pen.fillStyle = BAR_COLORS[outcome];
      pen.globalAlpha = outcome ? 1 : 0.55;
      pen.fillRect(
        place(start),
        top + tall * (outcome ? 0.18 : 0.3),
        Math.max(1, place(end) - place(start)),
        tall * (outcome ? 0.64 : 0.4),
      );
    }
    pen.globalAlpha = 1;
    pen.fillStyle = ink.fg;
    for (const { at } of marks) pen.fillRect(place(at) - 1, top, 2, tall);
  });
}
