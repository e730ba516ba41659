import type { Pod } from '../../../api/core/pod.ts';
import { podQos } from '../../../api/qos.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { CgroupLimits, Cgroups, CgroupValues } from '../../ports/cgroups.ts';
import type { QosGroups, QosTreeConfig } from './qos-tree.ts';
import type { QosLimits, QosMemoryRules } from './qos-limits.ts';
import { computeQosLimits } from './qos-limits.ts';
import { computePodLimits, podCgroupName, podUidOfCgroup, qosGroups } from './qos-tree.ts';

export interface ContainerManagerOptions {
  readonly cgroups: Cgroups;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly config: QosTreeConfig;
  /** Settings of the QoS classes in addition to CPU shares; none by default. */
  readonly qosMemory?: QosMemoryRules;
  /** Called with the memory protection of the class cgroups each time it is written. */
  readonly onProtected?: (bytes: { readonly min: number; readonly low: number }) => void;
  /** Limits of all pods together (node allocatable without the eviction part); read at each pass. */
  readonly rootLimits: () => CgroupLimits;
  /** The limits of all pods together are in force, or could not be set; called when that changes. */
  readonly onRootLimits?: (outcome: { limits: CgroupLimits; problem?: string }) => void;
  /** The pod has CPUs of its own, which no quota limits. */
  readonly hasExclusiveCpus?: (pod: Pod) => boolean;
  /** The pods that should run now, with their allocated resources. */
  readonly activePods: () => readonly Pod[];
}

export interface PodCgroup {
  /** What the sandbox gets as cgroup_parent; empty when pods have no cgroups of their own. */
  readonly cgroupParent: string;
  /**
   * false when it was created by this call: for a pod with running containers a sign that something else removed it.
   */
  readonly existed: boolean;
}

/** Upstream: qos_container_manager_linux.go, 1 min. */
const QOS_UPDATE_PERIOD_MS = 60_000;
const AWAY_RETRY_MS = 2000;
/** Killed processes need a moment to leave their cgroup. */
const removeRetryMs = [5, 10, 20, 40, 80, 160, 320] as const;

/**
 * The cgroups of pods and of their QoS classes.
 * 1. A pod's cgroup exists before its sandbox and is removed after its last container; removing one that is gone is
 *    success.
 * 2. Class shares follow the set of pods: updated at each change, and rewritten each minute in case another process
 *    changed them.
 * 3. An agent that may not create cgroups logs so once and leaves it to the runtime, which creates its own below the
 *    given name.
 * 4. The cgroup backend may be unavailable (systemd, over D-Bus): that is no refusal. It is retried, and pods wait for
 *    their cgroups meanwhile.
 */
export class ContainerManager {
  readonly #options: ContainerManagerOptions;
  readonly #groups: QosGroups | undefined;
  readonly #loop: Loop;
  readonly #names = new Map<PodUid, string>();
  /** The overhead that is included in the cgroups made here. */
  readonly #overheads = new Map<PodUid, string>();
  /** Pods whose cgroup has its limits, or had them when this agent saw it first. */
  readonly #limited = new Set<PodUid>();
  readonly #removing = new Map<PodUid, Promise<void>>();
  #mayWrite = true;
  /** The class cgroups could not be made at the start. */
  #isAway = false;
  /** The last desired limits of the classes. */
  #writtenLimits: string | undefined;
  #orphansLeft = 0;
  /** The limits in force, and the problem that prevents others. */
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

