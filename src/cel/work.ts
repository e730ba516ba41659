/** An evaluation was stopped because it cost too much. */
export class CostExceeded extends Error {
  constructor() {
    super('operation cancelled: actual cost limit exceeded');
  }
}

/**
 * Counts the steps of functions that visit whole values, such as `==` of lists. Their cost is cel-go's, which does not
 * count that a list may contain another one a million times. This counter does.
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
