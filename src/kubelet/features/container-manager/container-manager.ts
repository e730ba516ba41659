import type { Pod } from '../../../api/core/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { sleep, type Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import type { CgroupLimits, Cgroups, CgroupValues } from '../../ports/cgroups.ts';
import {
  computePodLimits,
  computeQosShares,
  podCgroupName,
  podUidOfCgroup,
  qosGroups,
  type QosGroups,
  type QosTreeConfig,
} from './qos-tree.ts';

export interface ContainerManagerOptions {
  cgroups: Cgroups;
  clock: Clock;
  random: Random;
  log: Logger;
  config: QosTreeConfig;
  /** Limits of all pods together (node allocatable without the eviction part); asked anew with each pass. */
  rootLimits: () => CgroupLimits;
  /** The limits of all pods together are in force now, or could not be set; told when that changes. */
  onRootLimits?: (outcome: { limits: CgroupLimits; problem?: string }) => void;
  /** The pods that are to run now, each with the resources it was granted. */
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
const AWAY_RETRY_MS = 2000;
/** Processes that were killed need a moment to leave their cgroup. */
const REMOVE_RETRY_MS = [5, 10, 20, 40, 80, 160, 320] as const;

/**
 * The cgroups of pods and of their classes.
 * 1. A pod's group exists before its sandbox and is removed after its last container; removing one that is gone is success.
 * 2. Class shares follow the set of pods: woken by each change, re-written each minute in case somebody else wrote.
 * 3. An agent that may not make cgroups says so once and leaves it to the runtime, which makes its own below the name it is given.
 * 4. Who makes them may be away (systemd, over D-Bus): that is no refusal. It is tried again, and pods wait for their groups meanwhile.
 */
export class ContainerManager {
  readonly #options: ContainerManagerOptions;
  readonly #groups: QosGroups | undefined;
  readonly #loop: Loop;
  readonly #names = new Map<PodUid, string>();
  /** The overhead that the groups made here count. */
  readonly #overheads = new Map<PodUid, string>();
  /** Pods whose group has, or had when this agent saw it first, its limits. */
  readonly #limited = new Set<PodUid>();
  readonly #removing = new Map<PodUid, Promise<void>>();
  #mayWrite = true;
  /** The class groups could not be made at the start. */
  #isAway = false;
  /** Shares of the burstable class as they were last written. */
  #writtenShares: number | undefined;
  #orphansLeft = 0;
  /** The limits in force, and what keeps others from being. */
  #rootLimits: string | undefined;
  #rootProblem: string | undefined;

  constructor(options: ContainerManagerOptions) {
    this.#options = options;
    this.#groups = qosGroups(options.config);
    this.#loop = createLoop({
      name: 'qos cgroups',
      clock: options.clock,
      random: options.random,
      log: options.log,
      periodMs: () => (this.#isAway ? AWAY_RETRY_MS : QOS_UPDATE_PERIOD_MS),
      pass: () => this.#updateShares(),
    });
  }

  /** Makes the class groups. Never rejects: a node without writable cgroups still runs pods. */
  async start(): Promise<void> {
    const groups = this.#groups;
    if (groups === undefined) return;
    const { log } = this.#options;
    try {
      await this.#makeClasses(groups);
      this.#loop.start();
    } catch (error) {
      if (isKind(error, 'Unavailable') || isKind(error, 'Timeout')) {
        this.#isAway = true;
        log.warn('the cgroups of the pod classes cannot be made yet; tried again', {
          cgroup: groups.guaranteed,
          error: errorMessage(error),
        });
        this.#loop.start();
        return;
      }
      this.#mayWrite = false;
      log.warn('pod cgroups cannot be managed, the runtime makes its own without pod limits', {
        cgroup: groups.guaranteed,
        error: errorMessage(error),
      });
    }
  }

  async #makeClasses(groups: QosGroups): Promise<void> {
    const { cgroups, activePods } = this.#options;
    await cgroups.ensure(groups.guaranteed, {});
    await this.#limitRoot(groups);
    const shares = computeQosShares(activePods());
    await Promise.all([
      cgroups.ensure(groups.burstable, { cpuShares: shares.burstable }),
      cgroups.ensure(groups.bestEffort, { cpuShares: shares.bestEffort }),
    ]);
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
    if (
      this.#mayWrite &&
      this.#groups !== undefined &&
      computeQosShares(this.#options.activePods()).burstable !== this.#writtenShares
    )
      this.#loop.wake();
  }

