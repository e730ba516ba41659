/** An evaluation was stopped because it cost too much. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/**
 * Counts the small steps of functions that walk through whole values, such as `==` of lists. Their cost is that of
 * cel-go, which does not see that one list may hold another one a million times; this does.
 */
export class Work {
  #left: number;

  constructor(steps: number) {
    this.#left = steps;
  }

  /** Throws CostExceeded. */
  step(count = 1): void {
    this.#left -= count;
    if (this.#left < 0) throw new CostExceeded();
  }
}
