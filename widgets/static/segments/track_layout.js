// The tracks of the segment map: [top, height] in CSS pixels. In a low window they leave room for the records.
const LOW_WINDOW = 720;

const TALL = {
  gutter: 92,
  right: 12,
  overview: [8, 16],
  axis: [32, 18],
  batches: [58, 52],
  index: [118, 24],
  time: [152, 58],
  height: 218,
};

const LOW = {
  ...TALL,
  overview: [6, 12],
  axis: [22, 18],
  batches: [46, 34],
  index: [84, 24],
  time: [112, 40],
  height: 160,
};

export const LAYOUT = globalThis.innerHeight <= LOW_WINDOW ? LOW : TALL;
