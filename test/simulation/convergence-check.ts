import type { Pod } from '../../src/api/core/pod.ts';
import type { Container } from '../../src/api/core/container.ts';
import { quantityMilliValue, quantityValue } from '../../src/api/quantity.ts';
import type { LinuxResources } from '../../src/kubelet/ports/runtime.ts';
import { computePodLimits } from '../../src/kubelet/features/container-manager/qos-tree.ts';
import { restartsAfterExit } from '../../src/kubelet/features/pod-runtime/plan/restart-policy.ts';
import type { PodExplanation } from '../../src/api/explanation/explanation.ts';
import type { ManifestFolder } from './manifests.ts';
import { HEAVY_OVERHEAD } from './manifests.ts';
import type { InvariantChecker } from './invariant-checker.ts';
import type { SimulatedNode } from './world.ts';
import { paths } from './world.ts';
import { isTerminalPhase } from '../../src/api/pod.ts';

/**
 * What differs from the manifests, as text; empty when the node has converged. It checks the node itself, not what the
 * agent reports.
 */
export class ConvergenceCheck {
  readonly #node: SimulatedNode;
  readonly #manifests: ManifestFolder;
  readonly #invariants: InvariantChecker;

  constructor(node: SimulatedNode, manifests: ManifestFolder, invariants: InvariantChecker) {
    this.#node = node;
    this.#manifests = manifests;
    this.#invariants = invariants;
  }

  /** Why this wanted pod is not as specified; undefined when it is. */
  ofPod(pod: Pod): string | undefined {
    const { runtime } = this.#node;
    const uid = pod.metadata.uid;
    const name = pod.metadata.name;
    const ready = runtime.sandboxes(uid).filter((sandbox) => sandbox.ready);
    const running = runtime.containers(uid).filter((container) => container.state === 'running' && !container.dead);
    const phase = this.#invariants.lastStatus(uid)?.phase;
    if (isTerminalPhase(phase)) {
      if (running.length > 0)
        return `${name} is ${phase} and ${running.map((container) => container.config.name).join(', ')} still runs`;
      return undefined;
    }
    if (this.#invariants.isDone(uid)) return `${name} has done all it is for and is ${phase}`;
    if (ready.length !== 1) return `${name} has ${ready.length} ready sandboxes (phase ${phase})`;
    const lasting = [
      ...(pod.spec.initContainers ?? []).filter((container) => container.restartPolicy === 'Always'),
      ...pod.spec.containers,
    ];
    for (const container of lasting) {
      const problem = this.#ofContainer(pod, container);
      if (problem !== undefined) return problem;
    }
    return this.#ofGroup(pod);
  }

  /** Checks that the limits of the pod's cgroup are the sums of its resources. */
  #ofGroup(pod: Pod): string | undefined {
    const { groups } = this.#node.cgroups;
    const name = [...groups.keys()].find((candidate) => candidate.endsWith(`/pod${pod.metadata.uid}`));
    if (name === undefined) return withoutGroup(pod);
    const overhead = pod.spec.runtimeClassName === 'heavy' ? HEAVY_OVERHEAD : undefined;
    const wanted = computePodLimits(overhead === undefined ? pod : { ...pod, spec: { ...pod.spec, overhead } }, {
      cgroupsPerQOS: true,
      cgroupRoot: '/',
      cpuCFSQuota: true,
      cpuCFSQuotaPeriodUs: 100_000,
      podPidsLimit: -1,
      hugePageSizesBytes: [],
    });
    const has = groups.get(name)?.limits ?? {};
    const wrong = (['memoryBytes', 'cpuQuotaUs', 'cpuShares'] as const).find(
      (limit) =>
        wanted[limit] !== undefined &&
        Math.abs(wanted[limit] - (has[limit] ?? 0)) > (limit === 'cpuShares' ? WEIGHT_LOSS : 0),
    );
    return wrong === undefined
      ? undefined
      : `${pod.metadata.name}'s cgroup has ${wrong} ${has[wrong]}, not ${wanted[wrong]}`;
  }

