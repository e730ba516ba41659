import { nodeLabels } from '../../api/annotations.ts';
import type { Node } from '../../api/core/node.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { ContainerStatus, PodStatus } from '../../api/core/pod-status.ts';
import { findCondition, transitionTime } from '../../api/conditions.ts';
import { formatTime } from '../../api/time.ts';

/** The capacity of a fake node. */
export interface FakeNodeShape {
  readonly cpu: string;
  readonly memory: string;
  readonly pods: number;
  readonly labels: Readonly<Record<string, string>>;
}

/** Builds a node that looks like a ready Linux machine. `index` makes its address and pod range unique. */
export function fakeNode(
  name: string,
  index: number,
  { cpu, memory, pods, labels }: FakeNodeShape,
  nowMs: number,
): Node {
  const amounts = { cpu, memory, pods: String(pods), 'ephemeral-storage': '100Gi' };
  return {
    metadata: {
      name,
      namespace: '',
      uid: '',
      labels: {
        [nodeLabels.hostname]: name,
        [nodeLabels.os]: 'linux',
        [nodeLabels.arch]: 'amd64',
        [nodeLabels.betaOs]: 'linux',
        [nodeLabels.betaArch]: 'amd64',
        type: 'fake',
        ...labels,
      },
      annotations: { 'node.alpha.kubernetes.io/ttl': '0' },
    },
    spec: {
      podCIDR: `10.${64 + (index >> 8)}.${index & 255}.0/24`,
      podCIDRs: [`10.${64 + (index >> 8)}.${index & 255}.0/24`],
    },
    status: {
      capacity: amounts,
      allocatable: amounts,
      addresses: [
        { type: 'InternalIP', address: `172.31.${index >> 8}.${index & 255}` },
        { type: 'Hostname', address: name },
      ],
      conditions: readyConditions(nowMs, nowMs),
      daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
      nodeInfo: {
        machineID: name,
        systemUUID: name,
        bootID: name,
        kernelVersion: '6.1.0',
        osImage: 'fake',
        containerRuntimeVersion: 'fake://1.0',
        kubeletVersion: 'v1.36.0',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
    },
  };
}

export function readyConditions(
  sinceMs: number,
  nowMs: number,
): NonNullable<NonNullable<Node['status']>['conditions']> {
  const of = (
    type: string,
    status: 'True' | 'False',
    reason: string,
    message: string,
  ): NonNullable<NonNullable<Node['status']>['conditions']>[number] => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: formatTime(nowMs),
    lastTransitionTime: formatTime(sinceMs),
  });
  return [
    of('MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'),
    of('DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'),
    of('PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'),
    of('Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'),
  ];
}

/**
 * The behaviour of a fake pod, from annotations: `fake-nodes/run-ms` (run time of its containers),
 * `fake-nodes/exit-code`, `fake-nodes/ready: "false"`.
 */
export interface FakeLife {
  /** The run time; undefined means until the pod is deleted. */
  readonly runMs: number | undefined;
  readonly exitCode: number;
  readonly ready: boolean;
}

const PREFIX = 'fake-nodes/';
const DEFAULT_JOB_MS = 500;

/** Pods with restartPolicy Never or OnFailure count as jobs: by default they succeed quickly. */
export function fakeLife(pod: Pod): FakeLife {
  const annotations = pod.metadata.annotations ?? {};
  const number = (name: string): number | undefined =>
    /^\d+$/.test(annotations[PREFIX + name] ?? '') ? Number(annotations[PREFIX + name]) : undefined;
  const ends = pod.spec.restartPolicy === 'Never' || pod.spec.restartPolicy === 'OnFailure';
  return {
    runMs: number('run-ms') ?? (ends ? DEFAULT_JOB_MS : undefined),
    exitCode: number('exit-code') ?? 0,
    ready: annotations[`${PREFIX}ready`] !== 'false',
  };
}

export interface FakeAddresses {
  readonly hostIp: string;
  readonly podIp: string;
}

/** The status of a pod whose containers all run. */
export function runningStatus(pod: Pod, { hostIp, podIp }: FakeAddresses, nowMs: number): PodStatus {
  const { ready } = fakeLife(pod);
  const state = { running: { startedAt: formatTime(nowMs) } };
  return {
    ...commonStatus(pod, { hostIp, podIp }, nowMs),
    phase: 'Running',
    conditions: conditions(pod, ready ? 'True' : 'False', nowMs),
    containerStatuses: pod.spec.containers.map(
      (container): ContainerStatus => ({ ...containerFacts(container), state, ready, started: true }),
    ),
  };
}

/** The status of a pod whose containers have all ended. */
export function endedStatus(pod: Pod, exitCode: number, nowMs: number): PodStatus {
  const startedAt = pod.status?.startTime ?? formatTime(nowMs);
  const terminated = {
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    startedAt,
    finishedAt: formatTime(nowMs),
  };
  const phase = exitCode === 0 ? 'Succeeded' : 'Failed';
  return {
    ...pod.status,
    phase,
    conditions: conditions(pod, 'False', nowMs, phase === 'Succeeded' ? 'PodCompleted' : 'PodFailed'),
    containerStatuses: pod.spec.containers.map(
      (container): ContainerStatus => ({
        ...containerFacts(container),
        state: { terminated },
        ready: false,
        started: false,
      }),
    ),
  };
}

function commonStatus(pod: Pod, { hostIp, podIp }: FakeAddresses, nowMs: number): PodStatus {
  const ip = pod.spec.hostNetwork === true ? hostIp : podIp;
  return {
    ...pod.status,
    hostIP: hostIp,
    hostIPs: [{ ip: hostIp }],
    podIP: ip,
    podIPs: [{ ip }],
    startTime: pod.status?.startTime ?? formatTime(nowMs),
    ...(pod.metadata.generation !== undefined && { observedGeneration: pod.metadata.generation }),
  };
}

function containerFacts({
  name,
  image = '',
}: {
  readonly name: string;
  readonly image?: string;
}): Pick<ContainerStatus, 'name' | 'image' | 'imageID' | 'containerID' | 'restartCount'> {
  return { name, image, imageID: `fake://${image}`, containerID: `fake://${name}`, restartCount: 0 };
}

function conditions(
  pod: Pod,
  ready: 'True' | 'False',
  nowMs: number,
  reason?: string,
): NonNullable<PodStatus['conditions']> {
  const before = pod.status?.conditions ?? [];
  const of = (type: string, status: 'True' | 'False'): NonNullable<PodStatus['conditions']>[number] => {
    return {
      type,
      status,
      lastTransitionTime: transitionTime(findCondition(before, type), status, nowMs),
      ...(status === 'False' && { reason: reason ?? 'ContainersNotReady' }),
    };
  };
  const others = before.filter(
    ({ type }) =>
      !['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].includes(type),
  );
  return [
    ...others,
    of('PodReadyToStartContainers', 'True'),
    of('Initialized', 'True'),
    of('Ready', ready),
    of('ContainersReady', ready),
    of('PodScheduled', 'True'),
  ];
}
