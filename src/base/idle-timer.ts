import type { Clock, Timer } from './clock.ts';

/** Notices that nothing was heard for `limitMs`, once. One timer, however much is heard. */
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
