import { baselineChecks } from './baseline-checks.ts';
import type { CheckPod, JudgedPod, PodCheck, Violation } from './check.ts';
import type { LevelVersion } from './policy.ts';
import { restrictedChecks } from './restricted-checks.ts';

/** The version of the last change of a rule. */
const lastChange = Math.max(
  ...[...baselineChecks, ...restrictedChecks].flatMap(({ versions }) => versions.map(({ since }) => since)),
);
const made = new Map<string, readonly CheckPod[]>();

/** The violations of a level by a pod, baseline rules first. */
export function violationsOf({ level, minor }: LevelVersion, pod: JudgedPod): readonly Violation[] {
  if (level === 'privileged') return [];
  const version = Math.min(minor, lastChange);
  const key = `${level} ${version}`;
  let checks = made.get(key);
  if (checks === undefined)
    made.set(key, (checks = level === 'baseline' ? checksOf(baselineChecks, version) : allChecks(version)));
  return checks.map((check) => check(pod)).filter((violation) => violation !== undefined);
}

const currentOf = ({ versions }: PodCheck, minor: number): PodCheck['versions'][number] | undefined =>
  versions.findLast(({ since }) => since <= minor);

function checksOf(checks: readonly PodCheck[], minor: number): readonly CheckPod[] {
  return checks.map((check) => currentOf(check, minor)?.check).filter((check) => check !== undefined);
}

function allChecks(minor: number): readonly CheckPod[] {
  const overridden = new Set(restrictedChecks.flatMap((check) => currentOf(check, minor)?.overrides ?? []));
  return [
    ...checksOf(
      baselineChecks.filter(({ id }) => !overridden.has(id)),
      minor,
    ),
    ...checksOf(restrictedChecks, minor),
  ];
}

/** Formats violations as `host ports (container "a" uses hostPort 80), privileged (...)`. */
export function describeViolations(violations: readonly Violation[]): string {
  return violations.map(({ reason, detail }) => (detail === '' ? reason : `${reason} (${detail})`)).join(', ');
}
