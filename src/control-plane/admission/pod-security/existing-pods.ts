import type { Pod } from '../../../api/core/pod.ts';
import { judged } from './check.ts';
import { violationsOf } from './evaluate.ts';
import { formatLevel } from './policy.ts';
import type { LevelVersion } from './policy.ts';

/** The maximum number of pods of a namespace that are checked. */
const MOST_PODS = 3000;

/** Warnings for existing pods when a namespace gets a stricter level (upstream: EvaluatePodsInNamespace). */
export function warningsOfExisting(namespace: string, enforce: LevelVersion, pods: readonly Pod[]): readonly string[] {
  const ordered = oneOfEachFirst(pods);
  const found = new Map<string, { name: string; count: number }>();
  for (const pod of ordered.slice(0, MOST_PODS)) {
    const reasons = violationsOf(enforce, judged(pod.metadata, pod.spec))
      .map(({ reason }) => reason)
      .join(', ');
    if (reasons === '') continue;
    const { name } = pod.metadata;
    const known = found.get(reasons);
    found.set(
      reasons,
      known === undefined
        ? { name, count: 1 }
        : { name: name < known.name ? name : known.name, count: known.count + 1 },
    );
  }
  const lines = [...found].map(([reasons, { name, count }]) => `${name}${othersOf(count)}: ${reasons}`).sort();
  return [
    ...(ordered.length > MOST_PODS
      ? [`new PodSecurity enforce level only checked against the first ${MOST_PODS} of ${ordered.length} existing pods`]
      : []),
    ...(lines.length > 0
      ? [
          `existing pods in namespace ${JSON.stringify(namespace)} violate the new PodSecurity enforce level ${JSON.stringify(formatLevel(enforce))}`,
        ]
      : []),
    ...lines,
  ];
}

function othersOf(count: number): string {
  if (count === 1) return '';
  return count === 2 ? ' (and 1 other pod)' : ` (and ${count - 1} other pods)`;
}

/** Sorts pods so that one pod of each controller comes first, because the pods of a controller are alike. */
function oneOfEachFirst(pods: readonly Pod[]): readonly Pod[] {
  const seen = new Set<string>();
  const [first, rest]: [Pod[], Pod[]] = [[], []];
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
    if (owner !== undefined && seen.has(owner)) rest.push(pod);
    else first.push(pod);
    if (owner !== undefined) seen.add(owner);
  }
  return [...first, ...rest];
}
