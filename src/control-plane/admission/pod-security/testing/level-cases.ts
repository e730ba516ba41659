import { it } from 'node:test';
import assert from 'node:assert/strict';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../../api/testing/pod-builder.ts';
import { judged } from '../check.ts';
import { describeViolations, violationsOf } from '../evaluate.ts';

/** The path of the container's security context. */
export const c0 = 'spec.containers[0].securityContext';

/** The changes that make a pod pass the level "restricted". */
const strict: Changes = {
  [c0]: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  'spec.securityContext': { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
};

/** A label of a namespace that sets one mode of its policy. */
export const label = (mode: string, value: string) => ({ [`pod-security.kubernetes.io/${mode}`]: value });

/**
 * Returns the violations of a pod as users read them; empty if it passes. For "restricted", the changes apply to a pod
 * that passes.
 */
export function refusalOf(level: 'baseline' | 'restricted', changes: Changes, minor = Infinity): string {
  const { metadata, spec } = buildPod(structuredClone({ ...(level === 'restricted' && strict), ...changes }));
  return describeViolations(violationsOf({ level, minor }, judged(metadata, spec)));
}

/**
 * The name of the test, the changes of the pod, and the expected violations. Without violations, the level must allow
 * the pod.
 */
export type LevelCase = readonly [string, Changes, string];

/** One test for each case. */
export function testLevel(level: 'baseline' | 'restricted', cases: readonly LevelCase[]): void {
  for (const [name, changes, text] of cases)
    it(`${text === '' ? 'allows' : 'refuses'} ${name}`, () => assert.equal(refusalOf(level, changes), text));
}
