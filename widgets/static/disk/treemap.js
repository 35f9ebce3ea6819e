// A squarified treemap: rectangles whose areas are the values, as near to squares as can be.
// Bruls, Huizing, van Wijk: Squarified Treemaps (2000).

const MOST_TILES = 120, MOST_INNER = 40, HEADER = 20, PAD = 3;

// Rectangles [x, y, width, height] for values that descend, within a box.
export function squarify(values, [left, top, width, height]) {
  const total = values.reduce((sum, each) => sum + each, 0), rects = [];
  if (!(total > 0) || width <= 0 || height <= 0) return values.map(() => [left, top, 0, 0]);
  const scale = (width * height) / total;
  let x = left, y = top, w = width, h = height, i = 0;
  while (i < values.length) {
    const side = Math.min(w, h);
    let end = i + 1, sum = values[i] * scale;
    while (end < values.length) {
      const next = sum + values[end] * scale;
      if (worst(values[i], values[end], next, scale, side) > worst(values[i], values[end - 1], sum, scale, side)) break;
      sum = next;
      end++;
    }
    const deep = side > 0 ? Math.min(sum / side, Math.max(w, h)) : 0;
    let along = 0;
    for (; i < end; i++) {
      const length = deep > 0 ? (values[i] * scale) / deep : 0;
      rects.push(w >= h ? [x, y + along, deep, length] : [x + along, y, length, deep]);
      along += length;
    }
    if (w >= h) [x, w] = [x + deep, Math.max(0, w - deep)];
    else [y, h] = [y + deep, Math.max(0, h - deep)];
  }
  return rects;
}

// The worst ratio of sides in a row of values from `most` to `least`, which together take `sum` pixels.
function worst(most, least, sum, scale, side) {
  const square = side * side, all = sum * sum;
  return Math.max((square * most * scale) / all, all / (square * least * scale));
}

// The first `most` nodes, and one node for the rest; nodes of which the disk holds nothing take no room.
export function withRest(nodes, most) {
  const shown = nodes.filter((node) => node.occupied > 0);
  if (shown.length <= most) return shown;
  const rest = shown.slice(most - 1);
  const occupied = rest.reduce((sum, node) => sum + node.occupied, 0);
  return [...shown.slice(0, most - 1), {
    name: `${rest.length} smaller`,
    kind: "rest",
    occupied,
    size: rest.reduce((sum, node) => sum + node.size, 0),
    note: "",
    children: [],
    path: null,
  }];
}

// The tiles of a treemap: the nodes, and one level of what is inside of those with room for it. A tile is {node, rect,
// number, isBox}: `number` is null inside of another, `isBox` says that others are drawn in it.
export function tilesOf(nodes, box) {
  const outer = withRest(nodes, MOST_TILES), rects = squarify(outer.map((node) => node.occupied), box), tiles = [];
  outer.forEach((node, number) => {
    const rect = inset(rects[number], 1.5), inner = innerBox(node, rect);
    tiles.push({ node, rect, number, isBox: inner !== null });
    if (!inner) return;
    const inside = withRest(node.children, MOST_INNER);
    squarify(inside.map((each) => each.occupied), inner).forEach((each, k) => {
      tiles.push({ node: inside[k], rect: inset(each, 1), number: null, isBox: false });
    });
  });
  return tiles;
}

function innerBox(node, [x, y, w, h]) {
  if (node.children.length === 0 || node.kind === "files" || w < 74 || h < 56) return null;
  return [x + PAD, y + HEADER, w - 2 * PAD, h - HEADER - PAD];
}

function inset([x, y, w, h], by) {
  return [x + by, y + by, Math.max(1, w - 2 * by), Math.max(1, h - 2 * by)];
}
