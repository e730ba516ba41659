// Which tests reach which mutant. A mutant that no test reaches is not tried; one that is only reached while the code is
// imported needs a copy of the code of its own and every test, which is slow.

type Hits = Record<string, number>;

/** By the number of the mutant: how often it was reached outside of tests, and in each test (Stryker: MutantCoverage). */
export interface MutantCoverage {
  readonly static: Hits;
  readonly perTest: Record<string, Hits>;
}

export interface FileCoverage {
  /** While the test file was imported together with the code that it tests. */
  readonly loading: Hits;
  /** While it was imported once more, with the code kept, and its tests and hooks ran. */
  readonly running: MutantCoverage;
  readonly tests: readonly string[];
}

export const createCoverage = (): MutantCoverage => ({ static: {}, perTest: {} });

/** What was counted since the last call. The code under mutation keeps the object that it counts in. */
export function takeCoverage(counted: MutantCoverage): MutantCoverage {
  const taken = { ...counted };
  Object.assign(counted, createCoverage());
  return taken;
}

/**
 * Adds what one test file reached. What it reached outside of its tests, in hooks or while it declared them, counts for
 * each of its tests, as it runs again with each of them.
 */
export function addCoverage(total: MutantCoverage, { loading, running, tests }: FileCoverage): void {
  for (const [mutant, hits] of Object.entries(loading)) {
    if (hits > (running.static[mutant] ?? 0)) addHits(total.static, mutant, hits);
  }
  for (const [test, reached] of Object.entries(running.perTest)) {
    for (const [mutant, hits] of Object.entries(reached)) addHits((total.perTest[test] ??= {}), mutant, hits);
  }
  for (const test of tests) {
    for (const [mutant, hits] of Object.entries(running.static)) addHits((total.perTest[test] ??= {}), mutant, hits);
  }
}

function addHits(to: Hits, mutant: string, hits: number): void {
  to[mutant] = (to[mutant] ?? 0) + hits;
}
