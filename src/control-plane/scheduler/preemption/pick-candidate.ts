import type { Candidate } from './victims.ts';
import { startTimeMs } from './victims.ts';

/** So that more victims are never better because their priorities are negative. */
const PRIORITY_OFFSET = 2 ** 31;

const highestPriority = ({ victims }: Candidate): number => Math.max(...victims.map(({ priority }) => priority));

/** Each smaller is better; the next one decides among equals (upstream: pickOneNodeForPreemption). */
const costs: readonly ((candidate: Candidate) => number)[] = [
  ({ budgetViolations }) => budgetViolations,
  highestPriority,
  ({ victims }) => victims.reduce((sum, { priority }) => sum + priority + PRIORITY_OFFSET, 0),
  ({ victims }) => victims.length,
  // Of the most important victims, the one that runs longest should be the youngest of all nodes'.
  (candidate) => {
    const top = highestPriority(candidate);
    return -Math.min(
      ...candidate.victims.filter(({ priority }) => priority === top).map(({ pod }) => startTimeMs(pod)),
    );
  },
];

/** `candidates` has at least one. */
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
