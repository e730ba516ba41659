import { lookupTable } from '../base/lookup.ts';
import { errorMessage, KubeletError } from '../base/errors.ts';
import type { GrpcChannel } from '../grpc/grpc-channel.ts';
import { SubscribeRequest } from './generated/containerd-events.ts';
import { ImageCreate, ImageDelete, ImageUpdate } from './generated/containerd-image-events.ts';
import {
  ContainerCreate,
  ContainerDelete,
  ContainerUpdate,
  TaskCreate,
  TaskDelete,
  TaskExecAdded,
  TaskExecStarted,
  TaskExit,
  TaskOOM,
  TaskPaused,
  TaskResumed,
  TaskStart,
} from './generated/containerd-task-events.ts';
import { Envelope } from './generated/containerd-types.ts';
import type { Timestamp } from './generated/google/protobuf/timestamp.ts';

export const CONTAINERD_SUBSCRIBE_PATH = '/containerd.services.events.v1.Events/Subscribe';

/** containerd's namespace for all objects created through the CRI. */
export const CRI_NAMESPACE = 'k8s.io';

/**
 * One event, flattened. Fields that the payload does not have are undefined; for an unknown payload only the envelope's
 * fields are set.
 */
export interface ContainerdEvent {
  /** For example `/tasks/exit`. */
  readonly topic: string;
  /** When containerd published the event: wall time, milliseconds since the epoch. */
  readonly timestampMs: number;
  readonly namespace: string;
  /** The id of a container or a pod sandbox; in containerd both are containers. */
  readonly containerId?: string;
  /** Set when the event is about an exec in the container, not about the container's own process. */
  execId?: string;
  readonly pid?: number;
  readonly exitStatus?: number;
  /** Wall time, milliseconds since the epoch. */
  exitedAtMs?: number;
  /** The image name, for `/images/*` and `/containers/create`. */
  readonly image?: string;
}

export interface SubscribeOptions {
  /**
   * containerd's filter expressions; an event is delivered when any of them matches. Default: tasks, containers and
   * images of the CRI's namespace.
   */
  readonly filters?: readonly string[];
  /** Ends the subscription without an error. */
  readonly signal?: AbortSignal;
}

/**
 * The filter expression for events in `namespace` whose topic starts with `topicPrefix` (containerd pkg/filters: a
 * comma means "and").
 */
export function topicFilter(namespace: string, topicPrefix: string): string {
  return `namespace==${JSON.stringify(namespace)},topic~=${JSON.stringify(`^${topicPrefix}`)}`;
}

const DEFAULT_FILTERS = ['/tasks/', '/containers/', '/images/'].map((prefix) => topicFilter(CRI_NAMESPACE, prefix));

/**
 * containerd's event stream. containerd drops events while no client is subscribed, and does not confirm a
 * subscription. Events are therefore only hints: a reader must list everything after subscribing, and repeat that at a
 * long interval. The stream ends without an error when `signal` aborts. It fails with `Unavailable` when containerd
 * goes away, and with `Unimplemented` when the runtime is not containerd.
 */
export async function* subscribeContainerdEvents(
  channel: GrpcChannel,
  options: SubscribeOptions = {},
): AsyncGenerator<ContainerdEvent, void, undefined> {
  const request = SubscribeRequest.encode({ filters: [...(options.filters ?? DEFAULT_FILTERS)] }).finish();
  const op = 'Subscribe';
  try {
    const messages = channel.stream({
      op,
      path: CONTAINERD_SUBSCRIBE_PATH,
      request,
      timeoutMs: Infinity,
      signal: options.signal,
    });
    for await (const message of messages) yield decodeContainerdEvent(message);
  } catch (error) {
    if (options.signal?.aborted === true) return;
    throw error;
  }
  throw new KubeletError('Unavailable', 'containerd ended the event stream', { op });
}

type Payload = Omit<ContainerdEvent, 'topic' | 'timestampMs' | 'namespace'>;

/** The decoders by the last part of the type URL; containerd 1.x and 2.x write no prefix. */
const DECODERS: Readonly<Record<string, (bytes: Uint8Array) => Payload>> = lookupTable({
  'containerd.events.TaskCreate': (bytes) => task(TaskCreate.decode(bytes)),
  'containerd.events.TaskStart': (bytes) => task(TaskStart.decode(bytes)),
  'containerd.events.TaskExit': (bytes) => exit(TaskExit.decode(bytes)),
  'containerd.events.TaskDelete': (bytes) => exit(TaskDelete.decode(bytes)),
  'containerd.events.TaskOOM': (bytes) => ({ containerId: TaskOOM.decode(bytes).containerId }),
  'containerd.events.TaskPaused': (bytes) => ({ containerId: TaskPaused.decode(bytes).containerId }),
  'containerd.events.TaskResumed': (bytes) => ({ containerId: TaskResumed.decode(bytes).containerId }),
  'containerd.events.TaskExecAdded': (bytes) => {
    const { containerId, execId } = TaskExecAdded.decode(bytes);
    return { containerId, execId };
  },
  'containerd.events.TaskExecStarted': (bytes) => {
    const { containerId, execId, pid } = TaskExecStarted.decode(bytes);
    return { containerId, execId, pid };
  },
  'containerd.events.ContainerCreate': (bytes) => container(ContainerCreate.decode(bytes)),
  'containerd.events.ContainerUpdate': (bytes) => container(ContainerUpdate.decode(bytes)),
  'containerd.events.ContainerDelete': (bytes) => ({ containerId: ContainerDelete.decode(bytes).id }),
  'containerd.services.images.v1.ImageCreate': (bytes) => ({ image: ImageCreate.decode(bytes).name }),
  'containerd.services.images.v1.ImageUpdate': (bytes) => ({ image: ImageUpdate.decode(bytes).name }),
  'containerd.services.images.v1.ImageDelete': (bytes) => ({ image: ImageDelete.decode(bytes).name }),
});

/** Fails with `Internal` if the bytes are not an event envelope, or the payload does not match its type. */
export function decodeContainerdEvent(bytes: Uint8Array): ContainerdEvent {
  try {
    const envelope = Envelope.decode(bytes);
    const type = envelope.event?.typeUrl.split('/').at(-1) ?? '';
    const payload = DECODERS[type]?.(envelope.event?.value ?? new Uint8Array());
    return {
      topic: envelope.topic,
      timestampMs: milliseconds(envelope.timestamp) ?? 0,
      namespace: envelope.namespace,
      ...payload,
    };
  } catch (error) {
    throw new KubeletError('Internal', `cannot decode a containerd event: ${errorMessage(error)}`, {
      op: 'Subscribe',
      cause: error,
    });
  }
}

function task(event: { containerId: string; pid: number }): Payload {
  return { containerId: event.containerId, pid: event.pid };
}

function exit(event: TaskExit | TaskDelete): Payload {
  const payload: Payload = { containerId: event.containerId, pid: event.pid, exitStatus: event.exitStatus };
  const exitedAtMs = milliseconds(event.exitedAt);
  if (exitedAtMs !== undefined) payload.exitedAtMs = exitedAtMs;
  // Old shims leave the id of the container's own process empty.
  if (event.id !== '' && event.id !== event.containerId) payload.execId = event.id;
  return payload;
}

function container(event: { id: string; image: string }): Payload {
  return event.image === '' ? { containerId: event.id } : { containerId: event.id, image: event.image };
}

function milliseconds(at: Timestamp | undefined): number | undefined {
  return at === undefined ? undefined : Number(at.seconds) * 1000 + Math.floor(at.nanos / 1e6);
}
