// Many batches to the pixel: what share of each pixel column belongs to which category.
import { floorIndex } from "../shared/columns.js";

// Sums over [from, to) divided into `width` columns. For each column: bytes per category, bytes that are
// transactional, and flags: 1 = a control batch begins here, 2 = a damaged batch touches it, 4 = offsets are missing here.
export function binBatches(data, from, to, width) {
  const kinds = data.categories.length, scale = width / (to - from);
  const bytes = new Float32Array(width * kinds), transactional = new Float32Array(width), flags = new Uint8Array(width);
  const { position, end, category, attributes, problem, missing } = data;
  for (let i = Math.max(0, floorIndex(position, from)); i < position.length && position[i] < to; i++) {
    const start = Math.max(0, (position[i] - from) * scale), stop = Math.min(width, (end[i] - from) * scale);
    if (stop <= start) continue;
    const first = Math.floor(start),
      last = Math.min(width - 1, Math.ceil(stop) - 1),
      bits = attributes[i],
      kind = category[i];
    if (bits & 0x20 && position[i] >= from) flags[first] |= 1;
    if (missing[i] && position[i] >= from) flags[first] |= 4;
    for (let x = first; x <= last; x++) {
      const share = Math.min(stop, x + 1) - Math.max(start, x);
      bytes[x * kinds + kind] += share;
      if (bits & 0x10) transactional[x] += share;
      if (problem[i]) flags[x] |= 2;
    }
  }
  return { kinds, bytes, transactional, flags, width };
}

// Paint bins as stacked shares into an image: each column shows its categories one above the other.
export function paintBins(bins, colors, image) {
  const { kinds, bytes, width } = bins, height = image.height, pixels = new Uint32Array(image.data.buffer);
  const words = colors.map(([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0);
  pixels.fill(0);
  for (let x = 0; x < width; x++) {
    let total = 0, only = -1, several = false;
    for (let k = 0; k < kinds; k++) {
      const share = bytes[x * kinds + k];
      if (!share) continue;
      several = only >= 0;
      only = k;
      total += share;
    }
    if (only < 0) continue;
    const faint = total < 0.999 ? Math.max(40, Math.round(total * 255)) : 255;
    let y = 0;
    for (let k = several ? 0 : only; k <= only; k++) {
      const share = bytes[x * kinds + k];
      if (!share) continue;
      const stop = k === only ? height : Math.min(height, Math.round(y + (share / total) * height));
      const word = ((words[k] & 0xffffff) | (faint << 24)) >>> 0;
      for (; y < stop; y++) pixels[y * width + x] = word;
    }
  }
  return image;
}

// The lowest and highest time of each pixel column, NaN where there is none.
export function binTimes(data, from, to, width) {
  const low = new Float64Array(width).fill(NaN), high = new Float64Array(width).fill(NaN), scale = width / (to - from);
  const { position, time, problem } = data;
  for (let i = Math.max(0, floorIndex(position, from)); i < position.length && position[i] < to; i++) {
    if (time[i] < 0 || problem[i]) continue;
    const x = Math.min(width - 1, Math.max(0, Math.floor((position[i] - from) * scale)));
    if (!(low[x] <= time[i])) low[x] = time[i];
    if (!(high[x] >= time[i])) high[x] = time[i];
  }
  return { low, high };
}
