import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ResourceList, ResourceRequirements } from '../../../../api/core/resource-requirements.ts';
import { effectiveLimits, resizable } from '../../../../api/pod-allocation.ts';
import { podKey } from '../../../../api/pod.ts';
import { podConditionReasons } from '../../../../api/reasons.ts';
import { errorMessage, isKind } from '../../../../base/errors.ts';
import { bytesOf, milliOf } from '../../../model/actual-resources.ts';
import { milliCpuOfQuota, milliCpuOfShares, quotaOfMilliCpu, sharesOfMilliCpu } from '../../../model/cpu-units.ts';
import type { PodUid } from '../../../model/ids.ts';
import { podUid } from '../../../model/ids.ts';
import type { PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { newestContainer } from '../../../model/runtime-status.ts';
import type { CgroupLimits, CgroupValues } from '../../../ports/cgroups.ts';
import type { LinuxResources } from '../../../ports/runtime.ts';
import { isDoneUnrecorded, recordOfRuntime } from '../plan/compute-resize.ts';
import type { ActuatedFacts, ResizedResource } from '../plan/compute-resize.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { ActuatedResources, PodCgroups } from '../interfaces.ts';
import { containerResources, sandboxResources } from '../config/resources-config.ts';
import type { StepOf } from '../plan/steps.ts';
import type { SyncRun } from '../sync-run.ts';

/**
 * Changes the resources of running containers and of their pod's cgroup (upstream: kuberuntime_manager.go
 * doPodResizeAction).
 * 1. What was actuated is on record before the next step is planned; a step that is repeated after a crash changes
 *    nothing.
 * 2. The first failure ends this pass's resize and nothing else of the pass.
 */
export class PodResizer {
  readonly #deps: PodRuntimeDeps;
  /** The pods whose cgroup could not be brought to its desired state. */
  readonly #unsettled = new Set<PodUid>();
  /** The pods whose cgroup this agent has checked, or has had created. */
  readonly #looked = new Set<PodUid>();

  constructor(deps: PodRuntimeDeps) {
    this.#deps = deps;
  }

  /** Returns the actuated resources of the pod, or undefined if nothing is resized. */
  facts(pod: Pod): ActuatedFacts | undefined {
    const { resize } = this.#deps;
    if (resize === undefined) return undefined;
    const uid = podUid(pod.metadata.uid);
    return {
      container: (name) => resize.actuated.container(uid, name),
      podLevel: resize.actuated.podLevel(uid),
      podUnsettled: this.#unsettled.has(uid),
    };
  }

  /** Records what an earlier agent actuated before it stopped. */
  adopt(pod: Pod, status: PodRuntimeStatus): void {
    const actuated = this.#deps.resize?.actuated;
    if (actuated === undefined) return;
    const uid = podUid(pod.metadata.uid);
    for (const container of resizable(pod)) {
      const actual = newestContainer(status, container.name);
      if (actual === undefined || !isDoneUnrecorded(pod, container, actual, actuated.container(uid, container.name)))
        continue;
      actuated.setContainer(uid, container.name, recordOf(pod, container));
      // With an outdated record, the cgroup may have been set back to that record.
      this.#looked.delete(uid);
    }
  }

  /**
   * Checks once the cgroup of a pod that an earlier agent left. That agent may have stopped after a container shrank
   * and before the cgroup did, which no record shows, or the records are lost. A sandbox has a cgroup even while all
   * its containers are down, and they start in it. A cgroup that cannot be read is not reported.
   */
  async look(run: SyncRun): Promise<void> {
    const { resize, log } = this.#deps;
    if (resize === undefined || this.#looked.has(run.uid) || !hasGroup(run.status)) return;
    try {
      const values = await resize.cgroups.read(run.pod);
      this.#looked.add(run.uid);
      if (values !== undefined && differs(values, resize.cgroups.wanted(run.pod))) this.#unsettled.add(run.uid);
    } catch (error) {
      log.debug(2, 'the cgroup of a pod could not be checked', { pod: podKey(run.pod), error: errorMessage(error) });
    }
  }

  /**
   * Records that a container was started with its allocated resources. A different record is corrected on disk at once:
   * otherwise a restart of the agent would restart the container again.
   */
  async noteStarted(run: SyncRun, container: Pick<Container, 'name' | 'resources'>): Promise<void> {
    const actuated = this.#deps.resize?.actuated;
    if (actuated === undefined || !resizable(run.pod).some(({ name }) => name === container.name)) return;
    const known = actuated.container(run.uid, container.name) !== undefined;
    const changed = actuated.setContainer(run.uid, container.name, recordOf(run.pod, container));
    if (known && changed) await actuated.flush();
  }

  /**
   * Records that the pod's cgroup matches the allocation. The containers will match too, unless the allocation changes
   * before they start.
   */
  noteSandbox(run: SyncRun): void {
    const actuated = this.#deps.resize?.actuated;
    if (actuated === undefined) return;
    this.#looked.add(run.uid);
    const { resources } = run.pod.spec;
    if (resources !== undefined) actuated.setPodLevel(run.uid, withoutClaims(resources));
    for (const container of resizable(run.pod))
      actuated.setContainer(run.uid, container.name, recordOf(run.pod, container));
  }

  async resizePod(run: SyncRun, step: StepOf<'resizePod'>): Promise<string | undefined> {
    return this.#try(
      run,
      async ({ actuated, cgroups }) => {
        const values = await cgroups.read(run.pod);
        if (values !== undefined) {
          const wanted = cgroups.wanted(run.pod);
          if (step.phase === 'raise' && step.resource === 'memory')
            await this.#checkUsage(run, step, { values, wanted });
          for (const limits of changesOf(step, values, wanted))
            await this.#applyToPod(run, { resource: step.resource, values, limits }, cgroups);
        }
        if (step.phase !== 'lower') return;
        this.#recordPodLevel(run, step.resource, actuated);
        // This is the last step of a resize.
        if (step.resource === 'cpu') this.#unsettled.delete(run.uid);
      },
      () => void this.#unsettled.add(run.uid),
    );
  }

  async resizeContainer(run: SyncRun, step: StepOf<'resizeContainer'>): Promise<string | undefined> {
    return this.#try(run, async ({ actuated }) => {
      const { runtime, settings, node, cache } = this.#deps;
      const container = resizable(run.pod).find(({ name }) => name === step.name);
      const actual = run.status.containers.find(({ id }) => id === step.id);
      if (container === undefined || actual === undefined) return;
      const recorded =
        actuated.container(run.uid, step.name) ??
        recordOfRuntime(run.pod, container, actual) ??
        recordOf(run.pod, container);
      const next = { ...container, resources: mixed(container.resources ?? {}, recorded, step.resource) };
      const resources = containerResources(run.pod, next, { settings, node: node(), placement: await run.placement() });
      await runtime.updateContainerResources(step.id, resources, { signal: run.signal });
      actuated.setContainer(run.uid, step.name, recordOf(run.pod, next));
      const status = await runtime.containerStatus(step.id, { signal: run.signal });
      run.foldContainer(status);
      cache.noteContainer(
        { uid: run.uid, name: run.pod.metadata.name, namespace: run.pod.metadata.namespace },
        status,
        status.state === 'exited' ? 'observed' : 'own',
      );
    });
  }

  forgetPod(uid: PodUid): void {
    this.#unsettled.delete(uid);
    this.#looked.delete(uid);
  }

  async #try(
    run: SyncRun,
    work: (resize: NonNullable<PodRuntimeDeps['resize']>) => Promise<void>,
    onFailure: () => void = () => undefined,
  ): Promise<string | undefined> {
    const { resize } = this.#deps;
    if (resize === undefined || run.resizeFailed) return undefined;
    try {
      await work(resize);
      return undefined;
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      run.resizeFailed = true;
      onFailure();
      const message = errorMessage(error);
      run.fail({ scope: 'resize', reason: podConditionReasons.error, message });
      this.#deps.log.warn('resources of a running pod could not be changed', { pod: podKey(run.pod), error: message });
      return message;
    }
  }

  /** Throws if the current usage exceeds the new limit, because such a limit would kill the processes. */
  async #checkUsage(
    run: SyncRun,
    step: StepOf<'resizePod'>,
    { values, wanted }: { values: CgroupValues; wanted: CgroupLimits },
  ): Promise<void> {
    const problems: string[] = [];
    const podLimit = wanted.memoryBytes ?? 0;
    if (podLimit > 0 && podLimit < unlimitedIsMost(values.memoryBytes) && values.memoryUsageBytes >= podLimit) {
      problems.push(
        `attempting to set pod memory limit (${podLimit}) below current usage (${values.memoryUsageBytes})`,
      );
    }
    for (const { id, name, limitBytes } of step.lowered) {
      const usage = await this.#deps.runtime.containerMemoryBytes(id, { signal: run.signal });
      if (usage === undefined) problems.push(`missing container ${JSON.stringify(name)} memory usage`);
      else if (usage >= limitBytes)
        problems.push(
          `attempting to set container ${JSON.stringify(name)} memory limit (${limitBytes}) below current usage (${usage})`,
        );
    }
    if (problems.length > 0)
      throw new Error(
        `cannot decrease memory limits: ${problems.length === 1 ? problems[0] : `[${problems.join(', ')}]`}`,
      );
  }

  async #applyToPod(
    run: SyncRun,
    { resource, values, limits }: { resource: ResizedResource; values: CgroupValues; limits: CgroupLimits },
    cgroups: PodCgroups,
  ): Promise<void> {
    const before = { ...values };
    Object.assign(values, limits);
    // The runtime comes first, because it may reject the change.
    await this.#updateRuntime(run, resource, values);
    try {
      await cgroups.update(run.pod, limits);
    } catch (error) {
      await this.#updateRuntime(run, resource, before).catch((again: unknown) =>
        this.#deps.log.warn('the runtime could not be notified that a resize was undone', {
          pod: podKey(run.pod),
          error: errorMessage(again),
        }),
      );
      throw error;
    }
  }

  async #updateRuntime(run: SyncRun, resource: ResizedResource, values: CgroupValues): Promise<void> {
    const { runtime, settings, node } = this.#deps;
    if (run.sandbox === undefined) return;
    const { overhead } = sandboxResources(run.pod, { settings, node: node(), placement: await run.placement() });
    try {
      await runtime.updateSandboxResources(
        run.sandbox.id,
        { resources: withoutOverhead(run.pod, values), overhead },
        { signal: run.signal },
      );
    } catch (error) {
      if (isKind(error, 'Unimplemented')) return;
      if (isKind(error, 'Aborted')) throw error;
      throw new Error(
        `failed to notify runtime for UpdatePodSandboxResources (resource=${resource}); resize rejected: ${errorMessage(error)}`,
        { cause: error },
      );
    }
  }

  #recordPodLevel(run: SyncRun, resource: ResizedResource, actuated: ActuatedResources): void {
    const { resources } = run.pod.spec;
    if (resources === undefined) return;
    actuated.setPodLevel(run.uid, mixed(withoutClaims(resources), actuated.podLevel(run.uid) ?? {}, resource));
  }
}

