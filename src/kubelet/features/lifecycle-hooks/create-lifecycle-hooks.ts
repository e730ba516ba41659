import type { HookRunnerOptions } from './hook-runner.ts';
import { HookRunner } from './hook-runner.ts';

export interface CreateLifecycleHooksParts extends Omit<HookRunnerOptions, 'hostIp'> {
  /** The node's address, for hooks of pods on the host's network. */
  readonly node: Pick<HookRunnerOptions, 'hostIp'>;
}

/** Creates the runner of postStart and preStop hooks. */
export function createLifecycleHooks({ node, ...options }: CreateLifecycleHooksParts): HookRunner {
  return new HookRunner({ ...options, hostIp: () => node.hostIp() });
}
