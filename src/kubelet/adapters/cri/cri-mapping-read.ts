import { canonicalIp } from '../../../base/ip-address.ts';
import { runtimeLabels } from '../../../api/annotations.ts';
import type {
  Container,
  ContainerEventResponse,
  ContainerStatus,
  Image as CriImage,
  PodSandbox,
  PodSandboxStatus,
  StatusResponse,
} from '../../../cri/generated/cri-v1.ts';
import {
  ContainerEventType,
  ContainerState as CriContainerState,
  NamespaceMode,
  PodSandboxState,
  Signal,
} from '../../../cri/generated/cri-v1.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type {
  ContainerRuntimeStatus,
  ContainerState,
  ListedSandbox,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import type { Image } from '../../ports/images.ts';
import type { Listed, RuntimeCondition, RuntimeEvent, RuntimeHealth } from '../../ports/runtime.ts';

const NANOS_PER_MS = 1_000_000n;
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

/** Converts CRI's nanoseconds to wall-clock milliseconds. Go's zero time becomes 0, which means no time. */
export function msFromNanos(nanos: bigint): number {
  return nanos <= 0n ? 0 : Number(nanos / NANOS_PER_MS);
}

/** Converts a 64-bit number, limited to the largest integer that JavaScript represents exactly. */
export function clampedNumber(value: bigint): number {
  if (value > LARGEST) return Number.MAX_SAFE_INTEGER;
  return value < -LARGEST ? -Number.MAX_SAFE_INTEGER : Number(value);
}

function stateOf(state: CriContainerState): ContainerState {
  switch (state) {
    case CriContainerState.CONTAINER_CREATED:
      return 'created';
    case CriContainerState.CONTAINER_RUNNING:
      return 'running';
    case CriContainerState.CONTAINER_EXITED:
      return 'exited';
    // A state of a newer runtime counts as unknown.
    default:
      return 'unknown';
  }
}

interface Specified {
  readonly image: string;
  readonly userSpecifiedImage: string;
}

/**
 * Returns the image name of the pod's spec, if the runtime stores it (upstream: kuberuntime_container.go,
 * toKubeContainerStatus).
 */
function askedImage(spec: Specified | undefined): string {
  return spec === undefined ? '' : spec.userSpecifiedImage || spec.image;
}

export function listedFromCri(item: Container): Listed {
  const { labels } = item;
  return {
    id: containerId(item.id),
    sandboxId: sandboxId(item.podSandboxId),
    podUid: podUid(labels[runtimeLabels.podUid] ?? ''),
    podName: labels[runtimeLabels.podName] ?? '',
    podNamespace: labels[runtimeLabels.podNamespace] ?? '',
    name: labels[runtimeLabels.containerName] ?? item.metadata?.name ?? '',
    attempt: item.metadata?.attempt ?? 0,
    state: stateOf(item.state),
    createdAtMs: msFromNanos(item.createdAt),
    image: askedImage(item.image),
    imageRef: item.imageRef,
    imageId: item.imageId || item.imageRef,
    labels,
    annotations: item.annotations,
  };
}

/**
 * Converts a listed sandbox. It belongs to the pod in its label. Sandboxes of other tools have metadata, but no label.
 */
export function listedSandboxFromCri(
  item: Pick<PodSandbox, 'id' | 'labels' | 'metadata' | 'state' | 'createdAt' | 'runtimeHandler' | 'annotations'>,
): ListedSandbox {
  return {
    id: sandboxId(item.id),
    podUid: podUid(item.labels[runtimeLabels.podUid] ?? ''),
    podName: item.metadata?.name ?? '',
    podNamespace: item.metadata?.namespace ?? '',
    attempt: item.metadata?.attempt ?? 0,
    ready: item.state === PodSandboxState.SANDBOX_READY,
    createdAtMs: msFromNanos(item.createdAt),
    runtimeHandler: item.runtimeHandler,
    labels: item.labels,
    annotations: item.annotations,
  };
}

export function sandboxFromCri(status: PodSandboxStatus): SandboxRuntimeStatus {
  const { network } = status;
  const reported =
    network === undefined
      ? []
      : [network.ip, ...network.additionalIps.map((additional) => additional.ip)].filter((ip) => ip !== '');
  // One invalid address makes all of them unusable (upstream: determinePodSandboxIPs).
  const ips = reported.flatMap((ip) => canonicalIp(ip) ?? []);
  const isUnreadable = ips.length < reported.length;
  const options = status.linux?.namespaces?.options;
  const hostNetwork = options?.network === NamespaceMode.NODE;
  const mapping = options?.usernsOptions?.mode === NamespaceMode.POD ? options.usernsOptions.uids[0] : undefined;
  return {
    ...listedSandboxFromCri(status),
    ips: hostNetwork || isUnreadable ? [] : ips,
    ...(isUnreadable && !hostNetwork && { isAddressUnreadable: true }),
    hostNetwork,
    ...(mapping === undefined ? {} : { userns: { hostId: mapping.hostId, length: mapping.length } }),
  };
}