function hasGroup({ sandboxes, containers }: PodRuntimeStatus): boolean {
  return sandboxes.some(({ ready }) => ready) || containers.some(({ state }) => state === 'running');
}

/** Brings the cgroup of a pod to the pod's allocation while nothing of the pod runs. */
export async function settleGroup(pod: Pod, cgroups: PodCgroups): Promise<void> {
  const values = await cgroups.read(pod);
  if (values === undefined) return;
  const wanted = cgroups.wanted(pod);
  for (const resource of ['memory', 'cpu'] as const) {
    for (const phase of ['raise', 'lower'] as const) {
      for (const limits of changesOf({ resource, phase }, values, wanted)) await cgroups.update(pod, limits);
    }
  }
}

/** Returns the record of a container with `resources`: its effective limits, as upstream records them. */
function recordOf(pod: Pod, { resources = {} }: Pick<Container, 'resources'>): ResourceRequirements {
  const limits = effectiveLimits(pod.spec.resources, { resources });
  return { ...withoutClaims(resources), ...(Object.keys(limits).length === 0 ? {} : { limits }) };
}

function withoutClaims({ limits, requests }: ResourceRequirements): ResourceRequirements {
  return { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) };
}

/** Returns the wanted values, except that the other resource keeps its current value. */
function mixed(
  wanted: ResourceRequirements,
  current: ResourceRequirements,
  resource: ResizedResource,
): ResourceRequirements {
  const other = resource === 'memory' ? 'cpu' : 'memory';
  const mix = (list: ResourceList | undefined, now: ResourceList | undefined): ResourceList | undefined => {
    if (list === undefined && now === undefined) return undefined;
    const { [other]: _dropped, ...rest } = list ?? {};
    return now?.[other] === undefined ? rest : { ...rest, [other]: now[other] };
  };
  const [limits, requests] = [mix(wanted.limits, current.limits), mix(wanted.requests, current.requests)];
  return { ...(limits === undefined ? {} : { limits }), ...(requests === undefined ? {} : { requests }) };
}

