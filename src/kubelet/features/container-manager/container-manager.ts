import type { Pod } from '../../../api/core/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { sleep, type Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { CgroupLimits, Cgroups } from '../../ports/cgroups.ts';
import { computePodLimits, computeQosShares, podCgroupName, podUidOfCgroup, qosGroups, type QosGroups, type QosTreeConfig } from './qos-tree.ts';

export interface ContainerManagerOptions {
  cgroups: Cgroups;
  clock: Clock;
  random: Random;
  log: Logger;
  config: QosTreeConfig;
  /** Limits of all pods together (node allocatable without the eviction part). */
  rootLimits: CgroupLimits;
  /** The pods that are to run now. */
  activePods: () => readonly Pod[];
}

export interface PodCgroup {
  /** What the sandbox gets as cgroup_parent; empty when pods are not grouped. */
  cgroupParent: string;
  /** false when it had to be made now: on a pod with running containers a sign that somebody removed it. */
  existed: boolean;
}

/** Upstream: qos_container_manager_linux.go, 1 min. */
const QOS_UPDATE_PERIOD_MS = 60_000;
/** Processes that were killed need a moment to leave their cgroup. */
const REMOVE_RETRY_MS = [5, 10, 20, 40, 80, 160, 320] as const;

/**
 * The cgroups of pods and of their classes.
 * 1. A pod's group exists before its sandbox and is removed after its last container; removing one that is gone is success.
 * 2. Class shares follow the set of pods: woken by each change, re-written each minute in case somebody else wrote.
 * 3. An agent that may not make cgroups says so once and leaves it to the runtime, which makes its own below the name it is given.
 */
export class ContainerManager {
  readonly #options: ContainerManagerOptions;
  readonly #groups: QosGroups | undefined;
  readonly #loop: Loop;
  readonly #names = new Map<PodUid, string>();
  readonly #removing = new Map<PodUid, Promise<void>>();
  #mayWrite = true;
  /** Shares of the burstable class as they were last written. */
  #writtenShares: number | undefined;
  #orphansLeft = 0;

