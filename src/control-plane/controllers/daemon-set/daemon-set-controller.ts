import { nextBackoff } from '../../../base/backoff.ts';
import type { BackoffCurve, BackoffEntry } from '../../../base/backoff.ts';
import type { ControllerRevision } from '../../../api/apps/controller-revision.ts';
import type { DaemonSet } from '../../../api/apps/daemon-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { controllerRevisions, daemonSets, nodes, pods } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { claimObjects, ControlledIndex } from '../../controller-runtime/controller-ref.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { Expectations } from '../../controller-runtime/expectations.ts';
import { wakeOwners } from '../../controller-runtime/owner-events.ts';
import { PodControl } from '../../controller-runtime/pod-control.ts';
import { nextAvailableMs } from '../../controller-runtime/pod-facts.ts';
import { createQueueController } from '../../controller-runtime/queue-controller.ts';
import { UnseenObjects } from '../../controller-runtime/unseen-objects.ts';
import { slowStart } from '../../controller-runtime/slow-start.ts';
import { restOfSet } from '../../controller-runtime/rest-of-set.ts';
import { changesEligibility, NodeTable } from './daemon-nodes.ts';
import { planPlacement } from './daemon-plan.ts';
import type { DaemonFacts } from './daemon-plan.ts';
import { buildDaemonPod, targetNode } from './daemon-pods.ts';
import { DaemonRevisions } from './daemon-revisions.ts';
import { planRollout } from './daemon-rollout.ts';
import { computeDaemonStatus, isSameStatus } from './daemon-status.ts';

/** The number of concurrent syncs (upstream: --concurrent-daemonset-syncs). */
const WORKERS = 2;
/** The maximum number of pods created or deleted in one pass (upstream: BurstReplicas). */
const BURST = 250;
/**
 * The back-off before a failed pod of a node is replaced: one second to fifteen minutes, reset after twice that time.
 */
const failedCurve: BackoffCurve = { initialMs: 1_000, maxMs: 900_000, factor: 2 };

/** Keeps one pod of each DaemonSet on each matching node. */
export function createDaemonSetController(options: ControllerOptions): Controller {
  const { informers, clock } = options;
  const revisions = informers.for(controllerRevisions);
  const sets = informers.for(daemonSets);
  const nodeInformer = informers.for(nodes);
  const parts: Parts = {
    sets,
    revisions,
    unseenRevisions: new UnseenObjects(revisions, clock),
    podInformer: informers.for(pods),
    nodeInformer,
    expectations: new Expectations(clock),
    table: new NodeTable(sets, nodeInformer),
  };
  const syncer = new DaemonSetSyncer(options, parts);
  return createQueueController(options, {
    name: 'daemonset',
    workers: WORKERS,
    syncer,
    informers: [parts.sets, parts.revisions, parts.podInformer, parts.nodeInformer],
    follow: (add) => [
      wakeOwners({ owners: parts.sets, dependents: parts.podInformer, expectations: parts.expectations, add }),
      // A revision that another client adds may be removed again before the next pass (upstream: addHistory).
      wakeOwners({ owners: parts.sets, dependents: parts.revisions, add, wakesWhenAdded: false }),
      wakeByNodes(parts, add),
      parts.unseenRevisions.observe(),
      () => parts.table.stop(),
    ],
  });
}

interface Parts {
  readonly sets: Informer<DaemonSet>;
  readonly revisions: Informer<ControllerRevision>;
  readonly unseenRevisions: UnseenObjects<ControllerRevision>;
  readonly podInformer: Informer<Pod>;
  readonly nodeInformer: Informer<Node>;
  readonly expectations: Expectations;
  readonly table: NodeTable;
}

/** Wakes daemon sets when a node becomes eligible or ineligible for them. Heartbeats wake none. */
function wakeByNodes({ sets, nodeInformer, table }: Parts, add: (key: string) => void): () => void {
  const wake = (before: Node | undefined, after: Node | undefined): void => {
    for (const set of sets.list()) {
      const of = (node: Node | undefined): string =>
        node === undefined ? 'none' : JSON.stringify(table.for(set).eligibility.of(node));
      if (of(before) !== of(after)) add(formatKey(keyOf(set)));
    }
  };
  return nodeInformer.addHandlers({
    onAdd: (node) => wake(undefined, node),
    onUpdate: (before, after) => {
      if (changesEligibility(before, after)) wake(before, after);
    },
    onDelete: (node) => wake(node, undefined),
  });
}

