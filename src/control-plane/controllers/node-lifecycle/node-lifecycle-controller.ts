import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { leases, nodes, pods } from '../../../api/client/resource-types.ts';
import { isConditionTrue } from '../../../api/conditions.ts';
import type { Lease } from '../../../api/coordination/lease.ts';
import type { Node, Taint } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { unknownConditions, zoneKey } from './node-health.ts';
import { evictionTaint, readyOf, withEvictionTaint, withScheduleTaints } from './node-taints.ts';
import { ZoneRateLimiter } from './zone-rate-limiter.ts';

export interface NodeLifecycleOptions extends ControllerOptions {
  /** A node without heartbeats for this time is unknown (--node-monitor-grace-period). */
  readonly graceMs: number;
  /** The same for a node that was never ready (--node-startup-grace-period). */
  readonly startupGraceMs: number;
}

/** The default times, as in upstream. */
export const nodeLifecycleDefaults = { graceMs: 50_000, startupGraceMs: 60_000 };

const LEASE_NAMESPACE = 'kube-node-lease';
const WORKERS = 8;

/**
 * Monitors nodes (upstream: node lifecycle controller). It sets the conditions of silent nodes to Unknown, and taints
 * nodes by their conditions.
 * 1. The time of the last heartbeat is measured with this process's clock from observed changes; the node's clock is
 *    ignored.
 * 2. Every node has one next check time, which each heartbeat moves.
 * 3. If no node is ready anywhere, no pods are evicted, and pending evictions are cancelled.
 */
export function createNodeLifecycleController(options: NodeLifecycleOptions): Controller {
  const { informers, clock, log } = options;
  const nodeInformer = informers.for(nodes);
  const leaseInformer = informers.for(leases);
  const podInformer = informers.for(pods);
  const watcher = new NodeWatcher(options, nodeInformer, podInformer, () =>
    nodeInformer.list().forEach((node) => queue.add(node.metadata.name)),
  );
  const queue = new RateLimitingQueue({
    name: 'node-lifecycle',
    clock,
    log,
    workers: WORKERS,
    sync: (name) => watcher.sync(name),
  });
  const renewed = ({ metadata }: Lease): void => {
    if (metadata.namespace === LEASE_NAMESPACE) watcher.heard(metadata.name);
  };
  const ends = [
    nodeInformer.addHandlers({
      onAdd: (node) => {
        watcher.heard(node.metadata.name);
        watcher.observe(node);
        queue.add(node.metadata.name);
      },
      onUpdate: (before, after) => {
        if (readyOf(before)?.lastHeartbeatTime !== readyOf(after)?.lastHeartbeatTime)
          watcher.heard(after.metadata.name);
        watcher.observe(after);
        queue.add(after.metadata.name);
      },
      onDelete: (node) => watcher.forget(node),
    }),
    leaseInformer.addHandlers({
      onAdd: renewed,
      onUpdate: (before, after) => before.spec?.renewTime !== after.spec?.renewTime && renewed(after),
    }),
  ];
  return runController({
    name: 'node lifecycle controller',
    log,
    queues: [queue],
    informers: [nodeInformer, leaseInformer, podInformer],
    ends,
  });
}

class NodeWatcher {
  readonly #options: NodeLifecycleOptions;
  readonly #nodes: Informer<Node>;
  readonly #podsByNode: ObjectIndex<Pod>;
  readonly #recorder: EventRecorder;
  readonly #heardAtMs = new Map<string, number>();
  /** The last handled transition of each node, so that its pods are marked once. */
  readonly #wasReady = new Map<string, boolean>();
  readonly #rateLimiter: ZoneRateLimiter;
  readonly #wakeAll: () => void;

