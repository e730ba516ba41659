/** A long computation in steps. Other work may run between two steps. */
export type Steps<Result> = Generator<undefined, Result, undefined>;

/** Runs all steps at once. */
export function runThrough<Result>(steps: Steps<Result>): Result {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Takes the steps one by one and awaits `rest` between them, which returns undefined if there is no need to wait. */
export async function runAtPace<Result>(steps: Steps<Result>, rest: () => Promise<void> | undefined): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await rest();
  }
}
