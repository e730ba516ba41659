import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { nodes, pods } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodCondition } from '../../../api/core/pod-status.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { disruptionCondition, patchPodStatus } from '../../controller-runtime/disruption-target.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { isForced, isLeftLeaving, isOutOfService, selectSurplus } from './judge-pods.ts';

export interface PodGarbageCollectorOptions extends ControllerOptions {
  /** The number of terminated pods to keep (--terminated-pod-gc-threshold); 0 keeps all. */
  readonly terminatedThreshold: number;
}

/**
 * The wait before pods of a missing node are deleted, in case the cache shows its pods before the node (upstream:
 * quarantineTime).
 */
const QUARANTINE_MS = 40_000;
const WORKERS = 8;
const TERMINATED_KEY = 'terminated';

/**
 * Deletes pods that no other component deletes: pods of deleted nodes, terminating pods without a kubelet, and the
 * oldest of too many ended pods (upstream: podgc). Pods are checked on events, not periodically.
 */
export function createPodGarbageCollector(options: PodGarbageCollectorOptions): Controller {
  const { informers, clock, log } = options;
  const nodeInformer = informers.for(nodes);
  const podInformer = informers.for(pods);
  const collector = new PodCollector(options, nodeInformer, podInformer);
  const queue = new RateLimitingQueue({
    name: 'pod-garbage-collector',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => collector.sync(key),
  });
  const wakePods = (name: string): void => collector.podsOn(name).forEach((pod) => queue.add(podKey(pod)));
  const consider = (pod: Pod): void => {
    const nodeName = pod.spec.nodeName ?? '';
    if (pod.metadata.deletionTimestamp !== undefined) queue.add(podKey(pod));
    if (isTerminalPod(pod) && collector.hasSurplus()) queue.add(TERMINATED_KEY);
    if (nodeName !== '' && nodeInformer.get({ namespace: '', name: nodeName }) === undefined)
      queue.add(nodeKey(nodeName));
  };
  const ends = [
    podInformer.addHandlers({ onAdd: consider, onUpdate: (_, after) => consider(after) }),
    nodeInformer.addHandlers({
      onAdd: ({ metadata }) => queue.add(nodeKey(metadata.name)),
      onUpdate: (before, after) => isOutOfService(after) && !isOutOfService(before) && wakePods(after.metadata.name),
      onDelete: ({ metadata }) => queue.add(nodeKey(metadata.name)),
    }),
  ];
  return runController({
    name: 'pod garbage collector',
    log,
    queues: [queue],
    informers: [nodeInformer, podInformer],
    ends,
  });
}

const podKey = (pod: Pod): string => `pod ${formatKey(keyOf(pod))}`;
const nodeKey = (name: string): string => `node ${name}`;

class PodCollector {
  readonly #options: PodGarbageCollectorOptions;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #byNode: ObjectIndex<Pod>;
  readonly #terminated: ObjectIndex<Pod>;
  /** When each node with pods was first missing, on the monotonic clock. */
  readonly #missedSinceMs = new Map<string, number>();

  constructor(options: PodGarbageCollectorOptions, nodeInformer: Informer<Node>, podInformer: Informer<Pod>) {
    this.#options = options;
    this.#nodes = nodeInformer;
    this.#pods = podInformer;
    this.#byNode = podInformer.index('node', ({ spec }) =>
      spec.nodeName === undefined || spec.nodeName === '' ? [] : [spec.nodeName],
    );
    this.#terminated = podInformer.index(TERMINATED_KEY, (pod) => (isTerminalPod(pod) ? [''] : []));
  }

  podsOn(nodeName: string): readonly Pod[] {
    return this.#byNode.get(nodeName);
  }

  hasSurplus(): boolean {
    const { terminatedThreshold } = this.#options;
    return terminatedThreshold > 0 && this.#terminated.count('') > terminatedThreshold;
  }

  async sync(key: string): Promise<number | undefined> {
    if (key === TERMINATED_KEY) {
      for (const pod of selectSurplus(this.#terminated.get(''), this.#options.terminatedThreshold))
        await this.#remove(pod);
      return undefined;
    }
    const name = key.slice(key.indexOf(' ') + 1);
    if (key.startsWith('node ')) return this.#judgeNode(name);
    const pod = this.#pods.getByKey(name);
    if (pod !== undefined && isLeftLeaving(pod, this.#nodes.get({ namespace: '', name: pod.spec.nodeName ?? '' })))
      await this.#remove(pod);
    return undefined;
  }

  async #judgeNode(name: string): Promise<number | undefined> {
    if (this.#nodes.get({ namespace: '', name }) !== undefined || this.#byNode.count(name) === 0) {
      this.#missedSinceMs.delete(name);
      return undefined;
    }
    const nowMs = this.#options.clock.monotonicMs();
    const sinceMs = this.#missedSinceMs.get(name) ?? nowMs;
    this.#missedSinceMs.set(name, sinceMs);
    if (nowMs - sinceMs < QUARANTINE_MS) return QUARANTINE_MS - (nowMs - sinceMs);
    if (!(await this.#isGone(name))) return QUARANTINE_MS;
    for (const pod of this.#byNode.get(name)) {
      const condition = disruptionCondition(
        pod,
        { reason: 'DeletionByPodGC', message: 'PodGC: node no longer exists' },
        this.#options.clock.nowMs(),
      );
      await this.#remove(pod, condition);
    }
    this.#missedSinceMs.delete(name);
    return undefined;
  }

  /** Whether the server confirms that a node does not exist, because the cache may be outdated. */
  async #isGone(name: string): Promise<boolean> {
    try {
      await this.#options.client.get(nodes, { namespace: '', name });
      return false;
    } catch (error) {
      if (isApiError(error, 'NotFound')) return true;
      throw error;
    }
  }

  /** Deletes a pod. If it had not ended it is marked as failed first, because no kubelet will do so later. */
  async #remove(pod: Pod, condition?: PodCondition): Promise<void> {
    if (isForced(pod)) return;
    const { client } = this.#options;
    const { generation: observedGeneration, uid } = pod.metadata;
    try {
      if (!isTerminalPod(pod))
        await patchPodStatus(client, pod, {
          phase: 'Failed',
          ...(observedGeneration !== undefined && { observedGeneration }),
          ...(condition !== undefined && { conditions: [condition] }),
        });
      await client.delete(pods, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
  }
}
