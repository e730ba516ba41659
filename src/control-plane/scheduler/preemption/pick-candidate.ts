import type { Candidate } from './victims.ts';
import { startTimeMs } from './victims.ts';

/** The offset makes all priorities positive, so that more victims never give a smaller sum. */
const PRIORITY_OFFSET = 2 ** 31;

const highestPriority = ({ victims }: Candidate): number => Math.max(...victims.map(({ priority }) => priority));

/**
 * The criteria, in order: a smaller value is better, and the next criterion decides between equal candidates (upstream:
 * pickOneNodeForPreemption).
 */
const costs: readonly ((candidate: Candidate) => number)[] = [
  ({ budgetViolations }) => budgetViolations,
  highestPriority,
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + PRIORITY_OFFSET, 0),
  ({ victims }) => victims.length,
  // Among the victims of highest priority, the earliest start time should be as late as possible.
  (candidate) => {
    const top = highestPriority(candidate);
    return -Math.min(
      ...candidate.victims.filter(({ priority }) => priority === top).map(({ pod }) => startTimeMs(pod)),
    );
  },
];

/** Returns the best candidate. `candidates` has at least one. */
export function pickCandidate(candidates: readonly Candidate[]): Candidate {
  let best = candidates;
  for (const cost of costs) {
    const values = best.map(cost);
    const least = Math.min(...values);
    best = best.filter((_, index) => values[index] === least);
    if (best.length === 1) break;
  }
  return best[0] as Candidate;
}