class DaemonSetSyncer {
  readonly #options: ControllerOptions;
  readonly #parts: Parts;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl<DaemonSet>;
  readonly #podIndex: ControlledIndex<Pod>;
  readonly #revisionIndex: ControlledIndex<ControllerRevision>;
  readonly #revisions: DaemonRevisions;
  /** The back-offs by daemon set, generation and node. They are dropped with their daemon set. */
  readonly #failed = new Map<string, Map<string, BackoffEntry>>();

  constructor(options: ControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...options, component: 'daemonset-controller' });
    this.#podControl = new PodControl({
      client: options.client,
      recorder: this.#recorder,
      informer: parts.podInformer,
      expectations: parts.expectations,
      type: daemonSets,
    });
    this.#podIndex = new ControlledIndex(parts.podInformer);
    this.#revisionIndex = new ControlledIndex(parts.revisions);
    this.#revisions = new DaemonRevisions(options.client, parts.unseenRevisions);
  }

  /** Returns the pause between passes. A pass reads every pod and node of the set. */
  restMs(key: string): number {
    const { sets, table } = this.#parts;
    const daemonSet = sets.getByKey(key);
    return daemonSet === undefined
      ? 0
      : restOfSet(Math.max(this.#podIndex.countOf(daemonSet), table.for(daemonSet).starting.size));
  }

  async sync(key: string): Promise<number | undefined> {
    const { sets, expectations } = this.#parts;
    const daemonSet = sets.getByKey(key);
    if (daemonSet === undefined) {
      expectations.forget(key);
      this.#failed.delete(key);
      return undefined;
    }
    const { matchLabels, matchExpressions } = daemonSet.spec.selector;
    if (semanticEqual(matchLabels, {}) && semanticEqual(matchExpressions, [])) {
      const message = 'This daemon set is selecting all pods. A non-empty selector is required.';
      this.#recorder.event(daemonSets, daemonSet, { type: 'Warning', reason: 'SelectingAll', message });
      return undefined;
    }
    // Its dependents may be deleted or orphaned, so the state of the set is unknown.
    if (daemonSet.metadata.deletionTimestamp !== undefined) return undefined;
    const mine = (): readonly Pod[] => this.#podIndex.ofOwner(daemonSet);
    const { hash, old } = await this.#revisions.settle(daemonSet, this.#revisionIndex.claimable(daemonSet), mine);
    const claimed = await this.#claim(daemonSet);
    const facts = this.#factsOf(daemonSet, claimed, hash);
    const waitMs = expectations.waitMs(key);
    const retryMs = waitMs > 0 ? waitMs : await this.#manage(key, facts);
    if (waitMs === 0) await this.#revisions.forget(daemonSet, old, claimed);
    await this.#writeStatus(facts, waitMs === 0);
    return earliest(retryMs, nextAvailableMs(claimed, daemonSet.spec.minReadySeconds ?? 0, facts.nowMs));
  }

  async #claim(daemonSet: DaemonSet): Promise<Pod[]> {
    const objects = this.#podIndex.claimable(daemonSet);
    return await claimObjects({
      client: this.#options.client,
      ownerType: daemonSets,
      owner: daemonSet,
      selector: daemonSet.spec.selector,
      type: pods,
      objects,
    });
  }

  #factsOf(daemonSet: DaemonSet, claimed: readonly Pod[], hash: string): DaemonFacts {
    const { nodeInformer, table } = this.#parts;
    const podsByNode = new Map<string, Pod[]>();
    for (const pod of claimed) {
      const name = isTerminalPod(pod) && pod.metadata.deletionTimestamp !== undefined ? undefined : targetNode(pod);
      if (name === undefined) continue;
      const known = podsByNode.get(name);
      if (known === undefined) podsByNode.set(name, [pod]);
      else known.push(pod);
    }
    // This is a copy, because a pass decides by the state at its beginning.
    const { starting, eligibility } = table.for(daemonSet);
    const nodeOf = (name: string): Node | undefined => nodeInformer.get({ namespace: '', name });
    return {
      daemonSet,
      nodes: { get: nodeOf, has: (name) => nodeOf(name) !== undefined },
      starting: new Map(starting),
      eligibility,
      podsByNode,
      hash,
      nowMs: this.#options.clock.nowMs(),
    };
  }

  /**
   * Corrects the placement and then continues the rollout. Returns the delay of the next pass in milliseconds, if
   * known.
   */
  async #manage(key: string, facts: DaemonFacts): Promise<number | undefined> {
    const placement = planPlacement(facts, (nodeName) => this.#failedPodDelay(key, facts.daemonSet, nodeName));
    for (const pod of placement.ended) this.#reportEnded(facts.daemonSet, pod);
    const settled = placement.create.length === 0 && placement.delete.length === 0;
    const rolls = settled && facts.daemonSet.spec.updateStrategy?.type !== 'OnDelete';
    const plan = rolls ? planRollout(facts) : placement;
    const failure = await this.#perform(key, facts, plan);
    if (failure !== undefined) {
      await this.#writeStatus(facts, true);
      throw failure;
    }
    return placement.retryMs;
  }

  #failedPodDelay(key: string, { metadata }: DaemonSet, nodeName: string): number {
    let entries = this.#failed.get(key);
    if (entries === undefined) this.#failed.set(key, (entries = new Map<string, BackoffEntry>()));
    const name = `${metadata.uid}/${metadata.generation}/${nodeName}`;
    const nowMs = this.#options.clock.monotonicMs();
    const entry = entries.get(name);
    if (entry !== undefined && nowMs - entry.lastUpdateMs < entry.delayMs)
      return entry.delayMs - (nowMs - entry.lastUpdateMs);
    for (const each of entries.keys())
      if (!each.startsWith(`${metadata.uid}/${metadata.generation}/`)) entries.delete(each);
    entries.set(name, nextBackoff(failedCurve, entry, nowMs, 2 * failedCurve.maxMs));
    return 0;
  }

  #reportEnded(daemonSet: DaemonSet, pod: Pod): void {
    const where = `daemon pod ${formatKey(keyOf(pod))} on node ${targetNode(pod) ?? ''}`;
    const failed = pod.status?.phase === 'Failed';
    const message = failed
      ? `Found failed ${where}, will try to kill it`
      : `Found succeeded ${where}, will try to delete it`;
    this.#recorder.event(daemonSets, daemonSet, {
      type: failed ? 'Warning' : 'Normal',
      reason: failed ? 'FailedDaemonPod' : 'SucceededDaemonPod',
      message,
    });
  }

  async #perform(
    key: string,
    { daemonSet, hash }: DaemonFacts,
    plan: { readonly create: readonly string[]; readonly delete: readonly Pod[] },
  ): Promise<unknown> {
    const create = plan.create.slice(0, BURST);
    const made = await slowStart(create.length, 1, (index) =>
      this.#podControl.create(key, daemonSet, buildDaemonPod(daemonSet, hash, create[index] ?? '')),
    );
    const deleted = await Promise.allSettled(
      plan.delete.slice(0, BURST).map((pod) => this.#podControl.delete(key, daemonSet, pod)),
    );
    return made.error ?? deleted.find((result) => result.status === 'rejected')?.reason;
  }

  async #writeStatus(facts: DaemonFacts, handled: boolean): Promise<void> {
    const { daemonSet } = facts;
    const status = computeDaemonStatus(facts, handled);
    if (isSameStatus(daemonSet.status, status)) return;
    await this.#options.client.update(daemonSets, { ...daemonSet, status }, { subresource: 'status' });
  }
}

function earliest(left: number | undefined, right: number | undefined): number | undefined {
  return left === undefined || right === undefined ? (left ?? right) : Math.min(left, right);
}
