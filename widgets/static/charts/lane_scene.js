// What the painters of lanes share: the geometry of a chart, its grid, its overview and short names.
export const LANES = { gutter: 150, narrow: 116, right: 78, axis: 22, overview: 34 };

export function laneScene(pen, ink, width, view) {
  const left = width < 640 ? LANES.narrow : LANES.gutter, span = Math.max(10, width - left - LANES.right);
  return { pen, ink, width, view, left, span, x: (at) => left + ((at - view[0]) / (view[1] - view[0])) * span };
}

export function paintLaneGrid({ pen, ink, left, x }, ticks, head, bottom) {
  pen.textBaseline = "middle";
  pen.strokeStyle = ink.hair;
  pen.lineWidth = 1;
  for (const { at } of ticks) {
    const place = Math.round(x(at)) + 0.5;
    if (place < left) continue;
    pen.beginPath();
    pen.moveTo(place, head);
    pen.lineTo(place, bottom);
    pen.stroke();
  }
}

// The background of a lane, marked if it is the picked one.
export function paintLaneGround({ pen, ink, width }, top, tall, isPicked) {
  if (isPicked) {
    pen.fillStyle = ink.pick;
    pen.fillRect(0, top, width, tall);
    pen.fillStyle = ink.accent;
    pen.fillRect(0, top, 3, tall);
  }
  pen.fillStyle = ink.line;
  pen.fillRect(0, top + tall - 1, width, 1);
}

export function paintLaneName({ pen, ink, left }, name, about, middle) {
  pen.textAlign = "left";
  pen.font = ink.strong;
  pen.fillStyle = ink.fg;
  pen.fillText(shortened(pen, name, left - 24), 14, middle - 8);
  pen.font = ink.ui;
  pen.fillStyle = ink.dim;
  pen.fillText(cutAtEnd(pen, about, left - 24), 14, middle + 8);
}

export function paintHairline({ pen, ink, view, x }, at, head, bottom) {
  if (at < view[0] || at > view[1]) return;
  pen.strokeStyle = ink.faint;
  pen.lineWidth = 1;
  pen.beginPath();
  pen.moveTo(Math.round(x(at)) + 0.5, head);
  pen.lineTo(Math.round(x(at)) + 0.5, bottom);
  pen.stroke();
}

export function paintAxis({ pen, ink, x, width }, ticks) {
  pen.textBaseline = "middle";
  pen.font = ink.small;
  pen.textAlign = "left";
  pen.fillStyle = ink.dim;
  for (const { at, text } of ticks) {
    const place = x(at);
    pen.fillRect(Math.round(place), 0, 1, 4);
    if (place + pen.measureText(text).width < width - 4) pen.fillText(text, place + 4, 9);
  }
}

// The overview under the axis: `fill(place, top, tall)` paints the whole; the frame is the range in the lanes.
export function paintOverviewFrame(scene, name, whole, fill) {
  const { pen, ink, view, left, span } = scene, top = LANES.axis, tall = LANES.overview - 8;
  pen.fillStyle = ink.hair;
  pen.fillRect(left, top, span, tall);
  const place = (at) => left + ((at - whole[0]) / (whole[1] - whole[0])) * span,
    a = place(view[0]),
    b = Math.max(a + 3, place(view[1]));
  fill(place, top, tall);
  pen.fillStyle = ink.dark ? "rgba(0,0,0,.6)" : "rgba(255,255,255,.72)";
  pen.fillRect(left, top, a - left, tall);
  pen.fillRect(b, top, left + span - b, tall);
  pen.strokeStyle = ink.fg;
  pen.lineWidth = 1.5;
  pen.strokeRect(a + 0.75, top + 0.75, Math.max(2, b - a - 1.5), tall - 1.5);
  pen.fillStyle = ink.dim;
  pen.font = ink.ui;
  pen.textAlign = "left";
  pen.fillText(shortened(pen, name, left - 24), 14, top + tall / 2);
}

// Names differ at their end, so they lose their beginning; what is said of them begins with the number.
function shortened(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`…${text.slice(-end)}`).width > room) end--;
  return `…${text.slice(-end)}`;
}

function cutAtEnd(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  let end = text.length;
  while (end > 1 && pen.measureText(`${text.slice(0, end)}…`).width > room) end--;
  return `${text.slice(0, end)}…`;
}
