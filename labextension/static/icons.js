// The icons of Kafka's files and folders: a shape and a color for each kind.
const BLUE = "#0b62c4", GREEN = "#00795a", VIOLET = "#7a4fb5", ORANGE = "#b35300", GREY = "#5f6973";
const ROWS = "M4 5.2h4.6M10.2 5.2H12M4 8h1.6M7.2 8H12M4 10.8h6";
const DRAWN = {
  page: [BLUE, ROWS], // rows of a log
  segment: [BLUE, ROWS],
  offsets: [GREEN, "M4 4.8h2M8 4.8h4M4 8h2M8 8h4M4 11.2h2M8 11.2h4"], // a number and where it leads
  times: [VIOLET, "M8 3.8a4.2 4.2 0 1 1 0 8.4 4.2 4.2 0 0 1 0-8.4M8 5.8V8l1.7 1.1"], // a clock
  aborted: [ORANGE, "M4.6 4.6l6.8 6.8M11.4 4.6l-6.8 6.8"], // a cross
  producers: [ORANGE, "M8 3.6a2 2 0 1 1 0 4 2 2 0 0 1 0-4M4 12.2c.4-2.4 2-3.4 4-3.4s3.6 1 4 3.4"], // who writes
  checkpoint: [GREEN, "M5 12.6V3.6M5 4.2h6.4L9.6 6.4l1.8 2.2H5"], // a flag
  about: [GREY, "M8 7.4v4.2M8 4.5v.3"], // what a directory says of itself
};
const FOLDER = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <path d="M1.2 4a1.4 1.4 0 0 1 1.4-1.4h3.3l1.5 1.6h6a1.4 1.4 0 0 1 1.4 1.4v6.4a1.4 1.4 0 0 1-1.4 1.4H2.6A1.4 1.4 0 0 1 1.2 12z" fill="${BLUE}"/>
  <path d="M4 7.3h3.4M9 7.3h3M4 10.4h1.6M7.2 10.4H11" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/>
</svg>`;

const page = ([color, path]) =>
  `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <rect x="1" y="1" width="14" height="14" rx="3" fill="${color}"/>
  <path d="${path}" fill="none" stroke="#fff" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"/>
</svg>`;

export function icons({ ui }) {
  const made = (name, svgstr) => new ui.LabIcon({ name: `kafka-log-workbench:${name}`, svgstr });
  const pages = Object.entries(DRAWN).map(([name, drawn]) => [name, made(name, page(drawn))]);
  return { ...Object.fromEntries(pages), folder: made("folder", FOLDER) };
}
