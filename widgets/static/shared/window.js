// The arithmetic of scrolling through any number of equal rows.
// Browsers cap the height of an element near 33 million pixels, so long tables scroll on a reduced scale.
const TALLEST = 8_000_000;

export function geometry(rows, rowHeight, viewport) {
  const full = rows * rowHeight, height = Math.min(full, TALLEST);
  return {
    height,
    isScaled: full > TALLEST,
    lastTop: Math.max(0, rows - viewport / rowHeight),
    lastScroll: Math.max(0, height - viewport),
    rowHeight,
  };
}

// The first visible row, with its fraction, for a position of the scroll bar; and the inverse.
export function topOf(scroll, g) {
  if (!g.isScaled) return Math.min(scroll / g.rowHeight, g.lastTop);
  return g.lastScroll ? (scroll / g.lastScroll) * g.lastTop : 0;
}

export function scrollOf(top, g) {
  if (!g.isScaled) return top * g.rowHeight;
  return g.lastTop ? (top / g.lastTop) * g.lastScroll : 0;
}

// The new first row that makes `row` visible with the least movement.
export function topToShow(row, top, shown, lastTop) {
  if (row < top) return Math.max(0, row);
  if (row + 1 > top + shown) return Math.min(lastTop, row + 1 - shown);
  return top;
}
