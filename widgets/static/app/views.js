// What a page shows for each kind of model: the workbench's widgets, and what ipywidgets lays out.
const modules = new Map(), styles = new Set();

const KINDS = {
  AnyModel: ours,
  TabModel: tabs,
  VBoxModel: box,
};

// The element of a model, and what ends it. `models`: all models, by their ids.
export function viewOf(model, models) {
  const el = document.createElement("div"), life = new AbortController();
  el.classList.add(...model.get("_dom_classes"));
  KINDS[model.get("_model_name")](model, el, life.signal, models);
  return {
    el,
    end() {
      life.abort();
      el.remove();
    },
  };
}

async function ours(model, el, signal) {
  const css = model.get("_css"), code = model.get("_esm");
  if (!styles.has(css)) {
    styles.add(css);
    const sheet = document.createElement("style");
    sheet.textContent = css;
    document.head.append(sheet);
  }
  if (!modules.has(code)) {
    const url = URL.createObjectURL(
      new Blob([code], { type: "text/javascript" }),
    );
    modules.set(code, import(url));
  }
  const { default: front } = await modules.get(code);
  if (signal.aborted) return;
  const cleanUp = await front.render({ model, el, signal });
  if (signal.aborted) cleanUp?.();
  else signal.addEventListener("abort", () => cleanUp?.());
}

function box(model, el, signal, models) {
  const shown = new Map();
  follow(model, "children", signal, (names) => {
    for (const [name, view] of shown) {
      if (names.includes(name)) continue;
      view.end();
      shown.delete(name);
    }
    names.forEach((name, at) => {
      if (!shown.has(name)) {
        shown.set(
          name,
          viewOf(models.get(name.replace("IPY_MODEL_", "")), models),
        );
      }
      const child = shown.get(name).el;
      if (el.children[at] !== child) {
        el.insertBefore(child, el.children[at] ?? null);
      }
    });
  });
  signal.addEventListener("abort", () => {
    for (const view of shown.values()) view.end();
  });
}

// One tab is in the order of the Tab key: arrows lead to the others, Enter opens one.
function tabs(model, el, signal, models) {
  const bar = document.createElement("div"),
    id = `klw-views-${document.querySelectorAll("[role=tablist]").length}`;
  bar.setAttribute("role", "tablist");
  bar.setAttribute("aria-label", "Views");
  el.classList.add("klw-views");
  el.append(bar);
  const pairs = model.get("children").map((name, at) => {
    const view = viewOf(models.get(name.replace("IPY_MODEL_", "")), models),
      tab = document.createElement("button");
    tab.textContent = tab.dataset.text = model.get("titles")[at];
    for (
      const [role, part, other] of [["tab", tab, view.el], [
        "tabpanel",
        view.el,
        tab,
      ]]
    ) {
      part.setAttribute("role", role);
      part.id = `${id}-${role}-${at}`;
      other.setAttribute(
        role === "tab" ? "aria-labelledby" : "aria-controls",
        part.id,
      );
    }
    tab.addEventListener("click", () => {
      model.set("selected_index", at);
      model.save_changes();
    });
    bar.append(tab);
    el.append(view.el);
    signal.addEventListener("abort", view.end);
    return [tab, view.el];
  });
  function showOpen() {
    pairs[model.get("selected_index")]?.[0].scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  follow(model, "selected_index", signal, (open) => {
    pairs.forEach(([tab, panel], at) => {
      tab.setAttribute("aria-selected", at === open);
      tab.tabIndex = at === open ? 0 : -1;
      panel.hidden = at !== open;
    });
    showOpen();
  });
  const showMore = () => {
    bar.toggleAttribute("data-before", bar.scrollLeft > 1);
    bar.toggleAttribute("data-more", bar.scrollLeft + bar.clientWidth < bar.scrollWidth - 1);
  };
  bar.addEventListener("scroll", showMore);
  const sized = new ResizeObserver(() => {
    showOpen();
    showMore();
  });
  sized.observe(bar);
  signal.addEventListener("abort", () => sized.disconnect());
  const steps = {
    ArrowLeft: -1,
    ArrowRight: 1,
    Home: -Infinity,
    End: Infinity,
  };
  bar.addEventListener("keydown", (event) => {
    const at = pairs.findIndex(([tab]) => tab === document.activeElement),
      step = steps[event.key];
    if (at < 0 || step === undefined) return;
    event.preventDefault();
    const next = Number.isFinite(step) ? (at + step + pairs.length) % pairs.length : step < 0 ? 0 : pairs.length - 1;
    pairs[next][0].focus();
  });
}

// Show a value of a model, now and when it changes.
function follow(model, name, signal, show) {
  const again = () => show(model.get(name));
  model.on(`change:${name}`, again);
  signal.addEventListener("abort", () => model.off(`change:${name}`, again));
  again();
}
