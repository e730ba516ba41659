import { CostExceeded, Work } from './work.ts';
import type { CelResult } from './values.ts';

/**
 * The variables of an evaluation. Returns undefined for a variable without a value. Called once per evaluation and
 * name.
 */
export type Variables = (name: string) => CelResult | undefined;

/**
 * Thrown when an evaluation must wait for an answer. After `answer` has resolved, the evaluation is started again and
 * finds the result.
 */
export class Suspension extends Error {
  readonly answer: Promise<void>;

  constructor(answer: Promise<void>) {
    super('the expression waits for an answer');
    this.answer = answer;
  }
}

/** The state of one evaluation. */
export class Frame {
  /** Local variables. The planner assigns a slot to each. */
  readonly slots: CelResult[] = [];
  readonly work: Work;
  cost = 0;
  readonly #limit: number;
  readonly #variables: Variables;
  readonly #known = new Map<string, CelResult | undefined>();

  constructor(variables: Variables, limit: number) {
    this.#variables = variables;
    this.#limit = limit;
    this.work = new Work(limit);
  }

  /** Throws CostExceeded. */
  charge(units: number): void {
    this.cost += units;
    if (this.cost > this.#limit) throw new CostExceeded();
  }

  variable(name: string): CelResult | undefined {
    const known = this.#known.get(name);
    if (known !== undefined || this.#known.has(name)) return known;
    const value = this.#variables(name);
    this.#known.set(name, value);
    return value;
  }
}
