import type { Violation } from './invariant-checker.ts';

/**
 * Known faults that are not fixed yet (docs/faults.md, "Open"). A seed that shows only these does not fail
 * the test run, but is counted, and the number is limited. Remove a fault here when you fix it.
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
