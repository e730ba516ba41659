import type { PodCondition } from '../../api/core/pod-status.ts';

/** Why the agent ended a pod, as its status shows it. */
export interface PodEnding {
  readonly reason: string;
  readonly message: string;
  readonly condition?: PodCondition;
}
