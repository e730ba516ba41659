import type { Namespace, NamespaceCondition } from '../../../api/core/namespace.ts';

/** The remaining content of a terminating namespace, after the deletion of its objects was requested. */
export interface Remains {
  /**
   * The number of remaining objects by resource: `pods.` (upstream writes the dot of the core group, too) or
   * `deployments.apps`.
   */
  readonly counts: ReadonlyMap<string, number>;
  /** The finalizers of remaining objects, with the number of objects for each. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** The errors of deletions. */
  readonly failures: readonly string[];
  /** The group versions of other servers that do not respond. */
  readonly unavailable: readonly string[];
}

const listed = (counts: ReadonlyMap<string, number>, format: (name: string, count: number) => string): string =>
  [...counts]
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([name, count]) => format(name, count))
    .join(', ');

type UntimedCondition = Omit<NamespaceCondition, 'lastTransitionTime'>;

/**
 * Computes the conditions that show why a namespace is still terminating, with upstream's texts
 * (pkg/controller/namespace/deletion).
 */
export function namespaceConditions(namespace: Namespace, remains: Remains, nowText: string): NamespaceCondition[] {
  const wanted = computeConditions(remains);
  const before = namespace.status?.conditions ?? [];
  const merged = wanted.map((condition): NamespaceCondition => {
    const old = before.find(({ type }) => type === condition.type);
    const same =
      old?.status === condition.status && old.reason === condition.reason && old.message === condition.message;
    if (same) return old;
    const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? nowText) : nowText;
    return { ...condition, lastTransitionTime };
  });
  return [...before.filter(({ type }) => !wanted.some((condition) => condition.type === type)), ...merged];
}

function computeConditions({ counts, finalizers, failures, unavailable }: Remains): readonly UntimedCondition[] {
  const remaining = counts.size > 0;
  const held = finalizers.size > 0;
  return [
    unavailable.length > 0
      ? {
          type: 'NamespaceDeletionDiscoveryFailure',
          status: 'True',
          reason: 'DiscoveryFailed',
          message: `Discovery failed for some groups, ${unavailable.length} failing: unable to retrieve the complete list of server APIs: ${unavailable.map((name) => `${name}: stale GroupVersion discovery: ${name}`).join(', ')}`,
        }
      : {
          type: 'NamespaceDeletionDiscoveryFailure',
          status: 'False',
          reason: 'ResourcesDiscovered',
          message: 'All resources successfully discovered',
        },
    {
      type: 'NamespaceDeletionGroupVersionParsingFailure',
      status: 'False',
      reason: 'ParsedGroupVersions',
      message: 'All legacy kube types successfully parsed',
    },
    failures.length > 0
      ? {
          type: 'NamespaceDeletionContentFailure',
          status: 'True',
          reason: 'ContentDeletionFailed',
          message: `Failed to delete all resource types, ${failures.length} remaining: ${failures.join(', ')}`,
        }
      : {
          type: 'NamespaceDeletionContentFailure',
          status: 'False',
          reason: 'ContentDeleted',
          message: 'All content successfully deleted, may be waiting on finalization',
        },
    remaining
      ? {
          type: 'NamespaceContentRemaining',
          status: 'True',
          reason: 'SomeResourcesRemain',
          message: `Some resources are remaining: ${listed(counts, (name, count) => `${name} has ${count} resource instances`)}`,
        }
      : {
          type: 'NamespaceContentRemaining',
          status: 'False',
          reason: 'ContentRemoved',
          message: 'All content successfully removed',
        },
    held
      ? {
          type: 'NamespaceFinalizersRemaining',
          status: 'True',
          reason: 'SomeFinalizersRemain',
          message: `Some content in the namespace has finalizers remaining: ${listed(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
        }
      : {
          type: 'NamespaceFinalizersRemaining',
          status: 'False',
          reason: 'ContentHasNoFinalizers',
          message: 'All content-preserving finalizers finished',
        },
  ];
}
