import { isKind } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, ListedSandbox, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import type { CallOptions, Listed } from '../../ports/runtime.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { PodListing } from './diff.ts';
import type { PodReading } from './pod-record.ts';

/** The read calls of the runtime. */
export type RuntimeReader = Pick<
  ContainerRuntime,
  'listSandboxes' | 'listContainers' | 'sandboxStatus' | 'containerStatus'
>;

/** The known parts of a pod, which save calls. */
export interface KnownParts {
  container(id: string): ContainerRuntimeStatus | undefined;
  sandbox(id: string): SandboxRuntimeStatus | undefined;
  /** Whether the runtime has confirmed the exit, and not only an event. */
  isConfirmed(id: string): boolean;
}

export interface InspectOptions extends CallOptions {
  /**
   * `changed` reads what the list shows in another state than the known one. `full` reads everything that can still
   * change. An exited container with a complete record of the runtime is never read again, because it cannot change.
   */
  readonly depth: 'changed' | 'full';
}

export async function listPod(runtime: RuntimeReader, uid: PodUid, options: CallOptions): Promise<PodListing> {
  const [sandboxes, containers] = await Promise.all([
    runtime.listSandboxes({ podUid: uid }, options),
    runtime.listContainers({ podUid: uid }, options),
  ]);
  return { sandboxes, containers };
}

/**
 * Reads all details of a pod's listed containers and sandboxes concurrently. Those that vanished meanwhile are left
 * out.
 */
export async function inspectListed(
  runtime: RuntimeReader,
  listing: PodListing,
  known: KnownParts,
  options: InspectOptions,
): Promise<PodReading> {
  const [sandboxes, containers] = await Promise.all([
    Promise.all(listing.sandboxes.map((item) => readSandbox(runtime, item, known.sandbox(item.id), options))),
    Promise.all(listing.containers.map((item) => readContainer(runtime, item, known, options))),
  ]);
  const named = listing.sandboxes[0] ?? listing.containers[0];
  return {
    name: named?.podName ?? '',
    namespace: named?.podNamespace ?? '',
    sandboxes: sandboxes.filter((sandbox) => sandbox !== undefined),
    containers: containers.filter((container) => container !== undefined),
  };
}

function readSandbox(
  runtime: RuntimeReader,
  item: ListedSandbox,
  known: SandboxRuntimeStatus | undefined,
  options: InspectOptions,
): Promise<SandboxRuntimeStatus | undefined> {
  // Of a dead sandbox only its death matters. A live one may have got addresses since.
  if (known !== undefined && known.ready === item.ready && (options.depth === 'changed' || !known.ready))
    return Promise.resolve(known);
  return unlessGone(runtime.sandboxStatus(item.id, options));
}

function readContainer(
  runtime: RuntimeReader,
  item: Listed,
  parts: KnownParts,
  options: InspectOptions,
): Promise<ContainerRuntimeStatus | undefined> {
  const known = parts.container(item.id);
  if (known !== undefined) {
    const written = known.state === 'exited' && known.finishedAtMs > 0;
    const unchanged = options.depth === 'changed' && known.state === item.state && known.state !== 'unknown';
    if (parts.isConfirmed(item.id) && (written || unchanged)) return Promise.resolve(known);
  }
  return unlessGone(runtime.containerStatus(item.id, options));
}

/** Returns the reading; undefined if the object no longer exists. */
export async function unlessGone<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined;
    throw error;
  }
}
