// The lanes of a group on one canvas, and the overview of all time on another.
import { count, timestamp } from "../shared/format.js";
import { ABORTED, BACK, KINDS, OVERTAKEN, PENDING, sampleLane, TOMBSTONE, totalLag } from "./group_data.js";
import {
  LANES,
  paintAxis,
  paintHairline,
  paintLaneGrid,
  paintLaneGround,
  paintLaneName,
  paintOverviewFrame,
} from "../charts/lane_scene.js";
import { DAMAGE } from "../shared/theme.js";
import { timeTicks } from "../charts/time_axis.js";

const TALL = 68, LOW = 46, MANY = 8;

export const groupPicture = {
  least: 20,
  tall: (lanes) => (lanes.length > MANY ? LOW : TALL),
  head: (marks) => (marks.length ? 20 : 4), // rebalances have their labels above the lanes
  paint: paintLanes,
  paintBelow: paintTimeOverview,
  card: laneCard,
  describe: (lanes) => `${count(lanes.length)} partitions over time. Arrow keys move between commits and partitions.`,
};

const ticksOf = ({ view, span }) => timeTicks(view[0], view[1], span / 110);

function paintLanes(scene, { lanes, mode, picked, hover, marks, head, tall }) {
  const bottom = head + lanes.length * tall;
  paintLaneGrid(scene, ticksOf(scene), head, bottom);
  lanes.forEach((lane, i) =>
    paintLane(scene, lane, head + i * tall, tall, {
      mode,
      isPicked: i === picked.lane,
      commit: i === picked.lane ? picked.item : -1,
    })
  );
  paintMarks(scene, marks, head, bottom);
  if (hover !== null) paintHairline(scene, hover, head, bottom);
}

function laneCard(lane, time, { x }) {
  const end = lane.logEnd(time),
    committed = lane.committed(time),
    lag = lane.lag(time),
    text = (n) => (n === null ? "unknown" : count(Math.round(n)));
  const near = lane.nearest(time), isNear = near >= 0 && Math.abs(x(lane.time[near]) - x(time)) < 6;
  const facts = [["time", timestamp(Math.round(time))], ["log end offset", text(end)], [
    "committed",
    committed === null ? "nothing" : text(committed),
  ], ["lag", text(lag)]];
  return {
    title: lane.name,
    facts: isNear && lane.kind[near] > 0 ? [...facts, ["here", KINDS[lane.kind[near]]]] : facts,
  };
}

function paintLane(scene, lane, top, tall, { mode, isPicked, commit }) {
  const { pen, ink, left, span, view } = scene, pad = 9, room = tall - 2 * pad;
  paintLaneGround(scene, top, tall, isPicked);
  const sample = sampleLane(lane, view, span, mode),
    y = (value) => top + pad + room - ((value - sample.least) / (sample.most - sample.least)) * room;
  pen.save();
  pen.beginPath();
  pen.rect(left, top, span + 1, tall);
  pen.clip();
  fillBetween(scene, sample, y);
  const committed = mode === "lag" ? sample.high : sample.low;
  if (mode !== "lag") stroke(scene, sample, sample.high, y, ink.dim, 1.25);
  stroke(scene, sample, committed, y, ink.accent, 2);
  const clamped = (value) => Math.max(top + pad, Math.min(top + tall - pad, y(value)));
  paintPoints(scene, lane, clamped, mode, commit);
  pen.restore();
  paintLaneName(scene, lane.name, lane.lagText(view[1]), top + tall / 2);
  paintValues(scene, sample, y, mode, top, tall);
}

function fillBetween({ pen, ink, left, span }, { low, high, wide }, y) {
  pen.fillStyle = ink.area;
  for (let x = 0; x < wide; x++) {
    if (Number.isNaN(low[x]) || Number.isNaN(high[x]) || high[x] < low[x]) continue;
    let end = x;
    while (end + 1 < wide && low[end + 1] === low[x] && high[end + 1] === high[x]) end++;
    pen.fillRect(left + (x / wide) * span, y(high[x]), ((end + 1 - x) / wide) * span, y(low[x]) - y(high[x]));
    x = end;
  }
}

function stroke({ pen, left, span }, { wide }, values, y, color, thick) {
  pen.strokeStyle = color;
  pen.lineWidth = thick;
  pen.lineJoin = "round";
  pen.beginPath();
  let isOpen = false;
  for (let x = 0; x < wide; x++) {
    if (Number.isNaN(values[x])) {
      isOpen = false;
      continue;
    }
    const from = left + (x / wide) * span, level = y(values[x]);
    if (isOpen) pen.lineTo(from, level);
    else pen.moveTo(from, level);
    pen.lineTo(left + ((x + 1) / wide) * span, level);
    isOpen = true;
  }
  pen.stroke();
}

