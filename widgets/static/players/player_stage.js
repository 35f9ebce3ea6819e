// The stage of a player: a segment's bytes from left to right, and what the steps so far did to them.
import { h } from "../shared/dom.js";
import { fitCanvas, painter, pointIn } from "../shared/host.js";
import { paintStage, STAGE, TRACKS } from "./player_tracks.js";
import { viewOf } from "./player_view.js";
import { stageView } from "./stage_view.js";
import { inks } from "../shared/theme.js";

export function playerStage({ root, onPick, signal, stats }) {
  const canvas = h("canvas", { class: "klw-canvas", style: `height:${STAGE.tall}px`, "aria-hidden": "true" });
  const el = h("div", { class: "klw-map klw-stage" }, canvas);
  const pen = canvas.getContext("2d");
  let data = null,
    at = -1,
    stage = -1,
    isWhole = false,
    ink = null,
    scene = null,
    tall = STAGE.tall;
  const ask = painter(canvas, paint, signal);
  const view = stageView({ ask, signal });

  function paint() {
    const start = performance.now();
    fitCanvas(canvas, pen);
    ink ??= inks(root);
    const width = canvas.clientWidth, segment = data?.segments[stage];
    pen.clearRect(0, 0, width, tall);
    pen.textBaseline = "middle";
    if (segment && view.shown) {
      const left = width < 560 ? 12 : STAGE.gutter, span = width - left - STAGE.right, now = view.shown;
      scene = {
        pen,
        ink,
        tall,
        data,
        segment,
        at,
        view: now,
        left,
        span,
        x: (p) => left + ((p - now[0]) / (now[1] - now[0])) * span,
      };
      paintStage(scene);
    } else scene = null;
    Object.assign(stats, {
      draws: (stats.draws ?? 0) + 1,
      lastDraw: performance.now() - start,
      view: view.shown,
      at,
      stage,
    });
  }
  function follow(isFar) {
    const wanted = isWhole && data.segments[stage]
      ? [0, Math.max(1, data.segments[stage].size)]
      : viewOf(data, at, isFar ? null : view.target);
    view.go(wanted, isFar);
  }
  canvas.addEventListener("click", (event) => {
    if (!scene) return;
    const [x, y] = pointIn(canvas, event);
    const part = (x - scene.left) / scene.span, inOverview = y < TRACKS.axis[0];
    const [from, to] = view.shown, byte = inOverview ? part * scene.segment.size : from + part * (to - from);
    const nearest = nearestStep(data, stage, byte);
    if (nearest >= 0) onPick(nearest);
  });

  return {
    el,
    setData(next) {
      data = next;
      stage = -1;
      view.forget();
      const hasSearch = data.segments.some((each) => each.probes.length);
      tall = hasSearch ? STAGE.tall : STAGE.tallWithoutSearch;
      canvas.style.height = `${tall}px`;
    },
    // Show a step; false in `isSmooth` jumps there.
    show(i, isSmooth = true) {
      at = i;
      const next = data.stage(i), isFar = next !== stage || !isSmooth;
      stage = next;
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
    get segment() {
      return data?.segments[stage] ?? null;
    },
  };
}

// The step of a segment whose bytes are nearest to a byte: the first of those that touch it.
export function nearestStep(data, stage, byte) {
  let best = -1, least = Infinity;
  for (let i = 0; i < data.length; i++) {
    const touched = data.segmentOf(i) === stage ? data.touched(i) : null;
    if (!touched) continue;
    const away = byte < touched[0] ? touched[0] - byte : byte >= touched[1] ? byte - touched[1] + 1 : 0;
    if (away < least) [least, best] = [away, i];
  }
  return best;
}
