import type { Pod } from '../../../../api/core/pod.ts';
import { isHostNetwork } from '../../../../api/pod.ts';
import type { PodRuntimeStatus, SandboxRuntimeStatus } from '../../../model/runtime-status.ts';
import type { SandboxReason } from './steps.ts';

export type SandboxDecision =
  | { kind: 'keep'; sandbox: SandboxRuntimeStatus }
  /** A new sandbox is needed. `replaces` is the newest existing sandbox; it is absent for a new pod. */
  | { kind: 'create'; attempt: number; reason: SandboxReason; replaces?: SandboxRuntimeStatus };

/** Whether the pod's newest sandbox can be kept (upstream: kuberuntime/util/util.go PodSandboxChanged). */
export function computeSandboxDecision(pod: Pod, status: PodRuntimeStatus): SandboxDecision {
  const newest = status.sandboxes[0];
  if (newest === undefined) return { kind: 'create', attempt: 0, reason: 'new-pod' };
  const reason = changeReason(pod, status, newest);
  if (reason === undefined) return { kind: 'keep', sandbox: newest };
  return { kind: 'create', attempt: newest.attempt + 1, reason, replaces: newest };
}

function changeReason(pod: Pod, status: PodRuntimeStatus, newest: SandboxRuntimeStatus): SandboxReason | undefined {
  if (status.sandboxes.filter((sandbox) => sandbox.ready).length > 1) return 'several-ready';
  if (!newest.ready) return 'not-ready';
  if (newest.hostNetwork !== isHostNetwork(pod)) return 'network-mode-changed';
  if (!isHostNetwork(pod) && newest.ips.length === 0 && newest.isAddressUnreadable !== true) return 'no-ip';
  return undefined;
}

/** Whether the pod needs a new sandbox. The pod status uses the same rule. */
export function needsNewSandbox(pod: Pod, status: PodRuntimeStatus): boolean {
  return computeSandboxDecision(pod, status).kind === 'create';
}
