// Keeps the bar above a run that is being measured up to date: how many trials are stored. The report below
// follows by itself, at the pace at which the server makes its data.
(() => {
  "use strict";
  const bar = document.getElementById("dyno-bar");
  const progress = document.getElementById("dyno-progress");
  const done = document.getElementById("dyno-done");
  if (!bar || !progress || !done) return;
  const SLOWEST = 30000;
  let pause = 2000;

  const look = async () => {
    // Nobody looks at a hidden page; the machine that measures is spared.
    if (document.hidden) {
      document.addEventListener("visibilitychange", look, { once: true });
      return;
    }
    try {
      const answer = await fetch(bar.dataset.state, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      const state = await answer.json();
      progress.max = state.planned;
      progress.value = state.done;
      const failed = state.failed > 0 ? `, ${state.failed} failed` : "";
      const ended = state.running === false ? " · the runner has ended" : "";
      done.textContent = `${state.done} of ${state.planned} trials${failed}${ended}`;
      pause = state.again_ms;
      if (state.running === false) return;
    } catch {
      // The report says that it has no newer data.
      pause = Math.min(2 * pause, SLOWEST);
    }
    setTimeout(look, pause);
  };

  setTimeout(look, pause);
})();
