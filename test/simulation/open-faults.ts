import type { Violation } from './invariant-checker.ts';

/**
 * Known faults that are not fixed yet (docs/faults.md, "Open"). A seed that shows only these does not fail the test
 * run. Such seeds are counted, and their number is limited. Remove a fault here when it is fixed.
 */
const openFaults: readonly { name: string; invariant: string; pattern: RegExp }[] = [];

/** The largest percentage of seeds that may show an open fault. */
export const MOST_OPEN_PERCENT = 1;

/** The open fault that causes this violation, if there is one. */
export function openFaultOf(violation: Violation): string | undefined {
  return openFaults.find(
    ({ invariant, pattern }) => invariant === violation.invariant && pattern.test(violation.message),
  )?.name;
}
