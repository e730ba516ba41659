import type { Clock } from '../../base/clock.ts';
import { isKind, KubeletError } from '../../base/errors.ts';
import { ContainerEventResponse, ContainerEventType } from '../../cri/generated/cri-v1.ts';
import type { ContainerStatus, PodSandboxStatus } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { DockerEvent } from '../engine/docker-types.ts';
import { labelKeys } from '../plan/docker-labels.ts';
import { inBatches } from './in-batches.ts';
import type { Containers } from './containers.ts';
import type { Sandboxes } from './sandboxes.ts';

export interface ContainerEventsParts {
  readonly engine: Pick<DockerEngine, 'events'>;
  readonly containers: Pick<Containers, 'list' | 'status'>;
  readonly sandboxes: Pick<Sandboxes, 'status' | 'remove'>;
  readonly clock: Clock;
}

const eventTypes: ReadonlyMap<string, ContainerEventType> = new Map([
  ['create', ContainerEventType.CONTAINER_CREATED_EVENT],
  ['start', ContainerEventType.CONTAINER_STARTED_EVENT],
  ['die', ContainerEventType.CONTAINER_STOPPED_EVENT],
  ['destroy', ContainerEventType.CONTAINER_DELETED_EVENT],
]);

/**
 * The kubelet learns of its own creations and starts from the answers of its calls, so these events are only for other
 * clients. Each event costs Docker several requests while the pod starts. They are therefore delayed and merged. The
 * end of a container is reported immediately.
 */
const PATIENCE_MS = 250;
const mayWait = ({ Action: action }: DockerEvent): boolean => action === 'create' || action === 'start';

const eventFilters = {
  type: ['container'],
  event: [...eventTypes.keys()],
  label: [labelKeys.type],
} as const;

/**
 * Converts Docker's event stream into the CRI's: what happened, and the current state of the whole pod. Events of one
 * pod that arrive together share one state, which is read from Docker once. Ends when Docker's stream ends.
 */
export async function* containerEvents(
  parts: ContainerEventsParts,
  signal: AbortSignal,
): AsyncIterable<ContainerEventResponse> {
  // The source is read ahead, so it does not end with its reader.
  const left = new AbortController();
  try {
    const ended = AbortSignal.any([signal, left.signal]);
    yield* batchedEvents(parts, parts.engine.events(eventFilters, { signal: ended, onOpen: () => undefined }), signal);
  } finally {
    left.abort();
  }
  if (!signal.aborted)
    throw new KubeletError('Unavailable', 'Docker ended its event stream', { op: 'GetContainerEvents' });
}

async function* batchedEvents(
  parts: ContainerEventsParts,
  source: AsyncIterable<DockerEvent>,
  signal: AbortSignal,
): AsyncIterable<ContainerEventResponse> {
  const { clock } = parts;
  for await (const batch of inBatches(source, { clock, limitMs: PATIENCE_MS, mayWait })) {
    const known = batch.map(readEvent).filter((each) => each !== undefined);
    const pods = new Map<string, PodStatuses>();
    for (const { id, sandboxId, type } of known)
      if (type === ContainerEventType.CONTAINER_DELETED_EVENT && sandboxId === id)
        await freeNetwork(parts.sandboxes, id);
    for (const { id, sandboxId, type, createdAt } of known) {
      const pod = pods.get(sandboxId) ?? (await podOf(parts, sandboxId, signal));
      pods.set(sandboxId, pod);
      yield ContainerEventResponse.fromPartial({
        containerId: id,
        containerEventType: type,
        createdAt,
        ...(pod.status !== undefined && { podSandboxStatus: pod.status }),
        containersStatuses: pod.containers,
      });
    }
  }
}

interface KnownEvent {
  readonly id: string;
  /** For a sandbox, its own id. */
  readonly sandboxId: string;
  readonly type: ContainerEventType;
  readonly createdAt: bigint;
}

/** undefined for actions that have no event in the CRI. */
function readEvent(event: DockerEvent): KnownEvent | undefined {
  const type = eventTypes.get(event.Action ?? '');
  const id = event.Actor?.ID ?? '';
  if (type === undefined || id === '') return undefined;
  const { [labelKeys.sandboxId]: sandboxId = id } = event.Actor?.Attributes ?? {};
  return { id, sandboxId, type, createdAt: timeOf(event) };
}

/** A sandbox was removed, perhaps not by the shim: its address and host ports must be freed. */
async function freeNetwork(sandboxes: Pick<Sandboxes, 'remove'>, id: string): Promise<void> {
  try {
    await sandboxes.remove(id);
  } catch {
    return; // Its record remains, so the list still shows it and the kubelet tries again.
  }
}

/** A JavaScript number loses the last digits of the nanoseconds that Docker writes. */
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

/** undefined if it was removed meanwhile. */
async function orGone<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  }
}
