// The lanes of a group on one canvas, and the overview of all time on another.
import { ABORTED, BACK, OVERTAKEN, PENDING, sampleLane, TOMBSTONE, totalLag } from "./group_data.js";
import { count } from "./format.js";
import { DAMAGE } from "./theme.js";
import { timeTicks } from "./time_axis.js";

export const LANES = { tall: 68, low: 46, gutter: 150, narrow: 104, right: 78, axis: 22, overview: 34, many: 8 };

// The height above the lanes: rebalances have their labels there.
export const headTall = (marks) => (marks.length ? 20 : 4);
export const laneTall = (lanes) => (lanes.length > LANES.many ? LANES.low : LANES.tall);

export function groupScene(pen, ink, width, view) {
  const left = width < 640 ? LANES.narrow : LANES.gutter, span = Math.max(10, width - left - LANES.right);
  return { pen, ink, width, view, left, span, x: (time) => left + ((time - view[0]) / (view[1] - view[0])) * span };
}

export function paintLanes(scene, { lanes, mode, picked, hover, marks }) {
  const { pen, width } = scene, tall = laneTall(lanes), head = headTall(marks), bottom = head + lanes.length * tall;
  pen.clearRect(0, 0, width, bottom);
  pen.textBaseline = "middle";
  paintGrid(scene, head, bottom);
  lanes.forEach((lane, i) => paintLane(scene, lane, head + i * tall, tall, { mode, isPicked: i === picked.lane, commit: i === picked.lane ? picked.commit : -1 }));
  paintMarks(scene, marks, head, bottom);
  if (hover !== null) paintHairline(scene, hover, head, bottom);
}

function paintGrid({ pen, ink, view, span, left, x }, head, bottom) {
  pen.strokeStyle = ink.hair;
  pen.lineWidth = 1;
  for (const { at } of timeTicks(view[0], view[1], span / 110)) {
    const place = Math.round(x(at)) + 0.5;
    if (place < left) continue;
    pen.beginPath();
    pen.moveTo(place, head);
    pen.lineTo(place, bottom);
    pen.stroke();
  }
}

function paintLane(scene, lane, top, tall, { mode, isPicked, commit }) {
  const { pen, ink, width, left, span, view } = scene, pad = 9, room = tall - 2 * pad;
  if (isPicked) {
    pen.fillStyle = ink.pick;
    pen.fillRect(0, top, width, tall);
    pen.fillStyle = ink.accent;
    pen.fillRect(0, top, 3, tall);
  }
  pen.fillStyle = ink.line;
  pen.fillRect(0, top + tall - 1, width, 1);
  const sample = sampleLane(lane, view, span, mode), y = (value) => top + pad + room - ((value - sample.least) / (sample.most - sample.least)) * room;
  pen.save();
  pen.beginPath();
  pen.rect(left, top, span + 1, tall);
  pen.clip();
  fillBetween(scene, sample, y);
  const committed = mode === "lag" ? sample.high : sample.low;
  if (mode !== "lag") stroke(scene, sample, sample.high, y, ink.dim, 1.25);
  stroke(scene, sample, committed, y, ink.accent, 2);
  paintPoints(scene, lane, y, mode, commit);
  pen.restore();
  paintNames(scene, lane, top, tall);
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

function stroke({ pen, left, span }, { wide }, values, y, colour, thick) {
  pen.strokeStyle = colour;
  pen.lineWidth = thick;
  pen.lineJoin = "round";
  pen.beginPath();
  let isOpen = false;
  for (let x = 0; x < wide; x++) {
    if (Number.isNaN(values[x])) { isOpen = false; continue; }
    const from = left + (x / wide) * span, level = y(values[x]);
    if (isOpen) pen.lineTo(from, level); else pen.moveTo(from, level);
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
    const place = x(time), before = kind === TOMBSTONE ? (lane.committed(time - 1) ?? lane.offset[Math.max(0, i - 1)]) : lane.offset[i];
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

function paintNames({ pen, ink, left, view }, lane, top, tall) {
  const lag = lane.lag(view[1]);
  pen.textAlign = "left";
  pen.font = ink.strong;
  pen.fillStyle = ink.fg;
  pen.fillText(shortened(pen, lane.name, left - 24), 14, top + tall / 2 - 8);
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  pen.fillText(shortened(pen, lag === null ? "lag unknown" : `lag ${count(Math.round(lag))}`, left - 24), 14, top + tall / 2 + 8);
}

export function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`…${text.slice(-end)}`).width > room) end--;
  return `…${text.slice(-end)}`;
}

// The last values stand at the ends of their lines; where both would overlap they keep a distance.
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

function paintHairline({ pen, ink, view, x }, time, head, bottom) {
  if (time < view[0] || time > view[1]) return;
  pen.strokeStyle = ink.faint;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(Math.round(x(time)) + 0.5, head);
  pen.lineTo(Math.round(x(time)) + 0.5, bottom);
  pen.stroke();
}

// The axis of the view, and under it all time: the lag of the whole group, and which part the lanes show.
export function paintTimeOverview(scene, { lanes, whole, cache }) {
  const { pen, ink, width, view, left, span, x } = scene, top = LANES.axis, tall = LANES.overview - 8;
  pen.clearRect(0, 0, width, LANES.axis + LANES.overview);
  pen.textBaseline = "middle";
  pen.font = ink.small;
  pen.textAlign = "left";
  pen.fillStyle = ink.dim;
  for (const { at, text } of timeTicks(view[0], view[1], span / 110)) {
    const place = x(at);
    pen.fillRect(Math.round(place), 0, 1, 4);
    if (place + pen.measureText(text).width < width - 4) pen.fillText(text, place + 4, 9);
  }
  const wide = Math.max(2, Math.floor(span / 2)), key = `${wide}|${whole}`;
  if (cache.overviewKey !== key) Object.assign(cache, { overviewKey: key, sums: totalLag(lanes, whole, wide) });
  const most = Math.max(1, ...cache.sums);
  pen.fillStyle = ink.hair;
  pen.fillRect(left, top, span, tall);
  pen.fillStyle = ink.area;
  cache.sums.forEach((sum, i) => pen.fillRect(left + (i / wide) * span, top + tall - (sum / most) * (tall - 2), span / wide, (sum / most) * (tall - 2)));
  const place = (time) => left + ((time - whole[0]) / (whole[1] - whole[0])) * span, a = place(view[0]), b = Math.max(a + 3, place(view[1]));
  pen.fillStyle = ink.dark ? "rgba(0,0,0,.6)" : "rgba(255,255,255,.72)";
  pen.fillRect(left, top, a - left, tall);
  pen.fillRect(b, top, left + span - b, tall);
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  pen.strokeRect(a + 0.75, top + 0.75, Math.max(2, b - a - 1.5), tall - 1.5);
  pen.fillStyle = ink.dim;
  pen.font = ink.ui;
  pen.fillText(shortened(pen, "All time", left - 24), 14, top + tall / 2);
}