  constructor(options: ContainerManagerOptions) {
    this.#options = options;
    this.#groups = qosGroups(options.config);
    this.#loop = createLoop({
      name: 'qos cgroups',
      clock: options.clock,
      random: options.random,
      log: options.log,
      periodMs: QOS_UPDATE_PERIOD_MS,
      pass: () => this.#updateShares(),
    });
  }

  /** Makes the class groups. Never rejects: a node without writable cgroups still runs pods. */
  async start(): Promise<void> {
    const groups = this.#groups;
    if (groups === undefined) return;
    const { cgroups, log, rootLimits, activePods } = this.#options;
    try {
      await cgroups.ensure(groups.guaranteed, rootLimits);
      const shares = computeQosShares(activePods());
      await Promise.all([cgroups.ensure(groups.burstable, { cpuShares: shares.burstable }), cgroups.ensure(groups.bestEffort, { cpuShares: shares.bestEffort })]);
      this.#loop.start();
    } catch (error) {
      this.#mayWrite = false;
      log.warn('pod cgroups cannot be managed, the runtime makes its own without pod limits', { cgroup: groups.guaranteed, error: errorMessage(error) });
    }
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Monotonic time of the last successful pass over the class shares, for health. */
  lastSuccessMs(): number | undefined {
    return this.#loop.lastSuccessMs();
  }

  /** The set of pods or their requests changed. */
  podsChanged(): void {
    // Most changes touch no share, and a pass looks into every hierarchy.
    if (this.#mayWrite && this.#groups !== undefined && computeQosShares(this.#options.activePods()).burstable !== this.#writtenShares) this.#loop.wake();
  }

  /** Makes the pod's group with its limits if it is not there. One that is there is left as it is (upstream: EnsureExists). */
  async ensurePodCgroup(pod: Pod): Promise<PodCgroup> {
    if (this.#groups === undefined) return { cgroupParent: '', existed: true };
    const uid = podUid(pod.metadata.uid);
    const name = podCgroupName(this.#groups, podQos(pod), uid);
    const cgroupParent = this.#options.cgroups.runtimeParent(name);
    await this.#removing.get(uid);
    this.#names.set(uid, name);
    if (!this.#mayWrite) return { cgroupParent, existed: true };
    if (await this.#options.cgroups.exists(name)) return { cgroupParent, existed: true };
    await this.#options.cgroups.ensure(name, computePodLimits(pod, this.#options.config));
    this.podsChanged();
    return { cgroupParent, existed: false };
  }

  /** Kills what is left in it and removes it. Conflict when processes do not go: call again later. Calls for one pod are one. */
  removePodCgroup(uid: PodUid): Promise<void> {
    const before = this.#removing.get(uid);
    if (before !== undefined) return before;
    const removal = this.#remove(uid).finally(() => this.#removing.delete(uid));
    this.#removing.set(uid, removal);
    return removal;
  }

  async listPodCgroups(): Promise<Map<PodUid, string>> {
    const found = new Map<PodUid, string>();
    if (this.#groups === undefined) return found;
    const parents = [this.#groups.guaranteed, this.#groups.burstable, this.#groups.bestEffort];
    const children = await Promise.all(parents.map((parent) => this.#options.cgroups.children(parent)));
    for (const [index, parent] of parents.entries()) {
      for (const child of children[index] ?? []) {
        const uid = podUidOfCgroup(child);
        if (uid !== undefined) found.set(uid, `${parent}/${child}`);
      }
    }
    return found;
  }

  /** Removes groups of pods that nobody knows. Resolves to how many are left; says so only when that number changes. */
  async cleanupOrphans(known: Pick<ReadonlySet<PodUid>, 'has'>): Promise<number> {
    const orphans = [...(await this.listPodCgroups())].filter(([uid]) => !known.has(uid));
    const results = await Promise.allSettled(
      orphans.map(([uid, name]) => {
        this.#names.set(uid, name);
        return this.removePodCgroup(uid);
      }),
    );
    const failed = results.filter((result) => result.status === 'rejected');
    if (failed.length !== this.#orphansLeft) {
      this.#orphansLeft = failed.length;
      if (failed[0] !== undefined) this.#options.log.warn('cgroups of vanished pods cannot be removed', { count: failed.length, error: errorMessage(failed[0].reason) });
      else this.#options.log.info('all cgroups of vanished pods are removed');
    }
    return failed.length;
  }

  async #remove(uid: PodUid): Promise<void> {
    const { cgroups, clock } = this.#options;
    const name = this.#names.get(uid) ?? (await this.listPodCgroups()).get(uid);
    if (name === undefined) return;
    for (const delayMs of [...REMOVE_RETRY_MS, undefined]) {
      try {
        await cgroups.remove(name);
        this.#names.delete(uid);
        this.podsChanged();
        return;
      } catch (error) {
        if (delayMs === undefined || !isKind(error, 'Conflict')) throw error;
        await cgroups.kill(name);
        await sleep(clock, delayMs);
      }
    }
  }

  async #updateShares(): Promise<void> {
    const groups = this.#groups;
    if (groups === undefined || !this.#mayWrite) return;
    const { cgroups, activePods, rootLimits } = this.#options;
    const shares = computeQosShares(activePods());
    const wanted = [
      [groups.burstable, shares.burstable],
      [groups.bestEffort, shares.bestEffort],
    ] as const;
    for (const [name, cpuShares] of wanted) {
      try {
        await cgroups.update(name, { cpuShares });
      } catch (error) {
        if (!isKind(error, 'NotFound')) throw error;
        // Somebody removed it; pods below it are gone with it and will be made again by their own sync.
        await cgroups.ensure(groups.guaranteed, rootLimits);
        await cgroups.ensure(name, { cpuShares });
      }
    }
    this.#writtenShares = shares.burstable;
  }
}