/** Returns the name of the signal, such as SIGTERM; undefined if the runtime does not report it. */
function stopSignalOf(signal: Signal): string | undefined {
  return signal === Signal.RUNTIME_DEFAULT
    ? undefined
    : Object.keys(Signal).find((name) => (Signal as Readonly<Record<string, unknown>>)[name] === signal);
}

/**
 * Converts a container status. `sandbox` is not part of it: the caller knows it from a list or from the agent's own
 * create; '' otherwise.
 */
export function containerFromCri(status: ContainerStatus, sandbox: string): ContainerRuntimeStatus {
  const { labels } = status;
  const mapped: ContainerRuntimeStatus = {
    id: containerId(status.id),
    sandboxId: sandboxId(sandbox),
    name: labels[runtimeLabels.containerName] ?? status.metadata?.name ?? '',
    attempt: status.metadata?.attempt ?? 0,
    state: stateOf(status.state),
    createdAtMs: msFromNanos(status.createdAt),
    startedAtMs: msFromNanos(status.startedAt),
    finishedAtMs: msFromNanos(status.finishedAt),
    exitCode: status.exitCode,
    reason: status.reason,
    message: status.message,
    image: askedImage(status.image),
    imageRef: status.imageRef,
    imageId: status.imageId || status.imageRef,
    logPath: status.logPath,
    labels,
    annotations: status.annotations,
    mounts: status.mounts.map((mount) => ({
      containerPath: mount.containerPath,
      hostPath: mount.hostPath,
      readOnly: mount.readonly,
      recursiveReadOnly: mount.recursiveReadOnly,
    })),
  };
  const stopSignal = stopSignalOf(status.stopSignal);
  if (stopSignal !== undefined) mapped.stopSignal = stopSignal;
  const linux = status.resources?.linux;
  if (linux !== undefined) {
    mapped.resources = {
      cpuPeriod: clampedNumber(linux.cpuPeriod),
      cpuQuota: clampedNumber(linux.cpuQuota),
      cpuShares: clampedNumber(linux.cpuShares),
      memoryLimitBytes: clampedNumber(linux.memoryLimitInBytes),
    };
  }
  const user = status.user?.linux;
  if (user !== undefined)
    mapped.user = {
      uid: clampedNumber(user.uid),
      gid: clampedNumber(user.gid),
      supplementalGroups: user.supplementalGroups.map(clampedNumber),
    };
  return mapped;
}

export function imageFromCri(image: CriImage): Image {
  const mapped: Image = {
    id: image.id,
    repoTags: image.repoTags,
    repoDigests: image.repoDigests,
    sizeBytes: clampedNumber(image.size),
    username: image.username,
    pinned: image.pinned,
  };
  if (image.uid !== undefined) mapped.uid = clampedNumber(image.uid.value);
  return mapped;
}

export function healthFromCri(response: StatusResponse): RuntimeHealth {
  const condition = (type: string): RuntimeCondition => {
    const found = response.status?.conditions.find((candidate) => candidate.type === type);
    return found === undefined
      ? { ok: false, reason: '', message: `the runtime reports no ${type} condition` }
      : { ok: found.status, reason: found.reason, message: found.message };
  };
  return {
    runtimeReady: condition('RuntimeReady'),
    networkReady: condition('NetworkReady'),
    handlers: response.runtimeHandlers.map((handler) => ({
      name: handler.name,
      recursiveReadOnlyMounts: handler.features?.recursiveReadOnlyMounts ?? false,
      userNamespaces: handler.features?.userNamespaces ?? false,
    })),
    supplementalGroupsPolicy: response.features?.supplementalGroupsPolicy ?? false,
  };
}

function eventKindOf(type: ContainerEventType): RuntimeEvent['kind'] | undefined {
  switch (type) {
    case ContainerEventType.CONTAINER_CREATED_EVENT:
      return 'created';
    case ContainerEventType.CONTAINER_STARTED_EVENT:
      return 'started';
    case ContainerEventType.CONTAINER_STOPPED_EVENT:
      return 'stopped';
    case ContainerEventType.CONTAINER_DELETED_EVENT:
      return 'deleted';
    // This is an unknown event of a newer runtime.
    default:
      return undefined;
  }
}

export function eventFromCri(response: ContainerEventResponse): RuntimeEvent | undefined {
  const kind = eventKindOf(response.containerEventType);
  if (kind === undefined) return undefined;
  const event: RuntimeEvent = { kind, id: response.containerId, atMs: msFromNanos(response.createdAt) };
  const { podSandboxStatus } = response;
  if (podSandboxStatus === undefined) return event;
  const sandbox = sandboxFromCri(podSandboxStatus);
  if (sandbox.podUid !== '') event.podUid = sandbox.podUid;
  event.pod = {
    sandbox,
    containers: response.containersStatuses.map((status) => containerFromCri(status, sandbox.id)),
  };
  return event;
}
