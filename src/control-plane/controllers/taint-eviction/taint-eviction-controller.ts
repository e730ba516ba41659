import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { nodes, pods } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { deleteDisrupted } from '../../controller-runtime/disruption-target.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { evictingTaints, planEviction, sameTaints, stoodForMs } from './plan-eviction.ts';

/** The number of concurrent syncs (upstream: UpdateWorkerSize). */
const WORKERS = 8;

/**
 * Deletes pods from nodes whose NoExecute taints they do not tolerate, or no longer (upstream:
 * taint-eviction-controller).
 * 1. Each pass decides again from node and pod; only the start of the toleration is stored.
 * 2. Replacing one taint by another does not extend the time.
 */
export function createTaintEvictionController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const nodeInformer = informers.for(nodes);
  const podInformer = informers.for(pods);
  const byNode = podInformer.index('node', ({ spec }) =>
    spec.nodeName === undefined || spec.nodeName === '' ? [] : [spec.nodeName],
  );
  const evictor = new Evictor(options, nodeInformer, podInformer);
  const queue = new RateLimitingQueue({
    name: 'taint-eviction',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => evictor.sync(key),
  });
  const ends = [
    nodeInformer.addHandlers(nodeHandlers(byNode, (pod) => queue.add(formatKey(keyOf(pod))))),
    podInformer.addHandlers(podHandlers(nodeInformer, evictor, queue)),
  ];
  return runController({
    name: 'taint eviction controller',
    log,
    queues: [queue],
    informers: [nodeInformer, podInformer],
    ends,
  });
}

function nodeHandlers(
  byNode: ObjectIndex<Pod>,
  wake: (pod: Pod) => void,
): { onAdd(node: Node): void; onUpdate(before: Node, after: Node): void; onDelete(node: Node): void } {
  const wakeAll = ({ metadata }: Node): void => byNode.get(metadata.name).forEach(wake);
  return {
    onAdd: (node) => evictingTaints(node).length > 0 && wakeAll(node),
    onUpdate: (before, after) =>
      before.spec?.taints !== after.spec?.taints &&
      !sameTaints(evictingTaints(before), evictingTaints(after)) &&
      wakeAll(after),
    onDelete: (node) => evictingTaints(node).length > 0 && wakeAll(node),
  };
}

function podHandlers(
  nodeInformer: Informer<Node>,
  evictor: Evictor,
  queue: RateLimitingQueue,
): { onAdd(pod: Pod): void; onUpdate(before: Pod, after: Pod): void; onDelete(pod: Pod): void } {
  const isOnTainted = ({ spec }: Pod): boolean =>
    evictingTaints(nodeInformer.get({ namespace: '', name: spec.nodeName ?? '' })).length > 0;
  const consider = (pod: Pod): void => {
    if (evictor.knows(pod) || isOnTainted(pod)) queue.add(formatKey(keyOf(pod)));
  };
  return {
    onAdd: consider,
    onUpdate: (before, after) => {
      const { nodeName, tolerations } = after.spec;
      if (
        before.spec.nodeName !== nodeName ||
        before.spec.tolerations !== tolerations ||
        before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp
      )
        consider(after);
    },
    onDelete: consider,
  };
}

/** The state of a pod: it may stay until a time, or its deletion was recorded as an event. */
type Entry =
  | { readonly kind: 'waiting'; readonly pod: Pod; readonly sinceMs: number }
  | { readonly kind: 'leaving'; readonly pod: Pod };

class Evictor {
  readonly #options: ControllerOptions;
  readonly #nodes: Informer<Node>;
  readonly #pods: Informer<Pod>;
  readonly #recorder: EventRecorder;
  readonly #entries = new Map<string, Entry>();

  constructor(options: ControllerOptions, nodeInformer: Informer<Node>, podInformer: Informer<Pod>) {
    this.#options = options;
    this.#nodes = nodeInformer;
    this.#pods = podInformer;
    this.#recorder = createEventRecorder({ ...options, component: 'taint-eviction-controller' });
  }

  knows(pod: Pod): boolean {
    return this.#entries.has(formatKey(keyOf(pod)));
  }

  async sync(key: string): Promise<number | undefined> {
    const pod = this.#pods.getByKey(key);
    let entry = this.#entries.get(key);
    if (entry !== undefined && (pod === undefined || entry.pod.metadata.uid !== pod.metadata.uid)) {
      this.#cancel(key, entry);
      entry = undefined;
    }
    if (pod === undefined || (pod.spec.nodeName ?? '') === '') return undefined;
    const taints = evictingTaints(this.#nodes.get({ namespace: '', name: pod.spec.nodeName ?? '' }));
    const plan = planEviction(pod.spec.tolerations ?? [], taints);
    if (plan.kind === 'stay' || pod.metadata.deletionTimestamp !== undefined) {
      if (entry !== undefined) this.#cancel(key, entry);
      return undefined;
    }
    const { clock } = this.#options;
    if (plan.kind === 'leaveAfter') {
      const sinceMs =
        entry?.kind === 'waiting' ? entry.sinceMs : clock.monotonicMs() - stoodForMs(pod, taints, clock.nowMs());
      const leftMs = sinceMs + plan.stayMs - clock.monotonicMs();
      if (leftMs > 0) {
        this.#entries.set(key, { kind: 'waiting', pod, sinceMs });
        return leftMs;
      }
    }
    await this.#evict(key, pod, entry);
    return undefined;
  }

  async #evict(key: string, pod: Pod, entry: Entry | undefined): Promise<void> {
    const { client, clock } = this.#options;
    if (entry?.kind !== 'leaving') {
      this.#entries.set(key, { kind: 'leaving', pod });
      this.#recorder.event(pods, pod, {
        type: 'Normal',
        reason: 'TaintManagerEviction',
        message: `Marking for deletion Pod ${key}`,
      });
    }
    const said = { reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint' };
    await deleteDisrupted(client, pod, said, clock.nowMs());
  }

  #cancel(key: string, entry: Entry): void {
    this.#entries.delete(key);
    if (entry.kind === 'waiting')
      this.#recorder.event(pods, entry.pod, {
        type: 'Normal',
        reason: 'TaintManagerEviction',
        message: `Cancelling deletion of Pod ${key}`,
      });
  }
}
