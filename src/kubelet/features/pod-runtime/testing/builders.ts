import type { Container, EphemeralContainer } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import { runtimeAnnotations, runtimeLabels } from '../../../../api/annotations.ts';
import { containerId, podUid, sandboxId } from '../../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus, SandboxRuntimeStatus } from '../../../model/runtime-status.ts';
import { containerHash } from '../plan/container-hash.ts';
import type { PlanFacts } from '../plan/plan-facts.ts';

const testUid = 'uid-1';

export function aContainer(name: string, fields: Partial<Container> = {}): Container {
  return {
    name,
    image: `${name}:1`,
    imagePullPolicy: 'IfNotPresent',
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
    ...fields,
  };
}

export function anEphemeral(name: string, fields: Partial<EphemeralContainer> = {}): EphemeralContainer {
  return { ...aContainer(name), ...fields };
}

export function aPod(spec: Partial<PodSpec> = {}, metadata: Partial<Pod['metadata']> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: testUid, ...metadata },
    spec: {
      containers: [aContainer('app')],
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      securityContext: {},
      ...spec,
    },
  };
}

export function aSandbox(fields: Partial<SandboxRuntimeStatus> = {}): SandboxRuntimeStatus {
  const attempt = fields.attempt ?? 0;
  return {
    id: sandboxId(`sandbox-${attempt}`),
    podUid: podUid(testUid),
    podName: 'web',
    podNamespace: 'default',
    attempt,
    ready: true,
    createdAtMs: 1000,
    ips: ['10.0.0.5'],
    hostNetwork: false,
    runtimeHandler: '',
    labels: {},
    annotations: {},
    ...fields,
  };
}

export type RunState = 'running' | 'created' | 'unknown' | number;

/** Builds one run of a container. A number is the exit code of an ended run. */
export function aRun(
  name: string,
  state: RunState,
  fields: Partial<ContainerRuntimeStatus> = {},
): ContainerRuntimeStatus {
  const attempt = fields.attempt ?? 0;
  const exited = typeof state === 'number';
  return {
    id: containerId(`${name}-${attempt}`),
    sandboxId: sandboxId('sandbox-0'),
    name,
    attempt,
    state: exited ? 'exited' : state,
    createdAtMs: 1000,
    startedAtMs: state === 'created' ? 0 : 1100,
    finishedAtMs: exited ? 2000 : 0,
    exitCode: exited ? state : 0,
    reason: exited ? (state === 0 ? 'Completed' : 'Error') : '',
    message: '',
    image: `${name}:1`,
    imageRef: `sha256:${name}`,
    imageId: `sha256:${name}`,
    logPath: '',
    labels: { [runtimeLabels.containerName]: name },
    annotations: { [runtimeAnnotations.containerHash]: containerHash({ name, image: `${name}:1` }) },
    ...fields,
  };
}

export function aStatus(
  containers: readonly ContainerRuntimeStatus[] = [],
  sandboxes: readonly SandboxRuntimeStatus[] = [aSandbox()],
): PodRuntimeStatus {
  return { uid: podUid(testUid), name: 'web', namespace: 'default', sandboxes, containers, observedAtMs: 0 };
}

export function factsOf(pod: Pod, status: PodRuntimeStatus, more: Partial<PlanFacts> = {}): PlanFacts {
  return { pod, status, probe: () => undefined, crashWait: () => undefined, nowMs: 10_000, ...more };
}
