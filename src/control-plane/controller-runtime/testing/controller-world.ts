import { silentLogger } from '../../../base/log.ts';
import type { Logger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import type { Random } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createInformers } from '../../../api/client/informer.ts';
import type { Informers } from '../../../api/client/informer.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { events, nodes, pods } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { formatTime, parseTime } from '../../../api/time.ts';
import type { Controller, ControllerOptions } from '../controller.ts';
import { KillableClient } from './killable-client.ts';

/** The state that fake kubelets give a pod: `waiting` is bound and not running. */
export type PodOutcome = 'waiting' | 'running' | 'ready' | 'succeeded' | 'failed';

export interface WorldOptions {
  readonly seed?: number;
  readonly make: (options: ControllerOptions) => Controller[];
  /** Types of owners whose dependents are deleted with them. */
  readonly owners?: readonly ResourceType[];
  /** The state of a pod after this time on its node. Absent: ready immediately. */
  readonly outcome?: (pod: Pod, ageMs: number) => PodOutcome;
  /** The maximum delay of watch events. */
  readonly lagMs?: number;
  readonly log?: Logger;
  /** Seconds that a pod takes to terminate. Default one. */
  readonly leavingMs?: number;
}

interface Life {
  readonly client: KillableClient;
  readonly controllers: Controller[];
  readonly informers: Informers;
}

const STEP_MS = 500;

/**
 * A cluster in virtual time: an API server in memory, nodes that run pods, a garbage collector, and the controllers
 * under test, which may be killed at any write.
 */