  /** Creates the class cgroups. Never rejects: a node without writable cgroups still runs pods. */
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
        log.warn('the cgroups of the QoS classes cannot be created yet; retrying', {
          cgroup: groups.guaranteed,
          error: errorMessage(error),
        });
        this.#loop.start();
        return;
      }
      this.#mayWrite = false;
      log.warn('pod cgroups cannot be managed, the runtime creates its own without pod limits', {
        cgroup: groups.guaranteed,
        error: errorMessage(error),
      });
    }
  }

  async #makeClasses(groups: QosGroups): Promise<void> {
    const { cgroups } = this.#options;
    await cgroups.ensure(groups.guaranteed, {});
    await this.#limitRoot(groups);
    const limits = this.#qosLimits();
    await Promise.all([
      cgroups.ensure(groups.burstable, limits.burstable),
      cgroups.ensure(groups.bestEffort, limits.bestEffort),
    ]);
  }

  #qosLimits(): QosLimits {
    return computeQosLimits(this.#options.activePods(), this.#options.qosMemory ?? noMemoryRules);
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
    // Most changes affect no share, and a pass reads every hierarchy.
    if (this.#mayWrite && this.#groups !== undefined && JSON.stringify(this.#qosLimits()) !== this.#writtenLimits)
      this.#loop.wake();
  }

  /**
   * Creates the pod's cgroup with its limits if it does not exist. An existing one is left as it is (upstream:
   * EnsureExists), unless the pod's overhead changed, or no process lives in it and this agent has not created it: an
   * earlier agent may have died before it set the limits.
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
    if (!existed || (await this.#mayLackLimits(uid, name))) await this.#options.cgroups.ensure(name, this.wanted(pod));
    else if (await this.#lacksOverhead(pod, { uid, name, overhead }))
      await this.#options.cgroups.update(name, this.wanted(pod));
    this.#limited.add(uid);
    this.#overheads.set(uid, overhead);
    if (existed) return { cgroupParent, existed };
    this.podsChanged();
    return { cgroupParent, existed: false };
  }

  /** Processes in a cgroup were started after its limits were set. */
  async #mayLackLimits(uid: PodUid, name: string): Promise<boolean> {
    return !this.#limited.has(uid) && (await this.#options.cgroups.processes(name)).length === 0;
  }

  /**
   * A pod may get its overhead after its cgroup was created: when its RuntimeClass arrives later than the pod. For a
   * cgroup of an earlier agent the included overhead is unknown: one that is too small is raised, and one that is
   * larger may be shrinking with a resize.
   */
  async #lacksOverhead(
    pod: Pod,
    { uid, name, overhead }: { uid: PodUid; name: string; overhead: string },
  ): Promise<boolean> {
    const counted = this.#overheads.get(uid);
    if (counted !== undefined || pod.spec.overhead === undefined) return counted !== undefined && counted !== overhead;
    const { cpuShares, memoryBytes } = await this.#options.cgroups.read(name);
    const wanted = this.wanted(pod);
    return cpuShares < (wanted.cpuShares ?? 0) || (memoryBytes > 0 && memoryBytes < (wanted.memoryBytes ?? 0));
  }

  /**
   * Kills the remaining processes and removes the cgroup. Conflict when processes do not exit: call again later.
   * Concurrent calls for one pod are merged.
   */
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

  /** Removes cgroups of unknown pods. Resolves to how many are left; logs only when that number changes. */
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
        this.#options.log.warn('cgroups of removed pods cannot be removed', {
          count: failed.length,
          error: errorMessage(failed[0].reason),
        });
      else this.#options.log.info('all cgroups of removed pods are removed');
    }
    return failed.length;
  }

  /**
   * The kernel refuses a limit below what pods use already; that keeps no pod from running, and is retried (upstream:
   * enforceNodeAllocatableCgroups).
   */
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
        log.warn('the limits of all pods together cannot be set; retrying', {
          cgroup: groups.guaranteed,
          error: problem,
        });
        onRootLimits?.({ limits, problem });
      }
    }
  }

  /**
   * The values of the pod's own cgroup; undefined where there is none (upstream: GetPodCgroupConfig,
   * GetPodCgroupMemoryUsage).
   */
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

  /** The cgroup limits that follow from the pod's resources. */
  wanted(pod: Pod): CgroupLimits {
    const { config, hasExclusiveCpus } = this.#options;
    const isUnlimited = hasExclusiveCpus?.(pod) === true;
    return computePodLimits(pod, isUnlimited ? { ...config, cpuCFSQuota: false } : config);
  }

  /** Changes the limits of a running pod. */
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
    for (const delayMs of [...removeRetryMs, undefined]) {
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
    const { cgroups } = this.#options;
    if (this.#isAway) {
      await this.#makeClasses(groups);
      this.#isAway = false;
    }
    await this.#limitRoot(groups);
    const limits = this.#qosLimits();
    if (limits.guaranteed.unified !== undefined) await cgroups.update(groups.guaranteed, limits.guaranteed);
    for (const [name, wanted] of [
      [groups.burstable, limits.burstable],
      [groups.bestEffort, limits.bestEffort],
    ] as const) {
      try {
        await cgroups.update(name, await this.#aboveUse(name, wanted));
      } catch (error) {
        if (!isKind(error, 'NotFound')) throw error;
        // Another process removed it; the pods below it are gone with it, and their own sync creates them again.
        await cgroups.ensure(groups.guaranteed, {});
        this.#rootLimits = undefined;
        await this.#limitRoot(groups);
        await cgroups.ensure(name, wanted);
      }
    }
    if (limits.protectedBytes !== undefined) this.#options.onProtected?.(limits.protectedBytes);
    this.#writtenLimits = JSON.stringify(limits);
  }

  /**
   * A class that uses more than its limit is kept from growing, and gets its limit once it uses less: cgroup v1 refuses
   * a lower one (upstream: retrySetMemoryReserve), and cgroup v2 would kill for it.
   */
  async #aboveUse(name: string, limits: CgroupLimits): Promise<CgroupLimits> {
    if (limits.memoryBytes === undefined) return limits;
    const { memoryUsageBytes } = await this.#options.cgroups.read(name);
    return { ...limits, memoryBytes: Math.max(limits.memoryBytes, memoryUsageBytes) };
  }
}

const noMemoryRules: QosMemoryRules = { reservedPercent: undefined, memoryForPodsBytes: 0, memoryQos: undefined };

const canonicalOverhead = (pod: Pod): string =>
  JSON.stringify(Object.entries(pod.spec.overhead ?? {}).sort(([left], [right]) => (left < right ? -1 : 1)));
