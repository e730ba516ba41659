/** How much evaluations may cost, in the units of cel-go's runtime cost. One budget may pay for several evaluations. */
export class CelBudget {
  #left: number;

  constructor(units: number) {
    this.#left = units;
  }

  get left(): number {
    return this.#left;
  }

  /** False once more was spent than there was. */
  spend(units: number): boolean {
    this.#left -= units;
    return this.#left >= 0;
  }
}
