import { nextTurn } from '../base/turn.ts';

/**
 * The cost of evaluations after which other work gets a turn: about 10 ms. One evaluation may cost ten times as much.
 */
const UNITS_PER_TURN = 100_000;
/** The same limit within one evaluation, which is started again after the turn. */
const UNITS_WITHIN = 500_000;
/** The fixed cost of an evaluation, added to the cost of its expression. */
const UNITS_PER_EVALUATION = 500;

/** Divides the evaluations of one request into turns of the event loop. */
export class CelPace {
  #sinceTurn = 0;

  spend(units: number): void {
    this.#sinceTurn += units + UNITS_PER_EVALUATION;
  }

  /** Awaited between evaluations. Undefined when no pause is due. */
  rest(): Promise<void> | undefined {
    return this.#restAfter(UNITS_PER_TURN);
  }

  /** Like `rest`, within one evaluation, which must be suspended for the pause. */
  restWithin(): Promise<void> | undefined {
    return this.#restAfter(UNITS_WITHIN);
  }

  #restAfter(units: number): Promise<void> | undefined {
    if (this.#sinceTurn < units) return undefined;
    this.#sinceTurn = 0;
    return nextTurn();
  }
}

/**
 * A limit for the cost of evaluations, in the units of cel-go's runtime cost. Several evaluations can share one budget.
 */
export class CelBudget {
  readonly pace: CelPace;
  #left: number;

  constructor(units: number, pace = new CelPace()) {
    this.#left = units;
    this.pace = pace;
  }

  get left(): number {
    return this.#left;
  }

  /** Returns false when more was spent than the budget allows. */
  spend(units: number): boolean {
    this.#left -= units;
    this.pace.spend(units);
    return this.#left >= 0;
  }
}
