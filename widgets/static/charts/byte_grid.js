// The axis of bytes over a segment: a label and a line down to `bottom` at each tick.
import { byteTicks } from "./axis.js";

export function paintByteGrid({ pen, ink, view, x, span, left }, [top, tall], bottom) {
  const limit = left + span + 2;
  pen.font = ink.small;
  pen.textAlign = "left";
  pen.lineWidth = 1;
  for (const { at, text } of byteTicks(view[0], view[1], span / 90)) {
    const place = Math.round(x(at)) + 0.5;
    pen.strokeStyle = ink.hair;
    pen.beginPath();
    pen.moveTo(place, top + 2);
    pen.lineTo(place, bottom);
    pen.stroke();
    pen.fillStyle = ink.dim;
    if (place + pen.measureText(text).width + 6 < limit) pen.fillText(text, place + 4, top + tall / 2 - 1);
  }
}
