// In a page of `to_html`, the address names the step that is shown: `page.html#step=17` is a link to it.
const SETTLED_MS = 250; // browsers refuse addresses that change too often

export function stepAddress({ model, root, signal, go }) {
  if (!model.isFile) return { write() {} };
  const page = root.ownerDocument.defaultView;
  let timer = 0;
  const parts = () => new URLSearchParams(page.location.hash.slice(1));
  const read = () => {
    const step = Number(parts().get("step"));
    if (Number.isInteger(step) && step > 0) go(step - 1);
  };
  page.addEventListener("hashchange", read, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  return {
    read,
    write(i) {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (parts().get("step") === String(i + 1) || i < 0) return;
        page.history.replaceState(null, "", `#step=${i + 1}`);
      }, SETTLED_MS);
    },
  };
}