export class ControllerWorld {
  readonly clock = new FakeClock();
  readonly random: Random;
  readonly api: FakeApiClient;
  outcome: (pod: Pod, ageMs: number) => PodOutcome;
  /** Called after every step, and whenever the server has stored something for a controller. */
  check: () => void = () => undefined;
  readonly #options: WorldOptions;
  #life: Life | undefined;
  #dieIn = Infinity;
  #starts = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    this.random = seededRandom(options.seed ?? 1);
    const lag = seededRandom((options.seed ?? 1) + 7919);
    const { lagMs = 0 } = options;
    this.api = new FakeApiClient({
      clock: this.clock,
      random: seededRandom((options.seed ?? 1) + 104_729),
      watchLagMs: () => Math.floor(lag.next() * lagMs),
    });
    this.outcome = options.outcome ?? (() => 'ready');
  }

  start(): void {
    this.#starts++;
    const client = new KillableClient(this.api, (when) => {
      this.check();
      if (this.#dieIn === Infinity) return;
      this.#dieIn -= 0.5;
      if (this.#dieIn <= 0 && (when === 'after' || this.random.next() < 0.5)) this.restart();
    });
    const base = {
      client,
      clock: this.clock,
      random: seededRandom(this.#starts),
      log: this.#options.log ?? silentLogger,
    };
    const informers = createInformers(base);
    const controllers = this.#options.make({ ...base, informers });
    this.#life = { client, controllers, informers };
    for (const controller of controllers) controller.start();
    informers.start();
  }

  /** Kills the controllers at this point and starts new ones without state. */
  restart(): void {
    this.#dieIn = Infinity;
    const life = this.#life;
    life?.client.die();
    // Its calls never return, so do not wait for it. Its timers end.
    for (const controller of life?.controllers ?? []) void controller.stop();
    void life?.informers.stop();
    this.start();
  }

  /** Kills them at their `writes`-th write from now, before or after it takes effect. */
  restartAtWrite(writes: number): void {
    this.#dieIn = writes;
  }

  async stop(): Promise<void> {
    this.#dieIn = Infinity;
    await Promise.all((this.#life?.controllers ?? []).map((controller) => controller.stop()));
    await this.#life?.informers.stop();
  }

  addNode(
    name: string,
    more: { labels?: Record<string, string>; taints?: NonNullable<Node['spec']>['taints'] } = {},
  ): Node {
    const labels = { 'kubernetes.io/hostname': name, ...more.labels };
    return this.api.seed(nodes, {
      metadata: { name, namespace: '', uid: '', labels },
      spec: { ...(more.taints !== undefined && { taints: more.taints }) },
    });
  }

  /** Advances time, including the work of nodes and the garbage collector. */
  async run(forMs: number): Promise<void> {
    for (let leftMs = forMs; leftMs > 0; leftMs -= STEP_MS) {
      this.#collectGarbage();
      for (const pod of this.api.all(pods)) this.#runPod(pod);
      await this.clock.advance(Math.min(STEP_MS, leftMs));
      this.check();
    }
  }

  /** Reason and message of each event, in the order of their first time. */
  get events(): string[] {
    return this.api.all(events).map(({ type, reason, message }) => `${type} ${reason} ${message}`);
  }

  get activePods(): readonly Pod[] {
    return this.api.all(pods).filter((pod) => pod.metadata.deletionTimestamp === undefined && !isTerminalPod(pod));
  }

  #runPod(pod: Pod): void {
    const nowMs = this.clock.nowMs();
    if ((pod.spec.nodeName ?? '') === '') return isTerminalPod(pod) ? undefined : this.#bind(pod);
    const boundMs = parseTime(pod.status?.startTime) ?? nowMs;
    if (pod.metadata.deletionTimestamp !== undefined) return this.#leave(pod, nowMs);
    if (isTerminalPod(pod)) return;
    const outcome = this.outcome(pod, nowMs - boundMs);
    const phase = (
      { waiting: 'Pending', running: 'Running', ready: 'Running', succeeded: 'Succeeded', failed: 'Failed' } as const
    )[outcome];
    const ready = outcome === 'ready';
    const was = pod.status?.conditions?.find(({ type }) => type === 'Ready');
    const since = was?.status === (ready ? 'True' : 'False') ? was.lastTransitionTime : formatTime(nowMs);
    this.api.change(pods, keyOf(pod), (object) => ({
      ...object,
      status: {
        ...object.status,
        phase,
        startTime: formatTime(boundMs),
        conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: since }],
      } as Pod['status'],
    }));
  }

  /** The scheduler: the node in the pod's affinity, otherwise any. */
  #bind(pod: Pod): void {
    const wanted =
      pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms[0]
        ?.matchFields?.[0]?.values?.[0];
    const all = this.api.all(nodes).map(({ metadata }) => metadata.name);
    const nodeName = wanted ?? all[Math.floor(this.random.next() * all.length)] ?? 'node-0';
    if (pod.metadata.deletionTimestamp !== undefined || (wanted !== undefined && !all.includes(wanted))) return;
    this.api.change(pods, keyOf(pod), (object) => ({
      ...object,
      spec: { ...object.spec, nodeName },
      status: { ...object.status, phase: 'Pending' as const, startTime: formatTime(this.clock.nowMs()) },
    }));
  }

  #leave(pod: Pod, nowMs: number): void {
    const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
    const askedMs = (parseTime(pod.metadata.deletionTimestamp) ?? nowMs) - graceMs;
    if (nowMs - askedMs < Math.min(graceMs, this.#options.leavingMs ?? 1_000)) return;
    if ((pod.metadata.finalizers ?? []).length > 0) {
      const phase = isTerminalPod(pod) ? pod.status?.phase : 'Failed';
      this.api.change(pods, keyOf(pod), (object) => ({
        ...object,
        metadata: { ...object.metadata, deletionGracePeriodSeconds: 0 },
        status: { ...object.status, phase } as Pod['status'],
      }));
    } else this.api.remove(pods, keyOf(pod));
  }

  #collectGarbage(): void {
    const { owners = [] } = this.#options;
    const uids = new Set(owners.flatMap((type) => this.api.all(type).map(({ metadata }) => metadata.uid)));
    for (const type of [...owners, pods] as ResourceType[]) {
      for (const object of this.api.all(type))
        if (isLost(object, uids)) void this.api.delete(type, keyOf(object)).catch(() => undefined);
    }
  }
}

function isLost({ metadata }: ApiObject, owners: ReadonlySet<string>): boolean {
  const references = metadata.ownerReferences ?? [];
  return (
    references.length > 0 && metadata.deletionTimestamp === undefined && references.every(({ uid }) => !owners.has(uid))
  );
}