// Commits without effect are hollow, tombstones crosses, falls triangles; a picked commit has a ring.
function paintPoints({ pen, ink, view, x }, lane, y, mode, picked) {
  for (let i = 0; i < lane.length; i++) {
    const kind = lane.kind[i], time = lane.time[i];
    if ((kind < PENDING && i !== picked) || time < view[0] || time > view[1]) continue;
    const place = x(time),
      before = kind === TOMBSTONE ? (lane.committed(time - 1) ?? lane.offset[Math.max(0, i - 1)]) : lane.offset[i];
    const level = y(mode === "lag" ? lane.lag(time) ?? lane.lag(time - 1) ?? 0 : Math.max(0, before));
    pen.lineWidth = 1.75;
    pen.strokeStyle = pen.fillStyle = kind === TOMBSTONE || kind === BACK || kind === ABORTED ? DAMAGE : ink.fg;
    pen.beginPath();
    if (kind === TOMBSTONE) {
      for (const side of [-1, 1]) {
        pen.moveTo(place - 4, level - 4 * side);
        pen.lineTo(place + 4, level + 4 * side);
      }
      pen.stroke();
    } else if (kind === BACK) {
      pen.moveTo(place - 5, level - 10);
      pen.lineTo(place + 5, level - 10);
      pen.lineTo(place, level - 2);
      pen.fill();
    } else if (kind === ABORTED || kind === PENDING || kind === OVERTAKEN) {
      pen.arc(place, level, 3.5, 0, 7);
      pen.fillStyle = ink.bg;
      pen.fill();
      pen.stroke();
    }
    if (i !== picked) continue;
    pen.beginPath();
    pen.arc(place, level, 5.5, 0, 7);
    pen.strokeStyle = ink.bg;
    pen.lineWidth = 5;
    pen.stroke();
    pen.strokeStyle = ink.fg;
    pen.lineWidth = 2;
    pen.stroke();
  }
}

// The last values are at the ends of their lines; where both would overlap they keep a distance.
function paintValues({ pen, ink, left, span }, { low, high, wide }, y, mode, top, tall) {
  const at = left + span + 7, upper = high[wide - 1], lower = low[wide - 1];
  pen.font = ink.small;
  pen.textAlign = "left";
  const clamp = (level) => Math.max(top + 9, Math.min(top + tall - 9, level));
  if (mode === "lag") {
    pen.fillStyle = ink.accent;
    if (!Number.isNaN(upper)) pen.fillText(count(Math.round(upper)), at, clamp(y(upper)));
    return;
  }
  let levels = [upper, lower].map((value) => clamp(y(value)));
  if (Math.abs(levels[0] - levels[1]) < 13) {
    const middle = Math.max(top + 15, Math.min(top + tall - 15, (levels[0] + levels[1]) / 2));
    levels = upper >= lower ? [middle - 6.5, middle + 6.5] : [middle + 6.5, middle - 6.5];
  }
  pen.fillStyle = ink.dim;
  if (!Number.isNaN(upper)) pen.fillText(count(Math.round(upper)), at, levels[0]);
  pen.fillStyle = ink.accent;
  if (!Number.isNaN(lower)) pen.fillText(count(Math.round(lower)), at, levels[1]);
}

// Rebalances: a line through all lanes, with the generation above where there is room.
function paintMarks({ pen, ink, view, x, left, span }, marks, head, bottom) {
  let free = left - 40;
  pen.font = ink.small;
  pen.textAlign = "left";
  for (const { time, label } of marks) {
    if (time < view[0] || time > view[1]) continue;
    const place = Math.round(x(time)) + 0.5;
    pen.strokeStyle = ink.mark;
    pen.lineWidth = 1;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.moveTo(place, head - 4);
    pen.lineTo(place, bottom);
    pen.stroke();
    pen.setLineDash([]);
    pen.fillStyle = ink.mark;
    pen.beginPath();
    pen.arc(place, head / 2, 2.5, 0, 7);
    pen.fill();
    const wide = pen.measureText(label).width + 10;
    if (place < free || place + wide > left + span + LANES.right) continue;
    pen.fillText(label, place + 6, head / 2 + 0.5);
    free = place + wide + 6;
  }
}

// The axis of the view, and under it all time with the lag of the whole group.
function paintTimeOverview(scene, { lanes, whole, cache }) {
  const { pen, ink, left, span } = scene, wide = Math.max(2, Math.floor(span / 2)), key = `${wide}|${whole}`;
  cache.wholeLanes ??= lanes;
  if (cache.overviewKey !== key) {
    Object.assign(cache, { overviewKey: key, sums: totalLag(cache.wholeLanes, whole, wide) });
  }
  const most = Math.max(1, ...cache.sums);
  paintAxis(scene, ticksOf(scene));
  paintOverviewFrame(scene, "All time", whole, (_, top, tall) => {
    pen.fillStyle = ink.area;
    cache.sums.forEach((sum, i) =>
      pen.fillRect(
        left + (i / wide) * span,
        top + tall - (sum / most) * (tall - 2),
        span / wide,
        (sum / most) * (tall - 2),
      )
    );
  });
}
