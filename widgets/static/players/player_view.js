// Which bytes of a segment a player shows, so that what a step touches is large enough to see.
import { clampView } from "../charts/axis.js";

const ALL_FIT = 80;
const WINDOW = 48;
const WHOLE = new Set(["floor", "probe", "time probe", "time entry"]);
const WALKED = new Set(["entry", "passed", "found"]);

// The view for step i; it remains `view` if the touched bytes are well inside.
export function viewOf(data, i, view) {
  const segment = data.segments[data.stage(i)], touched = data.touched(i);
  if (!segment) return [0, 1];
  const whole = [0, Math.max(1, segment.size)];
  if (segment.length <= ALL_FIT) return whole;
  const window = Math.min(segment.size, (segment.size / segment.length) * WINDOW), role = data.role(i);
  if (WHOLE.has(role)) return whole;
  if (!touched || data.segmentOf(i) < 0) return view ?? clampView(0, window, segment.size);
  if (WALKED.has(role)) {
    const [from, to] = data.walk(i), span = Math.max(window, (to - from) * 1.6);
    if (to - from <= window * 3) return clampView((from + to - span) / 2, (from + to + span) / 2, segment.size);
  }
  if (touched[1] - touched[0] > window) {
    return clampView(
      touched[0] - (touched[1] - touched[0]) * 0.1,
      touched[1] + (touched[1] - touched[0]) * 0.1,
      segment.size,
    );
  }
  const span = view ? view[1] - view[0] : 0;
  const isNear = Math.abs(span - window) < 1 && touched[0] >= view[0] + (view[0] > 0 ? span * 0.06 : 0) &&
    touched[1] <= view[1] - (view[1] < segment.size ? span * 0.12 : 0);
  if (isNear) return view;
  return clampView(touched[0] - window * 0.16, touched[0] + window * 0.84, segment.size);
}

// Runs of neighboring batches in the same state, so that many narrow ones are one box.
export function stateRuns(segment, first, last, at, least) {
  const runs = [];
  for (let row = first; row <= last; row++) {
    if (!segment.isShown(row, at)) continue;
    const state = segment.state(row, at), from = segment.position[row], to = segment.end(row), run = runs.at(-1);
    const joins = run && run.state === state && run.to === from && (to - from < least || run.to - run.from < least);
    if (joins) {
      run.to = to;
      run.last = row;
    } else runs.push({ state, from, to, first: row, last: row });
  }
  return runs;
}
