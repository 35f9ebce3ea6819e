// A squarified treemap: rectangles whose areas are the values, as near to squares as can be.
// Bruls, Huizing, van Wijk: Squarified Treemaps (2000).

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
