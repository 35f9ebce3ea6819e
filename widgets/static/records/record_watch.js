// Asks how far a search is until it is over: the longer an answer takes, the less often.
const SOONEST_MS = 150, LATEST_MS_BETWEEN = 1500;

// The time until the next question, after an answer that took so long.
export function patience(answerMs) {
  return Math.min(LATEST_MS_BETWEEN, Math.max(SOONEST_MS, answerMs * 3));
}

// `ask()` asks, and resolves to nothing if there was no answer. Returns the function to call when a search may run.
export function searchWatch({ isRunning, ask, signal, stats }) {
  let timer = 0, isAsked = false;
  signal.addEventListener("abort", () => clearTimeout(timer));
  return function watch() {
    if (!isRunning() || isAsked || timer) return;
    const before = performance.now(), wait = patience(stats.answerMs ?? 0);
    timer = setTimeout(() => {
      timer = 0;
      isAsked = true;
      ask().then((answer) => {
        stats.answerMs = performance.now() - before - wait;
        isAsked = false;
        if (answer) watch();
      });
    }, wait);
  };
}
