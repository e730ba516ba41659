import type { NodePoints, UsagePoint } from './parse-resource-metrics.ts';

export interface Usage {
  readonly cpuNanoCores: number;
  readonly memoryBytes: number;
  readonly atMs: number;
  readonly windowMs: number;
}

/**
 * The minimum window. Rates over less time are noise (upstream: metrics-server counts a container that is younger than
 * 10 s from its start).
 */
const SHORTEST_WINDOW_MS = 500;

/**
 * Computes the usage between two readings. Containers that started in between count from their start. Returns undefined
 * if there is no earlier reading.
 */
export function computeUsage(before: UsagePoint | undefined, now: UsagePoint): Usage | undefined {
  const isNew =
    before === undefined ||
    now.cpuSeconds < before.cpuSeconds ||
    (now.startedAtMs !== undefined && now.startedAtMs > before.atMs);
  const fromMs = isNew ? now.startedAtMs : before.atMs;
  if (fromMs === undefined || now.atMs - fromMs < SHORTEST_WINDOW_MS) return undefined;
  const windowMs = now.atMs - fromMs;
  const seconds = now.cpuSeconds - (isNew ? 0 : before.cpuSeconds);
  return {
    cpuNanoCores: Math.max(0, Math.round((seconds / windowMs) * 1e12)),
    memoryBytes: now.memoryBytes,
    atMs: now.atMs,
    windowMs,
  };
}

export interface NodeUsage {
  readonly node: Usage | undefined;
  /** The usage: `namespace/pod` → container → usage. */
  readonly pods: ReadonlyMap<string, ReadonlyMap<string, Usage>>;
}

/**
 * Computes the usage of a node. A pod with a container without data is omitted, because partial numbers would look like
 * those of the whole pod.
 */
export function computeNodeUsage(before: NodePoints | undefined, now: NodePoints): NodeUsage {
  const pods = new Map<string, Map<string, Usage>>();
  const incomplete = new Set<string>();
  for (const [key, point] of now.containers) {
    const podKey = `${point.namespace}/${point.pod}`;
    const usage = computeUsage(before?.containers.get(key), point);
    if (usage === undefined) incomplete.add(podKey);
    else pods.set(podKey, (pods.get(podKey) ?? new Map<string, Usage>()).set(point.container, usage));
  }
  for (const podKey of incomplete) pods.delete(podKey);
  return { node: now.node === undefined ? undefined : computeUsage(before?.node, now.node), pods };
}
