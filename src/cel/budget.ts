import { nextTurn } from '../base/turn.ts';

/** What may be spent before others have their turn: some 10 ms. One evaluation may spend ten times as much. */
const UNITS_PER_TURN = 100_000;
/** As much within one evaluation, which is made again after a turn. */
const UNITS_WITHIN = 500_000;
/** What an evaluation takes besides what it costs. */
const UNITS_PER_EVALUATION = 500;

/** Cuts the evaluations for one request into turns of the event loop. */
export class CelPace {
  #sinceTurn = 0;

  spend(units: number): void {
    this.#sinceTurn += units + UNITS_PER_EVALUATION;
  }

  /** To be awaited between evaluations. Undefined while there is no need to wait. */
  rest(): Promise<void> | undefined {
    return this.#restAfter(UNITS_PER_TURN);
  }

  /** As `rest`, where an evaluation begins another one and would have to be suspended. */
  restWithin(): Promise<void> | undefined {
    return this.#restAfter(UNITS_WITHIN);
  }

  #restAfter(units: number): Promise<void> | undefined {
    if (this.#sinceTurn < units) return undefined;
    this.#sinceTurn = 0;
    return nextTurn();
  }
}

/** How much evaluations may cost, in the units of cel-go's runtime cost. One budget may pay for several evaluations. */
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

  /** False once more was spent than there was. */
  spend(units: number): boolean {
    this.#left -= units;
    this.pace.spend(units);
    return this.#left >= 0;
  }
}
