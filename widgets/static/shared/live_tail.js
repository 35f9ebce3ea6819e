// The end of a list that grows: it stays in sight while it is followed. Where a reader has scrolled away, a button says
// how many rows came, and leads there.
import { button } from "./dom.js";
import { plural } from "./format.js";

// `grid` is a dataGrid, `what` one of its rows, `end()` where new ones come: "start" or "end".
export function liveTail({ grid, what, end }) {
  let fresh = 0;
  const el = button("", { kind: "klw-newrows", onclick: go });
  el.hidden = true;
  function show() {
    el.hidden = !fresh;
    const text = `${end() === "start" ? "↑" : "↓"} ${plural(fresh, `new ${what}`)}`;
    if (el.textContent === text) return;
    el.textContent = text;
    el.title = `Show the newest ${what}s`;
    el.setAttribute("aria-label", text);
    el.dataset.end = end();
  }
  function go() {
    fresh = 0;
    grid.goTo(end());
    show();
  }
  return {
    el,
    go,
    // Call it around a change of the rows: `change()` returns how many came.
    around(change) {
      const wasThere = grid.isAt(end()), came = change();
      if (came <= 0) return;
      if (wasThere) return go();
      fresh += came;
      if (end() === "start") grid.shift(came);
      show();
    },
    forget() {
      fresh = 0;
      show();
    },
    // The visible rows are others.
    moved() {
      if (fresh && grid.isAt(end())) this.forget();
    },
  };
}
