import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodStatus } from '../../../../api/core/pod-status.ts';
import { containerId, podUid, sandboxId } from '../../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { PodStatusFacts } from '../pod-status.ts';
import { generatePodStatus } from '../pod-status.ts';
import type { RestartRules } from '../interfaces.ts';

export const START = Date.UTC(2026, 0, 1);
export const container = (name: string, extra: Partial<Container> = {}): Container => ({
  name,
  image: 'web:1',
  ...extra,
});
/** Builds a pod with one container and restart policy Always. */
export const pod = (spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u1', ...metadata },
  spec: { containers: [container('web')], restartPolicy: 'Always', ...spec },
});
export const record = (name: string, extra: Partial<ContainerRuntimeStatus> = {}): ContainerRuntimeStatus => ({
  id: containerId(`${name}-${extra.attempt ?? 0}`),
  sandboxId: sandboxId('s0'),
  name,
  attempt: 0,
  state: 'running',
  createdAtMs: START,
  startedAtMs: START + 1000,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'web:1',
  imageRef: 'sha256:1',
  imageId: 'sha256:1',
  logPath: '',
  labels: {},
  annotations: {},
  ...extra,
});
export const exited = (name: string, exitCode: number, extra: Partial<ContainerRuntimeStatus> = {}) =>
  record(name, {
    state: 'exited',
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    finishedAtMs: START + 5000,
    ...extra,
  });
/** Builds the runtime status: a ready sandbox and these containers, newest first. */
export const runtime = (...containers: ContainerRuntimeStatus[]): PodRuntimeStatus => ({
  uid: podUid('u1'),
  name: 'a',
  namespace: 'default',
  sandboxes: [
    {
      id: sandboxId('s0'),
      podUid: podUid('u1'),
      podName: 'a',
      podNamespace: 'default',
      attempt: 0,
      ready: true,
      createdAtMs: START,
      ips: ['10.0.0.5'],
      hostNetwork: false,
      runtimeHandler: '',
      labels: {},
      annotations: {},
    },
  ],
  containers,
  observedAtMs: 0,
});
/** Restart rules that follow only the restart policy of the pod or the container. */
export const rules: RestartRules = {
  shouldBeStarted: (subject, candidate, newest) =>
    subject.metadata.deletionTimestamp === undefined &&
    (newest === undefined ||
      (newest.state !== 'running' && rules.restartsAfterExit(subject, candidate, newest.exitCode))),
  restartsAfterExit: (subject, candidate, code) => {
    const policy = candidate.restartPolicy ?? subject.spec.restartPolicy;
    return policy === 'Always' || (policy === 'OnFailure' && code !== 0);
  },
  isDefinitionChanged: () => false,
  shouldRestartAllContainers: () => false,
  needsNewSandbox: (_pod, status) => status.sandboxes[0]?.ready !== true,
  isGivenUp: () => false,
};
/** Computes the status of a pod without probes and failures. */
export const generate = (subject: Pod, actual: PodRuntimeStatus, extra: Partial<PodStatusFacts> = {}): PodStatus =>
  generatePodStatus({
    pod: subject,
    runtime: actual,
    previous: undefined,
    isTerminal: false,
    rules,
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    runtimeName: 'containerd',
    hostIps: [],
    ...extra,
  });
/** Returns status and reason of each condition, by type. */
export const conditions = (status: PodStatus): Record<string, string> =>
  Object.fromEntries(
    (status.conditions ?? []).map((condition) => [
      condition.type,
      condition.status + (condition.reason === undefined ? '' : ` ${condition.reason}`),
    ]),
  );
