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
  /** Called at each write of the memory protection of the class cgroups. */
  readonly onProtected?: (bytes: { readonly min: number; readonly low: number }) => void;
  /** Returns the limits of all pods together (node allocatable without the eviction part). It is read at each pass. */
  readonly rootLimits: () => CgroupLimits;
  /** Called when the limits of all pods together are set or cannot be set, and the outcome changed. */
  readonly onRootLimits?: (outcome: { limits: CgroupLimits; problem?: string }) => void;
  /** Whether the pod has exclusive CPUs, which no quota limits. */
  readonly hasExclusiveCpus?: (pod: Pod) => boolean;
  /** Returns the pods that should run now, with their allocated resources. */
  readonly activePods: () => readonly Pod[];
}

export interface PodCgroup {
  /** The `cgroup_parent` of the sandbox; empty when pods have no cgroups of their own. */
  readonly cgroupParent: string;
  /**
   * Whether the cgroup existed before this call. If it is false and the pod has running containers, another program
   * removed the cgroup.
   */
  readonly existed: boolean;
}

/** The interval in which the class cgroups are written (upstream: qos_container_manager_linux.go). */
const QOS_UPDATE_PERIOD_MS = 60_000;
const AWAY_RETRY_MS = 2000;
/** The pauses before a cgroup is removed again, because killed processes need time to leave it. */
const removeRetryMs = [5, 10, 20, 40, 80, 160, 320] as const;

/**
 * Manages the cgroups of pods and of their QoS classes. Invariants:
 * 1. A pod's cgroup exists before its sandbox and is removed after its last container. Removing a missing cgroup
 *    succeeds.
 * 2. The shares of the classes follow the set of pods. They are updated at each change, and rewritten each minute in
 *    case another process changed them.
 * 3. An agent that may not create cgroups logs this once. The runtime then creates its own cgroups below the given
 *    name.
 * 4. The cgroup backend (systemd, over D-Bus) may be unavailable. The agent retries, and pods wait for their cgroups
 *    meanwhile.
 */
export class ContainerManager {
  readonly #options: ContainerManagerOptions;
  readonly #groups: QosGroups | undefined;
  readonly #loop: Loop;
  readonly #names = new Map<PodUid, string>();
  /** The overhead that the cgroups created by this agent include. */
  readonly #overheads = new Map<PodUid, string>();
  /** Pods whose cgroup has its limits, or had them when this agent first read it. */
  readonly #limited = new Set<PodUid>();
  readonly #removing = new Map<PodUid, Promise<void>>();
  #mayWrite = true;
  /** Whether the class cgroups could not be created at the start. */
  #isAway = false;
  /** The limits of the classes that were last written. */
  #writtenLimits: string | undefined;
  #orphansLeft = 0;
  /** The limits in force, and the error that prevents others. */
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

  /** Creates the class cgroups. It never rejects: pods run even if cgroups are not writable. */
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

  /** Returns the monotonic time of the last successful pass over the class shares, for the health check. */
  lastSuccessMs(): number | undefined {
    return this.#loop.lastSuccessMs();
  }

  /** Updates the class shares after a change of the pods or their requests. */
  podsChanged(): void {
    // Most changes of pods affect no share, and a pass reads every hierarchy.
    if (this.#mayWrite && this.#groups !== undefined && JSON.stringify(this.#qosLimits()) !== this.#writtenLimits)
      this.#loop.wake();
  }

  /**
   * Creates the pod's cgroup with its limits if it does not exist. An existing cgroup is left as it is (upstream:
   * EnsureExists), with two exceptions: the pod's overhead changed, or the cgroup has no process and this agent has not
   * created it. In the second case an earlier agent may have died before it set the limits.
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

  /** Whether the cgroup may have no limits. If it has processes, they were started after its limits were set. */
  async #mayLackLimits(uid: PodUid, name: string): Promise<boolean> {
    return !this.#limited.has(uid) && (await this.#options.cgroups.processes(name)).length === 0;
  }

  /**
   * Whether the cgroup does not include the pod's overhead. A pod gets its overhead after its cgroup was created if its
   * RuntimeClass arrives later. For a cgroup of an earlier agent the included overhead is unknown. If it is too small,
   * it is raised. If it is larger, it is left alone, because a resize may be shrinking it.
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
   * Kills the remaining processes and removes the cgroup. Rejects with Conflict if processes do not exit; call it again
   * later. Concurrent calls for one pod are merged.
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

  /**
   * Removes the cgroups of unknown pods. Resolves to the number of cgroups that are left, and logs only when that
   * number changes.
   */
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
   * Limits the cgroup of all pods. The kernel refuses a limit below the current usage. Pods still run then, and the
   * agent retries (upstream: enforceNodeAllocatableCgroups).
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
   * Reads the values of the pod's own cgroup; undefined if there is none (upstream: GetPodCgroupConfig,
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

  /** Returns the cgroup limits for the pod's resources. */
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
        // Another process removed the cgroup with the pods below it. The syncs of those pods create theirs again.
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
   * Raises limits that are below the current usage of a class. The class cannot grow, and it gets its limit when it
   * uses less. Cgroup v1 would refuse the lower limit (upstream: retrySetMemoryReserve), and with it cgroup v2 would
   * kill processes.
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
