// The icons of Kafka's files and folders: rows of a log, on a page and in a folder.
const PAGE = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <rect x="1.5" y="1.5" width="13" height="13" rx="3" fill="#0b62c4"/>
  <path d="M4 5.2h4.6M10.2 5.2H12M4 8h1.6M7.2 8H12M4 10.8h6" stroke="#fff" stroke-width="1.5" stroke-linecap="round"/>
</svg>`;
const FOLDER = `<svg xmlns="http://www.w3.org/2000/svg" width="16" viewBox="0 0 16 16">
  <path d="M1.2 4a1.4 1.4 0 0 1 1.4-1.4h3.3l1.5 1.6h6a1.4 1.4 0 0 1 1.4 1.4v6.4a1.4 1.4 0 0 1-1.4 1.4H2.6A1.4 1.4 0 0 1 1.2 12z" fill="#0b62c4"/>
  <path d="M4 7.3h3.4M9 7.3h3M4 10.4h1.6M7.2 10.4H11" stroke="#fff" stroke-width="1.4" stroke-linecap="round"/>
</svg>`;

export function icons({ ui }) {
  return {
    page: new ui.LabIcon({ name: "kafka-log-workbench:page", svgstr: PAGE }),
    folder: new ui.LabIcon({ name: "kafka-log-workbench:folder", svgstr: FOLDER }),
  };
}