  constructor(
    options: NodeLifecycleOptions,
    nodeInformer: Informer<Node>,
    podInformer: Informer<Pod>,
    wakeAll: () => void,
  ) {
    this.#options = options;
    this.#wakeAll = wakeAll;
    this.#nodes = nodeInformer;
    this.#podsByNode = podInformer.index('node', ({ spec }) =>
      spec.nodeName === undefined || spec.nodeName === '' ? [] : [spec.nodeName],
    );
    this.#recorder = createEventRecorder({ ...options, component: 'node-controller' });
    this.#rateLimiter = new ZoneRateLimiter(() => options.clock.monotonicMs());
  }

  heard(name: string): void {
    this.#heardAtMs.set(name, this.#options.clock.monotonicMs());
  }

  /** Records the reported state of the node. All nodes are counted before the first one is evaluated. */
  observe(node: Node): void {
    if (this.#rateLimiter.set(node, isConditionTrue(node.status?.conditions, 'Ready'))) this.#wakeAll();
  }

  forget(node: Node): void {
    const { name } = node.metadata;
    this.#heardAtMs.delete(name);
    this.#wasReady.delete(name);
    if (this.#rateLimiter.forget(node)) this.#wakeAll();
    this.#report(node, 'Normal', 'RemovingNode', `Node ${name} event: Removing Node ${name} from Controller`);
  }

  async sync(name: string): Promise<number | undefined> {
    const node = this.#nodes.get({ namespace: '', name });
    if (node === undefined) return undefined;
    if (!this.#wasReady.has(name))
      this.#report(node, 'Normal', 'RegisteredNode', `Node ${name} event: Registered Node ${name} in Controller`);
    const silentForMs =
      this.#options.clock.monotonicMs() - (this.#heardAtMs.get(name) ?? this.#options.clock.monotonicMs());
    const allowedMs = readyOf(node) === undefined ? this.#options.startupGraceMs : this.#options.graceMs;
    const current = silentForMs >= allowedMs ? await this.#markUnknown(node) : node;
    await this.#followReady(current);
    const rateLimitedMs = await this.#taint(current);
    const nextLookMs = silentForMs >= allowedMs ? undefined : allowedMs - silentForMs;
    return rateLimitedMs === undefined ? nextLookMs : Math.min(rateLimitedMs, nextLookMs ?? rateLimitedMs);
  }

  async #markUnknown(node: Node): Promise<Node> {
    const conditions = unknownConditions(node, this.#nowText());
    const before = node.status?.conditions ?? [];
    if (conditions.length === before.length && conditions.every((condition, index) => condition === before[index]))
      return node;
    return this.#options.client.update(
      nodes,
      { ...node, status: { ...node.status, conditions } },
      { subresource: 'status' },
    );
  }

  /** Marks the pods of a node as not ready when the node becomes not ready, once per transition. */
  async #followReady(node: Node): Promise<void> {
    const { name } = node.metadata;
    const ready = isConditionTrue(node.status?.conditions, 'Ready');
    const before = this.#wasReady.get(name);
    this.observe(node);
    if (before === true && !ready)
      this.#report(node, 'Normal', 'NodeNotReady', `Node ${name} status is now: NodeNotReady`);
    // Earlier transitions were handled by the previous process, except if it may have been interrupted.
    if (before === true ? !ready : before === undefined && readyOf(node)?.status === 'Unknown')
      await this.#markPodsNotReady(name);
    this.#wasReady.set(name, ready);
  }

  async #markPodsNotReady(name: string): Promise<void> {
    const nowText = this.#nowText();
    await Promise.all(
      this.#podsByNode.get(name).map(async (pod) => {
        if (!isConditionTrue(pod.status?.conditions, 'Ready')) return;
        const conditions = [{ type: 'Ready', status: 'False', lastTransitionTime: nowText }];
        try {
          await this.#options.client.patch(
            pods,
            keyOf(pod),
            { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status: { conditions } } },
            { subresource: 'status' },
          );
          this.#recorder.event(pods, pod, { type: 'Warning', reason: 'NodeNotReady', message: 'Node is not ready' });
        } catch (error) {
          if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
        }
      }),
    );
  }

  /** Sets the taints. Returns the milliseconds until a rate-limited taint may be set. */
  async #taint(node: Node): Promise<number | undefined> {
    const nowText = this.#nowText();
    const before = node.spec?.taints ?? [];
    let wanted = withScheduleTaints(before, node, nowText);
    let waitMs: number | undefined;
    const evicting = evictionTaint(node);
    if (readyOf(node)?.status === 'True' || this.#rateLimiter.isAllDown)
      wanted = withEvictionTaint(wanted, undefined, nowText);
    else if (evicting.kind !== 'none') {
      const turn = evicting.kind === 'swap' ? ({ kind: 'now' } as const) : this.#rateLimiter.takeTurn(zoneKey(node));
      if (turn.kind === 'now') wanted = withEvictionTaint(wanted, evicting.key, nowText);
      else if (turn.kind === 'after') waitMs = turn.waitMs;
    }
    if (wanted !== before) await this.#writeTaints(node, wanted);
    return waitMs;
  }

  async #writeTaints(node: Node, taints: readonly Taint[]): Promise<void> {
    const { resourceVersion, uid } = node.metadata;
    try {
      await this.#options.client.patch(nodes, keyOf(node), {
        type: 'merge',
        body: { metadata: { uid, resourceVersion }, spec: { taints } },
      });
    } catch (error) {
      if (!isApiError(error, 'NotFound')) throw error;
    }
  }

  #report(node: Node, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#recorder.event(nodes, node, { type, reason, message });
  }

  #nowText(): string {
    return formatTime(this.#options.clock.nowMs());
  }
}
