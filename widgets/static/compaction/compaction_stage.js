// The stage of a cleaning: a canvas on which records, decisions and new segments are painted.
import { CLEANING, LANES, paintCleaning } from "./compaction_tracks.js";
import { cellsInView } from "./compaction_view.js";
import { h } from "../shared/dom.js";
import { stageView } from "../players/stage_view.js";
import { fitCanvas, painter, pointIn } from "../shared/host.js";
import { inks } from "../shared/theme.js";

// The least width of a cell in pixels: room for most names of keys.
function leastWidth(data) {
  if (data.detail !== "records") return 62;
  const lengths = data.keys.map(([short]) => short.length).sort((a, b) => a - b);
  return Math.max(30, Math.min(56, 8 + 6.2 * (lengths[Math.floor(lengths.length * 0.9)] ?? 0)));
}

export function cleaningStage({ root, onPick, signal, stats }) {
  const canvas = h("canvas", { class: "klw-canvas", style: `height:${CLEANING.tall}px`, "aria-hidden": "true" });
  const el = h("div", { class: "klw-map klw-stage" }, canvas);
  const pen = canvas.getContext("2d");
  let data = null,
    at = -1,
    round = null,
    isWhole = false,
    ink = null,
    scene = null,
    wasWide = 0;
  const ask = painter(canvas, paint, signal);
  const view = stageView({ ask, signal });
  const side = (width) => (width < 560 ? 12 : CLEANING.gutter);

  function paint() {
    const start = performance.now();
    fitCanvas(canvas, pen);
    ink ??= inks(root);
    const width = canvas.clientWidth, left = side(width), span = width - left - CLEANING.right;
    if (round && span !== wasWide) follow(true);
    pen.clearRect(0, 0, width, CLEANING.tall);
    pen.textBaseline = "middle";
    if (round && view.shown) {
      const now = view.shown, first = Math.max(0, round.batchAt(now[0]) - 1), last = round.batchAt(now[1]);
      scene = {
        pen,
        ink,
        tall: CLEANING.tall,
        data,
        round,
        at,
        view: now,
        left,
        span,
        first,
        last,
        x: (cell) => left + ((cell - now[0]) / (now[1] - now[0])) * span,
      };
      if (round.count) paintCleaning(scene);
    } else scene = null;
    Object.assign(stats, {
      draws: (stats.draws ?? 0) + 1,
      lastDraw: performance.now() - start,
      view: view.shown,
      at,
      round: data?.rounds.indexOf(round) ?? -1,
    });
  }
  function follow(isFar) {
    const width = canvas.clientWidth, span = width - side(width) - CLEANING.right;
    wasWide = span;
    if (!round || span <= 0) return ask();
    const wanted = cellsInView(round, at < 0 ? null : round.touched(data, at), {
      span,
      least: leastWidth(data),
      view: isFar ? null : view.target,
      isWhole,
    });
    view.go(wanted, isFar);
  }
  canvas.addEventListener("click", (event) => {
    if (!scene || !round.count) return;
    const [x, y] = pointIn(canvas, event), part = (x - scene.left) / scene.span;
    const [from, to] = view.shown, cell = y < LANES.name[0] ? part * round.wide : from + part * (to - from);
    const batch = round.batchAt(cell), first = round.records ? round.firstRecords[batch] : 0;
    const record = round.records && round.firstRecords[batch + 1] > first
      ? Math.min(round.firstRecords[batch + 1] - 1, first + Math.max(0, Math.floor(cell - round.from[batch])))
      : -1;
    onPick(data.rounds.indexOf(round), batch, record);
  });

  return {
    el,
    setData(next) {
      data = next;
      round = null;
      view.forget();
    },
    show(i, isSmooth = true) {
      at = i;
      const next = data.rounds[i < 0 ? 0 : data.roundOf(i)] ?? null, isFar = next !== round || !isSmooth;
      round = next;
      follow(isFar);
    },
    setWhole(whole) {
      isWhole = whole;
      if (data) follow(false);
    },
    repaint() {
      ink = null;
      ask();
    },
    get round() {
      return round;
    },
  };
}