/**
 * Returns the changes in order: limits before requests when growing, requests before limits when shrinking. Unchanged
 * values are not written. A limit that the pod does not set stays unchanged.
 */
function changesOf(
  { resource, phase }: Pick<StepOf<'resizePod'>, 'resource' | 'phase'>,
  values: CgroupValues,
  wanted: CgroupLimits,
): CgroupLimits[] {
  const rises = (before: number, after: number): boolean => unlimitedIsMost(after) > unlimitedIsMost(before);
  const falls = (before: number, after: number): boolean => unlimitedIsMost(after) < unlimitedIsMost(before);
  const moves = phase === 'raise' ? rises : falls;
  if (resource === 'memory')
    return wanted.memoryBytes !== undefined && wanted.memoryBytes !== 0 && moves(values.memoryBytes, wanted.memoryBytes)
      ? [{ memoryBytes: wanted.memoryBytes }]
      : [];
  const changes: CgroupLimits[] = [];
  const { cpuQuotaUs, cpuPeriodUs, cpuShares } = wanted;
  if (cpuQuotaUs !== undefined && cpuQuotaUs !== 0 && moves(values.cpuQuotaUs, cpuQuotaUs))
    changes.push({ cpuQuotaUs, ...(cpuPeriodUs === undefined ? {} : { cpuPeriodUs }) });
  if (cpuShares !== undefined && moves(values.cpuShares, cpuShares)) changes.push({ cpuShares });
  return phase === 'raise' ? changes : changes.reverse();
}

