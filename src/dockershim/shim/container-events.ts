import { isKind, KubeletError } from '../../base/errors.ts';
import { ContainerEventResponse, ContainerEventType } from '../../cri/generated/cri-v1.ts';
import type { ContainerStatus, PodSandboxStatus } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { DockerEvent } from '../engine/docker-types.ts';
import { labelKeys } from '../plan/docker-labels.ts';
import type { Containers } from './containers.ts';
import type { Sandboxes } from './sandboxes.ts';

export interface ContainerEventsParts {
  readonly engine: Pick<DockerEngine, 'events'>;
  readonly containers: Pick<Containers, 'list' | 'status'>;
  readonly sandboxes: Pick<Sandboxes, 'status' | 'remove'>;
}

const eventTypes: ReadonlyMap<string, ContainerEventType> = new Map([
  ['create', ContainerEventType.CONTAINER_CREATED_EVENT],
  ['start', ContainerEventType.CONTAINER_STARTED_EVENT],
  ['die', ContainerEventType.CONTAINER_STOPPED_EVENT],
  ['destroy', ContainerEventType.CONTAINER_DELETED_EVENT],
]);

const eventFilters = {
  type: ['container'],
  event: [...eventTypes.keys()],
  label: [labelKeys.type],
} as const;

/** Docker's event stream as that of the CRI: what happened, and the whole pod as it is then. Ends with Docker's. */
export async function* containerEvents(
  { engine, containers, sandboxes }: ContainerEventsParts,
  signal: AbortSignal,
): AsyncIterable<ContainerEventResponse> {
  for await (const event of engine.events(eventFilters, { signal, onOpen: () => undefined })) {
    const type = eventTypes.get(event.Action ?? '');
    const id = event.Actor?.ID ?? '';
    if (type === undefined || id === '') continue;
    const { [labelKeys.sandboxId]: sandboxId = id } = event.Actor?.Attributes ?? {};
    if (type === ContainerEventType.CONTAINER_DELETED_EVENT && sandboxId === id) await freeNetwork(sandboxes, id);
    const pod = await podOf({ containers, sandboxes }, sandboxId, signal);
    yield ContainerEventResponse.fromPartial({
      containerId: id,
      containerEventType: type,
      createdAt: timeOf(event),
      ...(pod.status !== undefined && { podSandboxStatus: pod.status }),
      containersStatuses: pod.containers,
    });
  }
  if (!signal.aborted)
    throw new KubeletError('Unavailable', 'Docker ended its event stream', { op: 'GetContainerEvents' });
}

/** Of a sandbox that was removed, perhaps behind the shim's back: its address and host ports are for others. */
async function freeNetwork(sandboxes: Pick<Sandboxes, 'remove'>, id: string): Promise<void> {
  try {
    await sandboxes.remove(id);
  } catch {
    return; // Its record is left, so the list shows it, and the kubelet tries again.
  }
}

/** JSON holds nanoseconds without their last digits: Docker writes a number. */
const timeOf = ({ timeNano = 0 }: DockerEvent): bigint => BigInt(Math.round(timeNano));

interface PodStatuses {
  readonly status: PodSandboxStatus | undefined;
  readonly containers: ContainerStatus[];
}

async function podOf(
  { containers, sandboxes }: Pick<ContainerEventsParts, 'containers' | 'sandboxes'>,
  sandboxId: string,
  signal: AbortSignal,
): Promise<PodStatuses> {
  const filter = { id: '', state: undefined, podSandboxId: sandboxId, labelSelector: {} };
  const [sandbox, listed] = await Promise.all([
    orGone(sandboxes.status(sandboxId, false, signal)),
    containers.list(filter, signal),
  ]);
  const statuses = await Promise.all(listed.map(({ id }) => orGone(containers.status(id, false, signal))));
  return { status: sandbox?.status, containers: statuses.flatMap((each) => each?.status ?? []) };
}

/** undefined for what was removed meanwhile. */
async function orGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  }
}
