/**
 * How long a program that has died so many times in a row waits for its next start: at once, then twice as long each
 * time, at most 10 s.
 */
export function restartDelayMs(deaths: number): number {
  return deaths <= 1 ? 0 : Math.min(100 * 2 ** (deaths - 2), 10_000);
}
