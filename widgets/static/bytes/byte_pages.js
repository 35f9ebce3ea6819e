// The bytes of a batch in pages that are fetched when they are first shown.
const PAGE_BYTES = 4096, MOST_PAGES = 64;

// `fetch(start, stop)` resolves to the kernel's answer, and to nothing if there is none or it is no longer wanted;
// `onPage` is called when a page came.
export function bytePages({ size, fetch, onPage }) {
  const pages = new Map(), asked = new Set();
  async function ask(number) {
    asked.add(number);
    const answer = await fetch(number * PAGE_BYTES, Math.min(size, (number + 1) * PAGE_BYTES));
    asked.delete(number);
    if (!answer) return;
    pages.set(number, unfoldBytes(answer));
    if (pages.size > MOST_PAGES) pages.delete(pages.keys().next().value);
    onPage();
  }
  return {
    // The page with a byte, as `unfoldBytes` returns it; null until it came.
    with(at) {
      const number = Math.floor(at / PAGE_BYTES);
      if (!pages.has(number) && !asked.has(number)) ask(number);
      return pages.get(number) ?? null;
    },
    // The field of a byte that is shown.
    fieldAt(at) {
      const page = pages.get(Math.floor(at / PAGE_BYTES));
      return page?.fields[page.owner[at - page.start]] ?? null;
    },
    // The fields that touch bytes [from, to), by their keys.
    fieldsIn(from, to) {
      const found = new Map();
      for (let number = Math.floor(from / PAGE_BYTES); number * PAGE_BYTES < to; number++) {
        for (const field of pages.get(number)?.fields ?? []) {
          if (field.start < to && field.start + Math.max(1, field.size) > from) found.set(field.key, field);
        }
      }
      return found;
    },
  };
}

// From the kernel's answer to arrays by byte: which leaf field owns it (-1: none), and whether it is hidden.
export function unfoldBytes({ start, fields, masks, buffers }) {
  const view = buffers[0], data = new Uint8Array(view.buffer, view.byteOffset, view.byteLength);
  const owner = new Int32Array(data.length).fill(-1), masked = new Uint8Array(data.length);
  fields.forEach((field, k) => {
    field.key = `${field.start}-${field.size}-${field.level}-${field.name}`.replace(/["\\]/g, "");
    if (field.leaf) owner.fill(k, Math.max(0, field.start - start), Math.max(0, field.start + field.size - start));
  });
  for (const [from, to] of masks) masked.fill(1, Math.max(0, from - start), Math.max(0, to - start));
  return { start, data, fields, owner, masked };
}
