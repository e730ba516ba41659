import type { Container } from '../../../api/core/container.ts';
import type { ObjectMeta } from '../../../api/core/meta.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';

/** The parts of a pod, or of a pod template, that are checked. */
export interface JudgedPod {
  readonly annotations: Readonly<Record<string, string>>;
  readonly spec: PodSpec;
  /** Init containers first, ephemeral ones last. */
  readonly containers: readonly JudgedContainer[];
}

export type JudgedContainer = Pick<
  Container,
  'name' | 'securityContext' | 'ports' | 'livenessProbe' | 'readinessProbe' | 'startupProbe' | 'lifecycle'
>;

/**
 * Why a pod violates a level. A message about several pods contains only the reason, one about a single pod also the
 * detail.
 */
export interface Violation {
  readonly reason: string;
  readonly detail: string;
}

export type CheckPod = (pod: JudgedPod) => Violation | undefined;

/** A rule of a level, with its changes over the versions of the standards. */
export interface PodCheck {
  /** Upstream's id, by which rules are sorted. */
  readonly id: string;
  readonly versions: readonly {
    /** The minor version of Kubernetes since which this applies. */
    readonly since: number;
    readonly check: CheckPod;
    /** Ids of the baseline rules that this rule replaces. */
    readonly overrides?: readonly string[];
  }[];
}

export function judged({ annotations = {} }: Pick<ObjectMeta, 'annotations'>, spec: PodSpec): JudgedPod {
  return {
    annotations,
    spec,
    containers: [...(spec.initContainers ?? []), ...spec.containers, ...(spec.ephemeralContainers ?? [])],
  };
}

export const quoted = (items: readonly string[]): string => items.map((item) => `"${item}"`).join(', ');
export const plural = (word: string, { length }: { readonly length: number }): string =>
  length === 1 ? word : `${word}s`;
export const sorted = (items: Iterable<string>): readonly string[] => [...new Set(items)].sort();
export const containerList = (names: readonly string[]): string => `${plural('container', names)} ${quoted(names)}`;

/** Returns what sets the forbidden value: `pod`, `container "a"`, or both. */
export function settersOf(byPod: boolean, containers: readonly string[]): string | undefined {
  const setters = [...(byPod ? ['pod'] : []), ...(containers.length > 0 ? [containerList(containers)] : [])];
  return setters.length === 0 ? undefined : setters.join(' and ');
}

export function namesWhere(
  { containers }: JudgedPod,
  test: (container: JudgedContainer) => boolean,
): readonly string[] {
  return containers.filter(test).map(({ name }) => name);
}
