// Which cells of a round the picture of a cleaning shows: all if they fit, otherwise those around the step.
const WIDEST = 58;
const FAR = 0.12;
const SQUEEZE = 1.25; // cells may be narrower by this factor if all of them are then visible

// The view [from, to] in cells, each at least `least` pixels wide; it remains `view` if the touched
// cells are well inside.
export function cellsInView(round, touched, { span, least, view, isWhole = false }) {
  const all = [0, Math.max(round.wide, span / WIDEST)];
  const most = Math.max(6, span / least);
  if (isWhole || round.wide <= most * SQUEEZE) return all;
  if (!touched) return view ?? [0, most];
  const [from, to] = touched, wide = Math.min(to - from, most * (1 - 2 * FAR));
  if (
    view && Math.abs(view[1] - view[0] - most) < 0.01 && from >= view[0] + (view[0] > 0 ? most * FAR : 0) &&
    from + wide <= view[1] - (view[1] < round.wide ? most * FAR : 0)
  ) return view;
  const start = Math.max(0, Math.min(round.wide - most, from - most * 0.3));
  return [start, start + most];
}
