/** Selects what to remove of the runtime's ended containers and sandboxes (upstream: kuberuntime/kuberuntime_gc.go). */

export interface GcContainer {
  readonly id: string;
  readonly podUid: string;
  readonly name: string;
  readonly attempt: number;
  readonly sandboxId: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  /** Wall-clock milliseconds. */
  readonly createdAtMs: number;
}

export interface GcSandbox {
  readonly id: string;
  readonly podUid: string;
  readonly ready: boolean;
  readonly createdAtMs: number;
}

export interface GcPolicy {
  /** The flag --minimum-container-ttl-duration, in milliseconds. */
  readonly minAgeMs: number;
  /** The flag --maximum-dead-containers-per-container; negative for no limit. */
  readonly maxPerContainer: number;
  /** The flag --maximum-dead-containers, node-wide; negative for no limit. */
  readonly maxTotal: number;
}

/**
 * What happens to the containers and sandboxes of a pod. `removed`: all are removed. `busy`: containers of the pod are
 * being started or stopped now.
 */
export type CleanupDecision = 'kept' | 'removed' | 'busy';

export interface GcState {
  readonly containers: readonly GcContainer[];
  readonly sandboxes: readonly GcSandbox[];
  readonly decideCleanup: (podUid: string) => CleanupDecision;
}

/**
 * Selects the containers to remove, oldest first. Running containers are never included. For pods that stay, it keeps
 * the newest ended container of each name, unless the node-wide limit requires its removal. It also keeps containers
 * that may be about to start.
 */
export function selectContainers(
  { containers, decideCleanup }: GcState,
  policy: GcPolicy,
  nowMs: number,
): GcContainer[] {
  const victims = new Set<GcContainer>();
  const units = new Map<string, GcContainer[]>();
  for (const container of containers) {
    const decision = decideCleanup(container.podUid);
    if (container.state === 'running' || decision === 'busy') continue;
    if (decision === 'removed') {
      victims.add(container);
      continue;
    }
    if (nowMs - container.createdAtMs < policy.minAgeMs) continue;
    const key = `${container.podUid}/${container.name}`;
    units.set(key, [...(units.get(key) ?? []), container]);
  }
  const kept = [...units.values()].map((unit) => keepNewest(recordsOf(unit, victims), policy.maxPerContainer, victims));
  enforceTotal(kept, policy.maxTotal, victims);
  return [...victims].sort((left, right) => left.createdAtMs - right.createdAtMs);
}

/**
 * Enforces the node-wide limit: each name keeps an equal share of at least one, and what still exceeds the limit is
 * removed by age (upstream: evictContainers).
 */
function enforceTotal(units: GcContainer[][], maxTotal: number, victims: Set<GcContainer>): void {
  const count = (): number => units.reduce((sum, unit) => sum + unit.length, 0);
  if (maxTotal < 0 || count() <= maxTotal) return;
  const share = Math.max(1, Math.floor(maxTotal / units.length));
  const shared = units.map((unit) => keepNewest(unit, share, victims));
  keepNewest(shared.flat(), maxTotal, victims);
}

/** Returns the containers that are kept; a negative limit keeps all. */
function keepNewest(unit: readonly GcContainer[], limit: number, victims: Set<GcContainer>): GcContainer[] {
  if (limit < 0) return [...unit];
  const sorted = [...unit].sort(newestFirst);
  for (const container of sorted.slice(limit)) victims.add(container);
  return sorted.slice(0, limit);
}

/**
 * Returns the dead containers of one name that have run. A container that was created and never ran may be about to
 * start, unless a later attempt has run since. In that case a create that was given up produced it late, and it is
 * removed before any container that ran, regardless of its age.
 */
function recordsOf(unit: readonly GcContainer[], victims: Set<GcContainer>): GcContainer[] {
  const ended = unit.filter(({ state }) => state !== 'created');
  const last = Math.max(-1, ...ended.map(({ attempt }) => attempt));
  for (const container of unit) if (container.state === 'created' && container.attempt < last) victims.add(container);
  return ended;
}

/**
 * Selects the sandboxes to remove: those that are not ready, have no containers and are not the newest of their pod,
 * from which its status is read. For removed pods it selects the newest too. `gone` are containers that are about to be
 * removed.
 */
export function selectSandboxes(
  { containers, sandboxes, decideCleanup }: GcState,
  gone: ReadonlySet<string>,
): GcSandbox[] {
  const inUse = new Set(containers.filter(({ id }) => !gone.has(id)).map(({ sandboxId }) => sandboxId));
  const byPod = new Map<string, GcSandbox[]>();
  for (const sandbox of sandboxes) byPod.set(sandbox.podUid, [...(byPod.get(sandbox.podUid) ?? []), sandbox]);
  return [...byPod].flatMap(([podUid, ofPod]) => {
    const decision = decideCleanup(podUid);
    if (decision === 'busy') return [];
    const candidates = decision === 'removed' ? ofPod : [...ofPod].sort(newestFirst).slice(1);
    return candidates.filter(({ id, ready }) => !ready && !inUse.has(id));
  });
}

function newestFirst(
  left: { createdAtMs: number; id: string; attempt?: number },
  right: { createdAtMs: number; id: string; attempt?: number },
): number {
  return (
    right.createdAtMs - left.createdAtMs || (right.attempt ?? 0) - (left.attempt ?? 0) || (left.id < right.id ? 1 : -1)
  );
}
