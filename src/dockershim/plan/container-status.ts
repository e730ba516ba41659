import { Container, ContainerState, ContainerStatus, MountPropagation } from '../../cri/generated/cri-v1.ts';
import type { DeepPartial } from '../../grpc/message-fns.ts';
import type { ContainerInspect, ContainerSummary, MountPoint } from '../engine/docker-types.ts';
import { criSignal } from './container-body.ts';
import { labelKeys, readLabels } from './docker-labels.ts';
import { parseDockerName } from './docker-names.ts';
import { criResources } from './docker-resources.ts';
import { nanosOf, parseNanos } from './docker-time.ts';
import { imageRef } from './image-names.ts';

/**
 * The time that the shim wrote, which is more precise than Docker's list; Docker's time for containers of an earlier
 * shim.
 */
export function createdNanos(labels: Readonly<Record<string, string>>, fallback: bigint): bigint {
  const own = labels[labelKeys.createdAt] ?? '';
  return /^\d{1,19}$/.test(own) ? BigInt(own) : fallback;
}

/** The state as a list shows it. A created container that did not start has an end time: see `statusOf`. */
function listedState({ State = '', Status = '' }: ContainerSummary): ContainerState {
  switch (State) {
    case 'created':
      return ContainerState.CONTAINER_CREATED;
    case 'running':
    case 'paused':
    case 'restarting':
      return ContainerState.CONTAINER_RUNNING;
    case 'exited':
    case 'dead':
    case 'removing':
      return ContainerState.CONTAINER_EXITED;
    default:
      return Status.startsWith('Up') ? ContainerState.CONTAINER_RUNNING : ContainerState.CONTAINER_UNKNOWN;
  }
}

/** undefined for a container without a Kubernetes name. */
export function listedContainer(summary: ContainerSummary): Container | undefined {
  const name = parseDockerName(summary.Names?.[0] ?? '');
  if (name === undefined) return undefined;
  const written = summary.Labels ?? {};
  const image = written[labelKeys.image] || (summary.Image ?? '');
  return Container.fromPartial({
    id: summary.Id,
    podSandboxId: written[labelKeys.sandboxId] ?? '',
    metadata: { name: name.container, attempt: name.attempt },
    image: { image, userSpecifiedImage: image },
    imageRef: summary.ImageID ?? '',
    imageId: summary.ImageID ?? '',
    state: listedState(summary),
    createdAt: createdNanos(written, nanosOf((summary.Created ?? 0) * 1000)),
    ...readLabels(written),
  });
}

interface Ending {
  readonly state: ContainerState;
  readonly finishedAt: bigint;
  readonly exitCode: number;
  readonly reason: string;
}

/** cri-dockerd: core/container_status.go. */
function endingOf({ State: state = {} }: ContainerInspect, createdAt: bigint): Ending {
  const exitCode = state.ExitCode ?? 0;
  if (state.Running === true)
    return { state: ContainerState.CONTAINER_RUNNING, finishedAt: 0n, exitCode: 0, reason: '' };
  const finishedAt = parseNanos(state.FinishedAt);
  const exited = { state: ContainerState.CONTAINER_EXITED, exitCode };
  if (finishedAt > 0n || parseNanos(state.StartedAt) > 0n)
    return { ...exited, finishedAt, reason: endReason(state.OOMKilled ?? false, exitCode) };
  // Docker recorded that the start failed; the container never ran.
  if (exitCode !== 0) return { ...exited, finishedAt: createdAt, reason: 'ContainerCannotRun' };
  return { state: ContainerState.CONTAINER_CREATED, finishedAt: 0n, exitCode: 0, reason: '' };
}

function endReason(isOomKilled: boolean, exitCode: number): string {
  if (isOomKilled) return 'OOMKilled';
  return exitCode === 0 ? 'Completed' : 'Error';
}

export interface ImageOfContainer {
  readonly id: string;
  readonly repoDigests: readonly string[];
}

export function statusOf(inspect: ContainerInspect, image: ImageOfContainer): ContainerStatus {
  const written = inspect.Config?.Labels ?? {};
  const name = parseDockerName(inspect.Name ?? '');
  const createdAt = createdNanos(written, parseNanos(inspect.Created));
  const imageName = written[labelKeys.image] || (inspect.Config?.Image ?? '');
  return ContainerStatus.fromPartial({
    id: inspect.Id,
    ...(name !== undefined && { metadata: { name: name.container, attempt: name.attempt } }),
    createdAt,
    startedAt: parseNanos(inspect.State?.StartedAt),
    ...endingOf(inspect, createdAt),
    image: { image: imageName, userSpecifiedImage: imageName },
    imageRef: imageRef(image.id, image.repoDigests),
    imageId: image.id,
    message: inspect.State?.Error ?? '',
    ...readLabels(written),
    mounts: (inspect.Mounts ?? []).filter(({ Type }) => Type === 'bind').map(criMount),
    logPath: written[labelKeys.logPath] ?? '',
    resources: { linux: criResources(inspect.HostConfig ?? {}) },
    stopSignal: criSignal(inspect.Config?.StopSignal ?? 'SIGTERM'),
  });
}

function criMount(mount: MountPoint): DeepPartial<ContainerStatus['mounts'][number]> {
  return {
    hostPath: mount.Source ?? '',
    containerPath: mount.Destination ?? '',
    readonly: mount.RW === false,
    propagation: propagationOf(mount.Propagation ?? ''),
  };
}

function propagationOf(text: string): MountPropagation {
  if (text.endsWith('shared')) return MountPropagation.PROPAGATION_BIDIRECTIONAL;
  if (text.endsWith('slave')) return MountPropagation.PROPAGATION_HOST_TO_CONTAINER;
  return MountPropagation.PROPAGATION_PRIVATE;
}
