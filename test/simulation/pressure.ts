import type { Pod } from '../../src/api/core/pod.ts';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import { isCriticalPod } from '../../src/api/pod.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import { ModelNode } from '../../src/kubelet/features/stats/testing/model-node.ts';
import { podUid } from '../../src/kubelet/model/ids.ts';
import type { FsUse, GroupLimits, GroupUse, NodeStatsSources } from '../../src/kubelet/ports/stats.ts';
import { between, chance, pick } from './manifests.ts';
import { IMAGES, NODE_NAME, SimulatedNode } from './world.ts';

const GiB = 2 ** 30;
const MEMORY_BYTES = 8 * GiB;
const THRESHOLD_BYTES = GiB;
const DISK_BYTES = 100 * GiB;
const DISK_THRESHOLD = 0.1;
const TRANSITION_MS = 60_000;
/** The agent waits this long for an evicted pod before it evicts another. */
const CLEANUP_MS = 30_000;

interface Use {
  memoryBytes: number;
  diskBytes: number;
}

/** What the pods of the simulated machine use, as the kernel and the disks count it. Only what runs uses memory. */
class PressureModel extends ModelNode {
  readonly uses = new Map<string, Use>();
  readonly #node: () => SimulatedNode;

  constructor(node: () => SimulatedNode) {
    super(() => node().clock.nowMs());
    this.#node = node;
  }

  isRunning(uid: string): boolean {
    return this.#containers(uid).length > 0;
  }

  get freeMemory(): number {
    return MEMORY_BYTES - GiB / 2 - this.#sum(({ memoryBytes }) => memoryBytes, true);
  }

  get freeDisk(): number {
    return DISK_BYTES * 0.6 - this.#sum(({ diskBytes }) => diskBytes, false);
  }

  override use(path: string): GroupUse | undefined {
    const uid = /\/pod([^/]+)/.exec(path)?.[1];
    if (uid !== undefined && !this.isRunning(uid)) return undefined;
    const bytes =
      uid !== undefined
        ? (this.uses.get(uid)?.memoryBytes ?? 0)
        : path === '/'
          ? MEMORY_BYTES - this.freeMemory
          : MEMORY_BYTES - GiB / 2 - this.freeMemory;
    const own = super.use('/');
    return own === undefined ? undefined : { ...own, memory: { ...own.memory, workingSetBytes: bytes } };
  }

  override limits(): GroupLimits | undefined {
    return super.limits('/');
  }

  override children(path: string): string[] {
    const uid = /\/pod([^/]+)$/.exec(path)?.[1];
    return uid === undefined ? [] : [...this.#containers(uid), ...this.#sandboxes(uid)];
  }

  override fileSystem(): Promise<FsUse> {
    const availableBytes = this.freeDisk;
    const atMs = this.#node().clock.nowMs();
    return Promise.resolve({
      atMs,
      capacityBytes: DISK_BYTES,
      availableBytes,
      freeBytes: availableBytes,
      inodes: 1e6,
      inodesFree: 9e5,
    });
  }

  override sources(): NodeStatsSources {
    return {
      groups: this,
      fs: this,
      runtime: {
        writableLayers: () =>
          Promise.resolve(
            new Map(
              this.#node()
                .runtime.containers()
                .map(({ id, sandbox }) => [
                  id,
                  { atMs: 0, usedBytes: this.uses.get(sandbox.config.uid)?.diskBytes ?? 0, inodesUsed: 1 },
                ]),
            ),
          ),
        imageFs: () => Promise.resolve({ atMs: 0, usedBytes: 0, inodesUsed: 0, mountpoint: '/var/lib/images' }),
      },
      machine: {
        machineId: 'm',
        systemUuid: 's',
        bootId: 'b',
        osVersion: '',
        kernelVersion: '',
        bootedAtMs: 0,
        cores: 4,
        physicalCores: 4,
        sockets: 1,
        memoryBytes: MEMORY_BYTES,
        swapBytes: 0,
      },
      agentGroup: undefined,
      runtimeGroup: undefined,
    };
  }

  #containers(uid: string): string[] {
    return this.#node()
      .runtime.containers(uid)
      .filter(({ state, dead }) => state === 'running' && dead !== true)
      .map(({ id }) => id);
  }

