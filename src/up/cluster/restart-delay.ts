/** The delay before a restart, by the number of exits in a row: none at first, then doubled each time, at most 10 s. */
export function restartDelayMs(deaths: number): number {
  return deaths <= 1 ? 0 : Math.min(100 * 2 ** (deaths - 2), 10_000);
}
