import type { PodUid } from '../../model/ids.ts';
import type { PodLifecycleEvent } from '../../model/pod-lifecycle-event.ts';
import type {
  ContainerRuntimeStatus,
  ListedSandbox,
  PodRuntimeStatus,
  SandboxRuntimeStatus,
} from '../../model/runtime-status.ts';
import type { Listed } from '../../ports/runtime.ts';

/**
 * Computes the events for a pod that changed from `before` to `after` (upstream: pleg/generic.go, generateEvents). A
 * container that vanished without having been observed dead both died and was removed. Sandboxes are reported as one
 * event per pod.
 */
export function computePodLifecycleEvents(
  uid: PodUid,
  before: PodRuntimeStatus | undefined,
  after: PodRuntimeStatus | undefined,
): PodLifecycleEvent[] {
  const events: PodLifecycleEvent[] = [];
  const earlier = new Map((before?.containers ?? []).map((container) => [container.id, container]));
  for (const container of after?.containers ?? []) {
    const kind = computeContainerEvent(earlier.get(container.id), container);
    earlier.delete(container.id);
    if (kind !== undefined) events.push({ kind, podUid: uid, containerId: container.id });
  }
  for (const gone of earlier.values()) {
    if (gone.state !== 'exited') events.push({ kind: 'ContainerDied', podUid: uid, containerId: gone.id });
    events.push({ kind: 'ContainerRemoved', podUid: uid, containerId: gone.id });
  }
  if (!sameSandboxes(before?.sandboxes ?? [], after?.sandboxes ?? []))
    events.push({ kind: 'SandboxChanged', podUid: uid });
  return events;
}

type ContainerEventKind = Exclude<PodLifecycleEvent['kind'], 'SandboxChanged'>;

function computeContainerEvent(
  before: ContainerRuntimeStatus | undefined,
  after: ContainerRuntimeStatus,
): ContainerEventKind | undefined {
  if (before === after) return undefined;
  if (before?.state !== after.state) {
    switch (after.state) {
      case 'running':
        return 'ContainerStarted';
      case 'exited':
        return 'ContainerDied';
      case 'created':
      case 'unknown':
        return 'ContainerChanged';
    }
  }
  return before !== undefined && sameContainer(before, after) ? undefined : 'ContainerChanged';
}

/** Whether the containers are equal in all fields that can change. */
export function sameContainer(left: ContainerRuntimeStatus, right: ContainerRuntimeStatus): boolean {
  return (
    left === right ||
    (left.state === right.state &&
      left.startedAtMs === right.startedAtMs &&
      left.finishedAtMs === right.finishedAtMs &&
      left.exitCode === right.exitCode &&
      left.reason === right.reason &&
      left.message === right.message &&
      left.logPath === right.logPath &&
      left.imageRef === right.imageRef &&
      left.resources?.cpuPeriod === right.resources?.cpuPeriod &&
      left.resources?.cpuQuota === right.resources?.cpuQuota &&
      left.resources?.cpuShares === right.resources?.cpuShares &&
      left.resources?.memoryLimitBytes === right.resources?.memoryLimitBytes)
  );
}

export function sameSandbox(left: SandboxRuntimeStatus, right: SandboxRuntimeStatus): boolean {
  return (
    left === right ||
    (left.id === right.id &&
      left.ready === right.ready &&
      left.ips.length === right.ips.length &&
      left.ips.every((ip, index) => ip === right.ips[index]))
  );
}

function sameSandboxes(left: readonly SandboxRuntimeStatus[], right: readonly SandboxRuntimeStatus[]): boolean {
  return (
    left === right ||
    (left.length === right.length &&
      left.every((sandbox, index) => sameSandbox(sandbox, right[index] as SandboxRuntimeStatus)))
  );
}

/** The part of a pod in a listing of the node. */
export interface PodListing {
  readonly sandboxes: readonly ListedSandbox[];
  readonly containers: readonly Listed[];
}

/** Groups a listing, sorted by pod. Containers without a pod UID were not created by this agent and are left out. */
export function groupByPod(
  sandboxes: readonly ListedSandbox[],
  containers: readonly Listed[],
): Map<PodUid, PodListing> {
  const pods = new Map<PodUid, { sandboxes: ListedSandbox[]; containers: Listed[] }>();
  const podOf = (uid: PodUid): { sandboxes: ListedSandbox[]; containers: Listed[] } => {
    const known = pods.get(uid);
    if (known !== undefined) return known;
    const fresh = { sandboxes: [], containers: [] };
    pods.set(uid, fresh);
    return fresh;
  };
  for (const sandbox of sandboxes) if (sandbox.podUid !== '') podOf(sandbox.podUid).sandboxes.push(sandbox);
  for (const container of containers) if (container.podUid !== '') podOf(container.podUid).containers.push(container);
  return pods;
}

/** Whether a list shows more or less of the pod than the cache, or another state. */
export function listingDiffers(known: PodRuntimeStatus | undefined, listing: PodListing): boolean {
  if (known === undefined) return true;
  if (known.sandboxes.length !== listing.sandboxes.length || known.containers.length !== listing.containers.length)
    return true;
  const states = new Map<string, string>(known.containers.map((container) => [container.id, container.state]));
  for (const sandbox of known.sandboxes) states.set(sandbox.id, String(sandbox.ready));
  return (
    listing.containers.some((item) => states.get(item.id) !== item.state) ||
    listing.sandboxes.some((item) => states.get(item.id) !== String(item.ready))
  );
}