  #sandboxes(uid: string): string[] {
    return this.#node()
      .runtime.sandboxes(uid)
      .map(({ id }) => id);
  }

  /** The layer of a dead container stays until it is collected. */
  #sum(of: (use: Use) => number, runningOnly: boolean): number {
    return [...this.uses].reduce((sum, [uid, use]) => {
      const counts = runningOnly ? this.isRunning(uid) : this.#node().runtime.containers(uid).length > 0;
      return counts ? sum + of(use) : sum;
    }, 0);
  }
}

/** A node of a cluster whose pods grow until it runs short, under agents that are killed. */
export class PressureScenario {
  readonly node: SimulatedNode;
  readonly model: PressureModel;
  readonly random: Random;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly evictedMs = new Map<string, number>();
  /** When each condition of the node object last became true. */
  readonly #trueSinceMs = new Map<string, number>();
  #lastEndMs = -Infinity;
  #count = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.model = new PressureModel(() => this.node);
    this.node = new SimulatedNode({
      seed,
      cluster: true,
      stats: this.model.sources(),
      config: {
        evictionHard: { 'memory.available': '1Gi', 'nodefs.available': '10%' },
        evictionSoft: { 'memory.available': '2Gi' },
        evictionSoftGracePeriod: { 'memory.available': '20s' },
        evictionMaxPodGracePeriod: 10,
        evictionPressureTransitionPeriod: `${TRANSITION_MS / 1000}s`,
        enforceNodeAllocatable: ['none'],
      },
    });
    this.node.onAgent = (_agent, kubelet) => {
      const { evicted } = kubelet.records;
      let known = new Set(Object.keys(evicted.snapshot()));
      evicted.onChange(() => {
        const now = Object.keys(evicted.snapshot());
        for (const uid of now.filter((each) => !known.has(each)))
          this.#judgeEviction(uid, kubelet.store.byUid(podUid(uid)));
        known = new Set(now);
      });
    };
    this.node.onAgentEnd = () => (this.#lastEndMs = this.node.clock.monotonicMs());
  }

  async run(steps: number): Promise<void> {
    this.node.start();
    await this.advance(2000);
    for (let step = 0; step < steps; step++) {
      this.#act();
      await this.advance(chance(this.random, 0.5) ? between(this.random, 1, 400) : between(this.random, 1000, 30_000));
    }
    if (this.node.agent === undefined) this.node.start();
    for (const use of this.model.uses.values()) Object.assign(use, { memoryBytes: 1, diskBytes: 1 });
    await this.advance(3 * TRANSITION_MS);
    this.#judgeEnd();
    await this.node.terminate();
  }

