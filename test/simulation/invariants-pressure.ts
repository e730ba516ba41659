import type { Pod } from '../../src/api/core/pod.ts';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import { isCriticalPod } from '../../src/api/pod.ts';
import type { Kubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import { podUid } from '../../src/kubelet/model/ids.ts';
import type { PressureModel } from './pressure-model.ts';
import { TRANSITION_MS } from './pressure-model.ts';
import type { SimulatedNode } from './world.ts';

/** After evicting a pod, the agent waits this long before it evicts another one. */
const CLEANUP_MS = 30_000;

/** Checks each eviction and each pressure condition of a simulated node of a cluster. */
export class PressureInvariants {
  /** When each pod was evicted, by UID. */
  readonly evictedMs = new Map<string, number>();
  readonly #node: SimulatedNode;
  readonly #model: PressureModel;
  readonly #report: (message: string) => void;
  readonly #trace: (message: string) => void;
  /** When each condition of the node object last became true. */
  readonly #trueSinceMs = new Map<string, number>();
  #lastEndMs = -Infinity;

  constructor(
    node: SimulatedNode,
    model: PressureModel,
    { report, trace }: { report: (message: string) => void; trace: (message: string) => void },
  ) {
    this.#node = node;
    this.#model = model;
    this.#report = report;
    this.#trace = trace;
  }

  watch(kubelet: Kubelet): void {
    const { evicted } = kubelet.records;
    let known = new Set(Object.keys(evicted.snapshot()));
    evicted.onChange(() => {
      const now = Object.keys(evicted.snapshot());
      for (const uid of now.filter((each) => !known.has(each)))
        this.#judgeEviction(uid, kubelet.store.byUid(podUid(uid)));
      known = new Set(now);
    });
  }

  agentEnded(): void {
    this.#lastEndMs = this.#node.clock.monotonicMs();
  }

  /**
   * Checks that a condition of the node that became true stays true for the transition period, also when the agent
   * restarts.
   */
  checkConditions(): void {
    const nowMs = this.#node.clock.monotonicMs();
    const conditions = this.#node.api?.server.all(nodes)[0]?.status?.conditions ?? [];
    for (const { type, status } of conditions) {
      if (!type.endsWith('Pressure')) continue;
      const sinceMs = this.#trueSinceMs.get(type);
      if (status === 'True' && sinceMs === undefined) this.#trueSinceMs.set(type, nowMs);
      if (status === 'True' || sinceMs === undefined) continue;
      if (nowMs - sinceMs < TRANSITION_MS) this.#report(`${type} ended after ${nowMs - sinceMs} ms`);
      this.#trueSinceMs.delete(type);
      this.#trace(`${type} ended`);
    }
  }

  /** Checks the state after the transition period without any shortage. */
  checkEnd(): void {
    for (const pod of this.#node.api?.server.all(pods) ?? []) {
      const { uid, name } = pod.metadata;
      if (!this.evictedMs.has(uid)) continue;
      if (this.#model.isRunning(uid)) this.#report(`${name} was evicted and runs`);
      const { phase, reason, message = '' } = pod.status ?? {};
      if (phase !== 'Failed' || reason !== 'Evicted' || !message.startsWith('The node was low on resource'))
        this.#report(`${name} was evicted and is ${phase} ${reason} ${message}`);
    }
    if (this.#trueSinceMs.size > 0) this.#report(`${[...this.#trueSinceMs.keys()].join()} did not end`);
  }

  #judgeEviction(uid: string, pod: Pod | undefined): void {
    const nowMs = this.#node.clock.monotonicMs();
    const name = pod?.metadata.name ?? uid;
    this.#trace(`evicted ${name} ${uid.slice(0, 8)}`);
    if (pod === undefined || isCriticalPod(pod)) this.#report(`${name} was evicted though it is critical or unknown`);
    const { freeMemory, freeDisk, isShort } = this.#model;
    if (!isShort) this.#report(`${name} was evicted without a shortage: ${freeMemory} and ${freeDisk} are free`);
    const use = this.#model.uses.get(uid);
    if (use === undefined || (use.memoryBytes === 0 && use.diskBytes === 0))
      this.#report(`${name} was evicted and uses nothing`);
    for (const [other, atMs] of this.evictedMs)
      if (this.#model.isRunning(other) && nowMs - atMs < CLEANUP_MS && atMs > this.#lastEndMs)
        this.#report(`${name} was evicted while ${other.slice(0, 8)} was being cleaned up`);
    this.evictedMs.set(uid, nowMs);
  }
}
