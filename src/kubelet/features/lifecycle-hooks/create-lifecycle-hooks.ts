import type { HookRunnerOptions } from './hook-runner.ts';
import { HookRunner } from './hook-runner.ts';

export interface CreateLifecycleHooksParts extends Omit<HookRunnerOptions, 'hostIp'> {
  /** Hooks of pods on the host's network go to its address. */
  readonly node: Pick<HookRunnerOptions, 'hostIp'>;
}

/** The postStart and preStop hooks of this node's pods. */
export function createLifecycleHooks({ node, ...options }: CreateLifecycleHooksParts): HookRunner {
  return new HookRunner({ ...options, hostIp: () => node.hostIp() });
}