/** The rounding error of shares that were read back from a cgroup v2 weight. */
const WEIGHT_LOSS = 27;
/** The rounding error of memory limits. The kernel uses whole pages, of at most 64 KiB. */
const PAGE_LOSS_BYTES = 65_536;

function differs(values: CgroupValues, { memoryBytes = 0, cpuQuotaUs = 0, cpuShares }: CgroupLimits): boolean {
  return (
    (memoryBytes !== 0 && Math.abs(unlimitedIsMost(values.memoryBytes) - memoryBytes) >= PAGE_LOSS_BYTES) ||
    (cpuQuotaUs !== 0 && cpuQuotaUs !== values.cpuQuotaUs) ||
    (cpuShares !== undefined && Math.abs(cpuShares - values.cpuShares) > WEIGHT_LOSS)
  );
}

function unlimitedIsMost(amount: number): number {
  return amount < 0 ? Infinity : amount;
}

/** Removes the sandbox's overhead, which the pod's cgroup includes and the runtime receives separately. */
function withoutOverhead(pod: Pod, { cpuShares, cpuQuotaUs, cpuPeriodUs, memoryBytes }: CgroupValues): LinuxResources {
  const { overhead } = pod.spec;
  const [milli, bytes] = [milliOf(overhead, 'cpu'), bytesOf(overhead, 'memory')];
  const shares = milli === 0 ? cpuShares : sharesOfMilliCpu(Math.max(0, milliCpuOfShares(cpuShares) - milli));
  const quota =
    cpuQuotaUs < 0 || milli === 0
      ? cpuQuotaUs
      : quotaOfMilliCpu(Math.max(0, milliCpuOfQuota(cpuQuotaUs, cpuPeriodUs) - milli), cpuPeriodUs);
  return {
    cpuShares: shares,
    cpuQuota: quota,
    cpuPeriod: cpuPeriodUs,
    ...(memoryBytes < 0 ? {} : { memoryLimitBytes: Math.max(0, memoryBytes - bytes) }),
  };
}