  /**
   * Makes the pod's group with its limits if it is not there. One that is there is left as it is (upstream: EnsureExists), unless the pod's overhead
   * changed, or nothing lives in it and this agent has not made it: whoever did may have died before it had limits.
   */
  async ensurePodCgroup(pod: Pod): Promise<PodCgroup> {
    if (this.#groups === undefined) return { cgroupParent: '', existed: true };
    const uid = podUid(pod.metadata.uid);
    const name = podCgroupName(this.#groups, podQos(pod), uid);
    const cgroupParent = this.#options.cgroups.runtimeParent(name);
    await this.#removing.get(uid);
    this.#names.set(uid, name);
    if (!this.#mayWrite) return { cgroupParent, existed: true };
    const overhead = canonicalOverhead(pod);
    const existed = await this.#options.cgroups.exists(name);
    if (!existed || (await this.#mayLackLimits(uid, name)))
      await this.#options.cgroups.ensure(name, computePodLimits(pod, this.#options.config));
    else if (await this.#lacksOverhead(pod, { uid, name, overhead }))
      await this.#options.cgroups.update(name, computePodLimits(pod, this.#options.config));
    this.#limited.add(uid);
    this.#overheads.set(uid, overhead);
    if (existed) return { cgroupParent, existed };
    this.podsChanged();
    return { cgroupParent, existed: false };
  }

  /** What lives in a group came after its limits. */
  async #mayLackLimits(uid: PodUid, name: string): Promise<boolean> {
    return !this.#limited.has(uid) && (await this.#options.cgroups.processes(name)).length === 0;
  }

  /**
   * A pod may learn its overhead after its group was made: when its runtime class comes later than the pod itself. Of a group that an earlier
   * agent made nobody knows what it counts; one that is too small is raised, and one that is larger may be shrinking with a resize.
   */
  async #lacksOverhead(
    pod: Pod,
    { uid, name, overhead }: { uid: PodUid; name: string; overhead: string },
  ): Promise<boolean> {
    const counted = this.#overheads.get(uid);
    if (counted !== undefined || pod.spec.overhead === undefined) return counted !== undefined && counted !== overhead;
    const { cpuShares, memoryBytes } = await this.#options.cgroups.read(name);
    const wanted = computePodLimits(pod, this.#options.config);
    return cpuShares < (wanted.cpuShares ?? 0) || (memoryBytes > 0 && memoryBytes < (wanted.memoryBytes ?? 0));
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
      if (failed[0] !== undefined)
        this.#options.log.warn('cgroups of vanished pods cannot be removed', {
          count: failed.length,
          error: errorMessage(failed[0].reason),
        });
      else this.#options.log.info('all cgroups of vanished pods are removed');
    }
    return failed.length;
  }

  /** A limit below what pods use already is refused by the kernel; that keeps no pod from running, and is tried again (upstream: enforceNodeAllocatableCgroups). */
  async #limitRoot(groups: QosGroups): Promise<void> {
    const { cgroups, log, onRootLimits } = this.#options;
    const limits = this.#options.rootLimits();
    const text = JSON.stringify(limits);
    if (this.#rootLimits === text) return;
    try {
      await cgroups.update(groups.guaranteed, limits);
      this.#rootLimits = text;
      this.#rootProblem = undefined;
      onRootLimits?.({ limits });
    } catch (error) {
      const problem = errorMessage(error);
      if (this.#rootProblem !== problem) {
        this.#rootProblem = problem;
        log.warn('the limits of all pods together cannot be set; tried again', {
          cgroup: groups.guaranteed,
          error: problem,
        });
        onRootLimits?.({ limits, problem });
      }
    }
  }

  /** What the pod's own cgroup says; undefined where none is kept (upstream: GetPodCgroupConfig, GetPodCgroupMemoryUsage). */
  async read(pod: Pod): Promise<CgroupValues | undefined> {
    const name = this.#mayWrite ? this.#nameOf(pod) : undefined;
    if (name === undefined) return undefined;
    try {
      return await this.#options.cgroups.read(name);
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** What the pod's resources lead to. */
  wanted(pod: Pod): CgroupLimits {
    return computePodLimits(pod, this.#options.config);
  }

  /** Other limits for a pod that runs. */
  async update(pod: Pod, limits: CgroupLimits): Promise<void> {
    const name = this.#nameOf(pod);
    if (name === undefined) return;
    await this.#options.cgroups.update(name, limits);
    this.podsChanged();
  }

  #nameOf(pod: Pod): string | undefined {
    return this.#groups === undefined ? undefined : podCgroupName(this.#groups, podQos(pod), podUid(pod.metadata.uid));
  }

  async #remove(uid: PodUid): Promise<void> {
    const { cgroups, clock } = this.#options;
    const name = this.#names.get(uid) ?? (await this.listPodCgroups()).get(uid);
    if (name === undefined) return;
    for (const delayMs of [...REMOVE_RETRY_MS, undefined]) {
      try {
        await cgroups.remove(name);
        this.#names.delete(uid);
        this.#overheads.delete(uid);
        this.#limited.delete(uid);
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
    const { cgroups, activePods } = this.#options;
    if (this.#isAway) {
      await this.#makeClasses(groups);
      this.#isAway = false;
    }
    await this.#limitRoot(groups);
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
        await cgroups.ensure(groups.guaranteed, {});
        this.#rootLimits = undefined;
        await this.#limitRoot(groups);
        await cgroups.ensure(name, { cpuShares });
      }
    }
    this.#writtenShares = shares.burstable;
  }
}

const canonicalOverhead = (pod: Pod): string =>
  JSON.stringify(Object.entries(pod.spec.overhead ?? {}).sort(([left], [right]) => (left < right ? -1 : 1)));
