// Rows in the kernel, fetched by page and kept while they are likely to be needed again.
export const PAGE_ROWS = 200;
const KEPT_PAGES = 60;

export function pageStore({ fetch, changed }) {
  const pages = new Map(), asked = new Set(), lacking = new Set();
  let generation = 0, growths = 0;
  return {
    // The row, or null while its page is on its way.
    row(i) {
      const page = Math.floor(i / PAGE_ROWS), rows = pages.get(page);
      const row = rows?.list[i - page * PAGE_ROWS] ?? null;
      if (row || (rows && rows.growths === growths)) return row;
      if (!asked.has(page)) {
        asked.add(page);
        const mine = generation, then = growths;
        fetch(page * PAGE_ROWS, (page + 1) * PAGE_ROWS).then((got) => {
          if (mine !== generation) return;
          asked.delete(page);
          if (!got) {
            if (lacking.has(page)) return;
            lacking.add(page);
            return changed();
          }
          lacking.delete(page);
          pages.set(page, { list: got, growths: then });
          if (pages.size > KEPT_PAGES) pages.delete(pages.keys().next().value);
          changed();
        });
      }
      return null;
    },
    // Whether a row was asked for, and did not come.
    isLacking: (i) => lacking.has(Math.floor(i / PAGE_ROWS)),
    // Rows [start, stop) themselves, from the kernel again where they are not kept.
    async load(start, stop) {
      const from = start - start % PAGE_ROWS, found = [];
      for (let at = from; at < stop; at += PAGE_ROWS) {
        found.push(...(pages.get(at / PAGE_ROWS)?.list ?? await fetch(at, at + PAGE_ROWS) ?? []));
      }
      return found.slice(start - from, stop - from);
    },
    reset(firstPage) {
      generation++;
      pages.clear();
      asked.clear();
      lacking.clear();
      if (firstPage?.length) pages.set(0, { list: firstPage, growths });
    },
    // There are more rows now: a page that was not full is fetched again when its new rows are wanted.
    grow() {
      growths++;
    },
  };
}