  /** In pieces, so that conditions are seen. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= 500) {
      await this.node.clock.advance(Math.min(500, left));
      this.#judgeConditions();
    }
    this.node.forgetCalls();
    if (this.node.api !== undefined) this.node.api.server.calls.length = 0;
  }

  report(message: string): void {
    this.violations.push(`${(this.node.clock.monotonicMs() / 1000).toFixed(3)} ${message}`);
  }

  #act(): void {
    const uids = [...this.model.uses.keys()];
    const kind = this.random.next();
    if (kind < 0.35 || uids.length === 0) this.#addPod();
    else if (kind < 0.85) {
      const uid = pick(this.random, uids);
      const grown = {
        memoryBytes: between(this.random, 0, 3000) * 2 ** 20,
        diskBytes: chance(this.random, 0.3) ? between(this.random, 0, 30) * GiB : 0,
      };
      this.model.uses.set(uid, grown);
      this.trace.push(`${this.node.clock.monotonicMs()} ${uid.slice(0, 8)} uses ${JSON.stringify(grown)}`);
    } else {
      this.node.kill();
      this.node.start();
    }
  }

  #addPod(): void {
    const api = this.node.api;
    if (api === undefined) return;
    const pod = buildPod({
      'metadata.name': `pod-${++this.#count}`,
      'metadata.uid': '',
      'spec.nodeName': NODE_NAME,
      'spec.priority': chance(this.random, 0.2) ? 2_000_000_000 : between(this.random, 0, 2),
      'spec.terminationGracePeriodSeconds': between(this.random, 0, 60),
      'spec.containers': [
        {
          name: 'main',
          image: pick(this.random, IMAGES),
          command: ['simulate'],
          args: [JSON.stringify({ stopMs: between(this.random, 1, 5000), ignoresTerm: chance(this.random, 0.2) })],
          resources: { requests: { memory: `${between(this.random, 1, 500)}Mi` } },
        },
      ],
    });
    this.model.uses.set(api.server.seed(pods, pod).metadata.uid, { memoryBytes: 50 * 2 ** 20, diskBytes: 0 });
  }

  #judgeEviction(uid: string, pod: Pod | undefined): void {
    const nowMs = this.node.clock.monotonicMs();
    const name = pod?.metadata.name ?? uid;
    this.trace.push(`${nowMs} evicted ${name} ${uid.slice(0, 8)}`);
    if (pod === undefined || isCriticalPod(pod)) this.report(`${name} was evicted though it is critical or unknown`);
    const { freeMemory, freeDisk } = this.model;
    if (freeMemory >= 2 * THRESHOLD_BYTES && freeDisk >= DISK_BYTES * DISK_THRESHOLD)
      this.report(`${name} was evicted without a shortage: ${freeMemory} and ${freeDisk} are free`);
    const use = this.model.uses.get(uid);
    if (use === undefined || (use.memoryBytes === 0 && use.diskBytes === 0))
      this.report(`${name} was evicted and uses nothing`);
    for (const [other, atMs] of this.evictedMs)
      if (this.model.isRunning(other) && nowMs - atMs < CLEANUP_MS && atMs > this.#lastEndMs)
        this.report(`${name} was evicted while ${other.slice(0, 8)} was being cleaned up`);
    this.evictedMs.set(uid, nowMs);
  }

  /** A condition of the node object that became true stays so for the transition period, also across agents. */
  #judgeConditions(): void {
    const nowMs = this.node.clock.monotonicMs();
    const conditions = this.node.api?.server.all(nodes)[0]?.status?.conditions ?? [];
    for (const { type, status } of conditions) {
      if (!type.endsWith('Pressure')) continue;
      const sinceMs = this.#trueSinceMs.get(type);
      if (status === 'True' && sinceMs === undefined) this.#trueSinceMs.set(type, nowMs);
      if (status === 'True' || sinceMs === undefined) continue;
      if (nowMs - sinceMs < TRANSITION_MS) this.report(`${type} ended after ${nowMs - sinceMs} ms`);
      this.#trueSinceMs.delete(type);
      this.trace.push(`${nowMs} ${type} ended`);
    }
  }

  #judgeEnd(): void {
    const api = this.node.api;
    for (const pod of api?.server.all(pods) ?? []) {
      const { uid, name } = pod.metadata;
      if (!this.evictedMs.has(uid)) continue;
      if (this.model.isRunning(uid)) this.report(`${name} was evicted and runs`);
      const { phase, reason, message = '' } = pod.status ?? {};
      if (phase !== 'Failed' || reason !== 'Evicted' || !message.startsWith('The node was low on resource'))
        this.report(`${name} was evicted and is ${phase} ${reason} ${message}`);
    }
    if (this.#trueSinceMs.size > 0) this.report(`${[...this.#trueSinceMs.keys()].join()} did not end`);
  }
}
