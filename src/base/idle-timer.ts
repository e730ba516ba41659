import type { Clock, Timer } from './clock.ts';

/** Fires once after `limitMs` without activity. It uses one timer, however frequent the activity is. */
export interface IdleTimer {
  heard(): void;
  cancel(): void;
}

export function startIdleTimer(clock: Clock, limitMs: number, silent: () => void): IdleTimer {
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
