import type { Violation } from './referee.ts';

/**
 * Faults that were found and are not mended yet (docs/faults.md, "Open"). A seed that shows nothing else does not fail the test run, but is
 * counted and said, and only so many may. Whoever mends one removes it here.
 */
const openFaults: readonly { name: string; invariant: string; pattern: RegExp }[] = [];

/** Of 100 seeds at most so many may show an open fault. */
export const MOST_OPEN_PERCENT = 1;

/** The open fault this is, if it is one. */
export function openFaultOf(violation: Violation): string | undefined {
  return openFaults.find(
    ({ invariant, pattern }) => invariant === violation.invariant && pattern.test(violation.message),
  )?.name;
}
