import type { Timer } from '../../../base/clock.ts';
import { runtimeLabels } from '../../../api/annotations.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type {
  ContainerRuntimeStatus,
  ContainerState,
  ListedSandbox,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import type { ContainerConfig, LinuxResources, Listed, SandboxConfig } from '../runtime.ts';
import type { ContainerScript } from './fake-runtime-script.ts';

/** One sandbox in the fake. Snapshots are created once per change, so that lists cost nothing per item. */
export interface SandboxRecord {
  readonly id: string;
  config: SandboxConfig;
  readonly runtimeHandler: string;
  ready: boolean;
  readonly createdAtMs: number;
  readonly ip: string;
  readonly containers: Set<ContainerRecord>;
  listed: ListedSandbox | undefined;
  status: SandboxRuntimeStatus | undefined;
}

export interface ContainerRecord {
  readonly id: string;
  readonly sandbox: SandboxRecord;
  readonly config: ContainerConfig;
  resources: LinuxResources;
  script: ContainerScript;
  state: ContainerState;
  readonly createdAtMs: number;
  startedAtMs: number;
  finishedAtMs: number;
  exitCode: number;
  reason: string;
  message: string;
  readonly imageRef: string;
  /** Whether the process has ended, even if `state` does not show it yet. */
  dead: boolean;
  /** The client that requested the pending stop. */
  stoppedBy: string | undefined;
  exitTimer: Timer | undefined;
  killTimer: Timer | undefined;
  exitWaiters: (() => void)[];
  listed: Listed | undefined;
  status: ContainerRuntimeStatus | undefined;
}

export function sandboxUid(sandbox: SandboxRecord): string {
  return sandbox.config.uid;
}

/** Returns the name that containerd reserves (upstream: containerd internal/cri/server/helpers.go). */
export function sandboxName(config: SandboxConfig): string {
  return [config.name, config.namespace, config.uid, config.attempt].join('_');
}

export function containerName(config: ContainerConfig, sandbox: SandboxConfig): string {
  return [config.name, sandbox.name, sandbox.namespace, sandbox.uid, config.attempt].join('_');
}

export function listedSandbox(record: SandboxRecord): ListedSandbox {
  const { config } = record;
  record.listed ??= {
    id: sandboxId(record.id),
    podUid: config.uid,
    podName: config.name,
    podNamespace: config.namespace,
    attempt: config.attempt,
    ready: record.ready,
    createdAtMs: record.createdAtMs,
    runtimeHandler: record.runtimeHandler,
    labels: config.labels,
    annotations: config.annotations,
  };
  return record.listed;
}

export function sandboxStatus(record: SandboxRecord): SandboxRuntimeStatus {
  const { config } = record;
  const { network, userns } = config.security.namespaces;
  const hostNetwork = network === 'node';
  record.status ??= {
    id: sandboxId(record.id),
    podUid: config.uid,
    podName: config.name,
    podNamespace: config.namespace,
    attempt: config.attempt,
    ready: record.ready,
    createdAtMs: record.createdAtMs,
    ips: hostNetwork || !record.ready ? [] : [record.ip],
    hostNetwork,
    ...(userns?.mode === 'pod' ? { userns: { hostId: userns.hostId, length: userns.length } } : {}),
    runtimeHandler: record.runtimeHandler,
    labels: config.labels,
    annotations: config.annotations,
  };
  return record.status;
}

/**
 * Converts a container for lists. As in the real adapter, it belongs to the pod in its labels, or to none without
 * labels.
 */
export function listedContainer(record: ContainerRecord): Listed {
  const { config } = record;
  record.listed ??= {
    id: containerId(record.id),
    sandboxId: sandboxId(record.sandbox.id),
    podUid: podUid(config.labels[runtimeLabels.podUid] ?? ''),
    podName: config.labels[runtimeLabels.podName] ?? '',
    podNamespace: config.labels[runtimeLabels.podNamespace] ?? '',
    name: config.labels[runtimeLabels.containerName] ?? config.name,
    attempt: config.attempt,
    state: record.state,
    createdAtMs: record.createdAtMs,
    image: config.image.userSpecifiedImage || config.image.image,
    imageRef: record.imageRef,
    imageId: record.imageRef,
    labels: config.labels,
    annotations: config.annotations,
  };
  return record.listed;
}

export function containerStatus(record: ContainerRecord): ContainerRuntimeStatus {
  const { config, sandbox, resources } = record;
  record.status ??= {
    id: containerId(record.id),
    sandboxId: sandboxId(sandbox.id),
    name: config.labels[runtimeLabels.containerName] ?? config.name,
    attempt: config.attempt,
    state: record.state,
    createdAtMs: record.createdAtMs,
    startedAtMs: record.startedAtMs,
    finishedAtMs: record.state === 'exited' ? record.finishedAtMs : 0,
    exitCode: record.state === 'exited' ? record.exitCode : 0,
    reason: record.state === 'exited' ? record.reason : '',
    message: record.state === 'exited' ? record.message : '',
    image: config.image.userSpecifiedImage || config.image.image,
    imageRef: record.imageRef,
    imageId: record.imageRef,
    logPath: `${sandbox.config.logDirectory}/${config.logPath}`,
    labels: config.labels,
    annotations: config.annotations,
    resources: {
      cpuPeriod: resources.cpuPeriod ?? 0,
      cpuQuota: resources.cpuQuota ?? 0,
      cpuShares: resources.cpuShares ?? 0,
      memoryLimitBytes: resources.memoryLimitBytes ?? 0,
    },
    mounts: config.mounts.map((mount) => ({
      containerPath: mount.containerPath,
      hostPath: mount.hostPath,
      readOnly: mount.readOnly,
    })),
  };
  return record.status;
}
