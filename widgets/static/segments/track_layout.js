// The tracks of the segment map: [top, height] in CSS pixels.
export const LAYOUT = {
  gutter: 92,
  right: 12,
  overview: [8, 16],
  axis: [32, 18],
  batches: [58, 52],
  index: [118, 24],
  time: [152, 58],
  height: 218,
};
