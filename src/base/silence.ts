import type { Clock, Timer } from './clock.ts';

/** Notices that nothing was heard for `limitMs`, once. One timer, however much is heard. */
export interface SilenceWatch {
  heard(): void;
  cancel(): void;
}

export function watchSilence(clock: Clock, limitMs: number, silent: () => void): SilenceWatch {
  let lastMs = clock.monotonicMs();
  let timer: Timer;
  const look = (): void => {
    const leftMs = lastMs + limitMs - clock.monotonicMs();
    if (leftMs <= 0) silent();
    else timer = clock.setTimer(leftMs, look);
  };
  timer = clock.setTimer(limitMs, look);
  return {
    heard: () => {
      lastMs = clock.monotonicMs();
    },
    cancel: () => timer.cancel(),
  };
}
