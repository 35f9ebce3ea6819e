// Which part of a stage is in view: it glides from step to step, and jumps where the next one is far.
import { glider } from "../shared/host.js";

const GLIDE_MS = 220;

// `shown` is the range that is painted, `target` the one it glides to; null before the first.
export function stageView({ ask, signal }) {
  let shown = null, target = null;
  const glide = glider((from, to) => {
    shown = [from, to];
    ask();
  }, signal);
  return {
    get shown() {
      return shown;
    },
    get target() {
      return target;
    },
    forget() {
      shown = target = null;
    },
    go(wanted, isFar) {
      const isSame = target && !isFar && wanted[0] === target[0] && wanted[1] === target[1];
      target = wanted;
      if (isSame) return ask();
      if (shown && !isFar) return glide.go(shown, wanted, GLIDE_MS);
      glide.stop();
      shown = wanted;
      ask();
    },
  };
}
