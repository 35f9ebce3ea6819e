// How wide the columns of a table have to be: headings, numbers and short texts are always whole.
import { plainCell } from "./row_texts.js";

const SHORT = 17; // characters, as a time or a verdict with its size has
const HEADING = "600 11px", TEXT = "600 12px", MONO = "11.5px"; // as bold as they become
const BETWEEN = 15, TOOL = 24, MENU = 14; // px beside a text, of a button beside a heading, and of the table's menu
let pen = null;

// The px of each column, from its heading and its texts, `textsOf(k)`, if all are short: [least, without a break].
// `isOneLine`: headings do not break.
export function leastWidths(box, columns, textsOf, isOneLine) {
  pen ??= document.createElement("canvas").getContext("2d");
  const style = getComputedStyle(box), mono = style.getPropertyValue("--klw-mono") || "monospace";
  const wide = (text, font) => {
    pen.font = font;
    return pen.measureText(text).width;
  };
  return columns.map(({ name, mono: isMono, tool }, k) => {
    const font = isMono ? `${MONO} ${mono}` : `${TEXT} ${style.fontFamily}`, isLast = k === columns.length - 1;
    const texts = [...new Set(textsOf(k))], isShort = texts.every((text) => text.length <= SHORT);
    const short = isShort ? texts.map((text) => wide(text, font)) : [];
    const heading = (name ? linesOf(name) : []).map((lines) =>
      Math.max(...lines.map((line) => wide(line, `${HEADING} ${style.fontFamily}`)))
    );
    const whole = heading[0] ?? 0, least = isOneLine ? whole : Math.min(...heading, whole);
    const more = (name ? BETWEEN : 0) + (tool ? TOOL : 0) + (isLast ? MENU : 0);
    return [least, whole].map((px) => Math.ceil(Math.max(px, ...(name ? short : [])) + more));
  });
}

// A heading on one line, and each way to have it on two.
function linesOf(name) {
  const words = name.split(" ");
  return words.map((_, at) => [words.slice(0, at).join(" "), words.slice(at).join(" ")].filter(Boolean));
}

// The cells that are there of the first `most` rows, as texts by column.
export function firstTexts(columns, cellsOf, count, most) {
  const rows = Array.from({ length: Math.min(count, most) }, (_, i) => cellsOf(i)).filter(Boolean);
  return columns.map((_, k) => rows.map((cells) => plainCell(cells[k])));
}

// A track that has at least these px, and one of a fixed width as many as there is room for.
export function trackOfAtLeast(track, px) {
  if (!px?.[1]) return track;
  const [, least, most] = track.match(/^minmax\((.*),\s*([^,]+)\)$/) ?? [null, track, null];
  const [low, high] = px.map((each) => `max(${least === "0" ? "0px" : least}, ${each}px)`);
  return `minmax(${low}, ${most ?? high})`;
}