  #ofContainer(pod: Pod, container: Container): string | undefined {
    const where = `${pod.metadata.name}/${container.name}`;
    const { runtime } = this.#node;
    // A container that came late, by a create that had been given up, is not the one to look at.
    const running = runtime
      .containers(pod.metadata.uid)
      .find(
        (candidate) => candidate.config.name === container.name && candidate.state === 'running' && !candidate.dead,
      );
    const newest = running ?? runtime.container(pod.metadata.uid, container.name);
    if (newest === undefined) return `${where} was never made`;
    if (newest.state === 'running' && !newest.dead)
      return newest.sandbox.ready ? sizeProblem(where, container, newest.resources) : `${where} runs in a dead sandbox`;
    if (
      newest.state === 'exited' &&
      container.restartPolicy !== 'Always' &&
      !restartsAfterExit(pod, container, newest.exitCode)
    )
      return undefined;
    return `${where} is ${newest.state}${newest.state === 'exited' ? ` (${newest.exitCode})` : ''}`;
  }

  /** Everything that differs: wanted pods that are incomplete, and remains of others. */
  problems(): string[] {
    const { runtime, agent } = this.#node;
    const wanted = this.#manifests.pods();
    const uids = new Set(wanted.map((pod) => pod.metadata.uid));
    const explanationOf = this.#explained();
    const problems = wanted.flatMap((pod) => {
      const problem = this.ofPod(pod) ?? this.#published(pod, explanationOf);
      return problem === undefined ? [] : [problem];
    });
    for (const sandbox of runtime.sandboxes())
      if (!uids.has(sandbox.config.uid))
        problems.push(`sandbox of ${sandbox.config.name} (${sandbox.config.uid.slice(0, 8)}) is left`);
    for (const name of this.#leftFolders())
      if (!uids.has(name)) problems.push(`folder of pod ${name.slice(0, 8)} is left`);
    for (const name of this.#node.cgroups.groups.keys()) {
      const uid = /\/pod([^/]+)$/.exec(name)?.[1];
      if (uid !== undefined && !uids.has(uid)) problems.push(`cgroup ${name} is left`);
    }
    for (const { path } of this.#node.mounts.mounted) {
      const uid = path.startsWith(`${paths.root}/pods/`) ? path.split('/')[5] : undefined;
      if (uid === undefined || !uids.has(uid)) problems.push(`mount ${path} is left`);
    }
    for (const container of runtime.containers())
      if (container.state === 'running' && container.script.exitAfterMs !== undefined)
        problems.push(`${container.sandbox.config.name}/${container.config.name} is still to exit`);
    if (agent?.started !== true) problems.push('no agent runs');
    if (runtime.isSettling) problems.push('the runtime is down or has not finished earlier calls');
    return problems;
  }

  /** Checks what the agent reports about a pod that is as specified. */
  #published(pod: Pod, explanationOf: (uid: string) => PodExplanation | undefined): string | undefined {
    const { kubelet } = this.#node;
    const status = this.#invariants.lastStatus(pod.metadata.uid);
    const name = pod.metadata.name;
    if (kubelet === undefined || status === undefined) return `${name} has no status`;
    if (isTerminalPhase(status.phase)) return undefined;
    if (status.phase !== 'Running') return `${name} runs and is said to be ${status.phase}`;
    for (const container of pod.spec.containers) {
      const said = status.containerStatuses?.find((candidate) => candidate.name === container.name);
      if (said?.state?.running !== undefined && said.ready !== true)
        return `${name}/${container.name} runs and is not ready`;
    }
    const explanation = explanationOf(pod.metadata.uid);
    if (explanation === undefined) return `${name} is not explained`;
    return explanation.settled
      ? undefined
      : `${name} is not settled: ${explanation.blockers.map((blocker) => `${blocker.step}: ${blocker.cause}`).join('; ')}`;
  }

  /** Computes explanations on the first use: most checks need none. */
  #explained(): (uid: string) => PodExplanation | undefined {
    let all: Map<string, PodExplanation> | undefined;
    return (uid) => {
      all ??= new Map(
        this.#node.kubelet?.explain.explainAll().map((explanation) => [String(explanation.uid), explanation]),
      );
      return all.get(uid);
    };
  }

  #leftFolders(): string[] {
    try {
      return [...this.#node.files.tree.existing(`${paths.root}/pods`, true).entries.keys()];
    } catch {
      return []; // No pod was ever made.
    }
  }

  /** Checks that the agent explains each pod that is not as specified; `sinceMs` says for how long. */
  unexplained(): string[] {
    if (this.#node.kubelet === undefined) return [];
    const explanationOf = this.#explained();
    return this.#manifests.pods().flatMap((pod) => {
      const problem = this.ofPod(pod);
      // No event reports it: the next sync of the pod finds it, after 90 s at the latest.
      if (
        problem === undefined ||
        problem === withoutGroup(pod) ||
        this.#manifests.isDoubtful(pod.metadata.uid, this.#node.agent?.startedMs ?? 0)
      )
        return [];
      const explanation = explanationOf(pod.metadata.uid);
      if (explanation === undefined) return [`${problem}, and explain does not know the pod`];
      if (explanation.settled) return [`${problem}, and explain says that it is settled`];
      const empty = explanation.blockers.find(
        (blocker) => blocker.cause === '' || blocker.step === '' || !Number.isFinite(blocker.sinceMs),
      );
      return empty === undefined ? [] : [`${problem}, and a blocker says nothing: ${JSON.stringify(empty)}`];
    });
  }
}

/** Differences of fewer shares make no difference to a weight of cgroup v2. */
const WEIGHT_LOSS = 27;

const withoutGroup = (pod: Pod): string => `${pod.metadata.name} has no cgroup`;

/** The resources that the agent last set must be what the runtime received last. */
function sizeProblem(where: string, { resources }: Container, applied: LinuxResources): string | undefined {
  const { cpu, memory } = resources?.limits ?? {};
  if (cpu === undefined || memory === undefined) return undefined;
  const wanted = { cpuQuota: quantityMilliValue(cpu) * 100, memoryLimitBytes: quantityValue(memory) };
  return applied.cpuQuota === wanted.cpuQuota && applied.memoryLimitBytes === wanted.memoryLimitBytes
    ? undefined
    : `${where} has ${applied.memoryLimitBytes} bytes and a quota of ${applied.cpuQuota}, not ${wanted.memoryLimitBytes} and ${wanted.cpuQuota}`;
}
