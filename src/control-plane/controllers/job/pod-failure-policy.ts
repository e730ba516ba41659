import type {
  PodFailurePolicy,
  PodFailurePolicyOnExitCodesRequirement,
  PodFailurePolicyRule,
} from '../../../api/batch/job.ts';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';

export interface FailureMatch {
  readonly action: PodFailurePolicyRule['action'] | undefined;
  /** Whether the failure counts against the limits. */
  readonly counts: boolean;
  /** The message if the whole job fails. */
  readonly message: string | undefined;
}

/**
 * Returns the action of the first matching rule for a failed pod. Without a match, the failure counts (upstream:
 * matchPodFailurePolicy).
 */
export function matchFailurePolicy(policy: PodFailurePolicy | undefined, pod: Pod): FailureMatch {
  for (const [index, rule] of (policy?.rules ?? []).entries()) {
    const why = explainMatch(rule, pod);
    if (why === undefined) continue;
    const { action } = rule;
    return {
      action,
      counts: action !== 'Ignore',
      message: action === 'FailJob' ? `${why} matching ${action} rule at index ${index}` : undefined,
    };
  }
  return { action: undefined, counts: true, message: undefined };
}

function explainMatch({ onExitCodes, onPodConditions = [] }: PodFailurePolicyRule, pod: Pod): string | undefined {
  const { namespace, name } = pod.metadata;
  if (onExitCodes !== undefined) {
    const container =
      findExit(pod.status?.containerStatuses, onExitCodes) ?? findExit(pod.status?.initContainerStatuses, onExitCodes);
    return container === undefined
      ? undefined
      : `Container ${container.name} for pod ${namespace}/${name} failed with exit code ${container.state?.terminated?.exitCode}`;
  }
  const condition = (pod.status?.conditions ?? []).find(({ type, status }) =>
    onPodConditions.some((pattern) => pattern.type === type && pattern.status === status),
  );
  return condition === undefined ? undefined : `Pod ${namespace}/${name} has condition ${condition.type}`;
}

function findExit(
  statuses: readonly ContainerStatus[] | undefined,
  { containerName, operator, values }: PodFailurePolicyOnExitCodesRequirement,
): ContainerStatus | undefined {
  return (statuses ?? []).find(({ name, state }) => {
    const exitCode = state?.terminated?.exitCode ?? 0;
    return (
      exitCode !== 0 &&
      (containerName === undefined || containerName === name) &&
      values.includes(exitCode) === (operator === 'In')
    );
  });
}
