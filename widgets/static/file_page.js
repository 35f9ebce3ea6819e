// The page that `to_html` writes: it unpacks the widget's front end and state, and shows it in the reader's theme.
import { FileModel, revive } from "./file_model.js";

async function unpacked(text) {
  const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(
    new DecompressionStream("gzip"),
  );
  return JSON.parse(await new Response(stream).text());
}

function followSystem() {
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    document.body.dataset.jpThemeLight = String(!dark.matches);
  };
  apply();
  dark.addEventListener("change", apply);
}

async function show() {
  const { code, style, state, answers } = await unpacked(
    document.getElementById("widget").textContent,
  );
  const sheet = document.createElement("style");
  sheet.textContent = style;
  document.head.append(sheet);
  followSystem();
  const url = URL.createObjectURL(
    new Blob([code], { type: "text/javascript" }),
  );
  const { default: front } = await import(url);
  const model = new FileModel(revive(state), revive(answers)),
    el = document.getElementById("root");
  el.replaceChildren();
  await front.render({ model, el, signal: new AbortController().signal });
}

show();
