import type { PodStatus } from '../../src/api/core/pod-status.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import { annotations } from '../../src/api/annotations.ts';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import { computeStatusPatch } from '../../src/kubelet/features/status/status-patch.ts';
import { RESOURCE, SimulatedPlugin } from './device-plugin.ts';
import { PressureInvariants } from './invariants-pressure.ts';
import { between, chance, pick } from './manifests.ts';
import type { PodWrite, SimulatedApi } from './cluster-api.ts';
import { PressureModel, pressureConfig, TRANSITION_MS } from './pressure-model.ts';
import { IMAGES, NODE_NAME, paths, SimulatedNode } from './world.ts';
import { isTerminalPhase } from '../../src/api/pod.ts';

/**
 * One thing that happens in the scenario. Returns a description of what it did; undefined if there was nothing it could
 * be done to.
 */
export type Act = (scenario: ClusterScenario) => Promise<string | undefined> | string | undefined;

export const GATE = 'example.com/gate';
const SHUTDOWN_CONFIG = { shutdownGracePeriod: '30s', shutdownGracePeriodCriticalPods: '10s' };
const STEPS = 40;
const CONVERGENCE_MS = 15 * 60_000;
const LOOK_MS = 1000;
const PIECE_MS = 500;

/** The behaviour of a pod: it runs until it is stopped, or it ends by itself. */
interface Plan {
  readonly kind: 'server' | 'task' | 'failing-task';
  readonly hasGate: boolean;
  readonly hasDevices: boolean;
}

export const keyOf = (pod: Pod): { namespace: string; name: string } => ({
  namespace: pod.metadata.namespace,
  name: pod.metadata.name,
});
const conditionOf = (pod: Pod, type: string): string | undefined =>
  pod.status?.conditions?.find((each) => each.type === type)?.status;

/**
 * A node of a cluster. Other clients create, delete and recreate its pods; the API server is unreachable, fails and
 * loses state; agents are killed.
 */
export class ClusterScenario {
  readonly node: SimulatedNode;
  readonly api: SimulatedApi;
  readonly random: Random;
  readonly violations: string[] = [];
  readonly trace: string[] = [];
  readonly plans = new Map<string, Plan>();
  /** Static pods by file. */
  readonly manifests = new Map<string, string>();
  readonly pressure: PressureModel;
  readonly plugin: SimulatedPlugin;
  /** Whether the machine was asked to shut down: pods may have ended or been rejected for that reason. */
  wasShutDown = false;
  cancelledShutdowns = 0;
  /** Whether the machine was short of a resource: pods may have been rejected for that reason. */
  wasShort = false;
  readonly #pressureInvariants: PressureInvariants;
  readonly #acts: readonly Act[];
  readonly #starts = new Map<string, number>();
  /** When the machine was last restarted. */
  #rebootedMs = -1;
  /**
   * When runtime and records are lost while the API server is unreachable, the number of container starts is unknown.
   */
  #wasSwept = false;
  #count = 0;

  constructor(seed: number, acts: readonly Act[]) {
    this.random = seededRandom(seed);
    this.#acts = acts;
    this.pressure = new PressureModel(() => this.node);
    this.node = new SimulatedNode({
      seed,
      cluster: true,
      stats: this.pressure.sources(),
      config: { ...pressureConfig, ...SHUTDOWN_CONFIG },
    });
    this.plugin = new SimulatedPlugin(this.node, this.random);
    this.#pressureInvariants = new PressureInvariants(this.node, this.pressure, {
      report: (message) => this.report(message),
      trace: (message) => this.trace.push(`${this.#at()} ${message}`),
    });
    this.node.onAgent = (_agent, kubelet) => this.#pressureInvariants.watch(kubelet);
    this.node.onAgentEnd = () => this.#pressureInvariants.agentEnded();
    if (this.node.api === undefined) throw new Error('no API server');
    this.api = this.node.api;
    this.api.onPodWrite = (write) => this.#judge(write);
    const { journal } = this.node.runtime;
    const write = journal.process.bind(journal);
    journal.process = (entry) => {
      write(entry);
      if (entry.what === 'started') this.#started(entry.id);
    };
  }

  report(message: string): void {
    if (this.violations.length < 20) this.violations.push(`${this.#at()} ${message}`);
  }

  async run(): Promise<void> {
    this.plugin.come();
    this.node.start();
    // A node that never had a resource ignores requests for it, as upstream.
    await this.advance(2000);
    for (let step = 0; step < STEPS; step++) {
      await this.advance(chance(this.random, 0.3) ? between(this.random, 0, 50) : between(this.random, 100, 30_000));
      const said = await pick(this.random, this.#acts)(this);
      if (said !== undefined) this.trace.push(`${this.#at()} ${said}`);
    }
    await this.#heal();
    await this.#restartSettled();
    await this.#clear();
    const leaving = this.node.terminate();
    await this.advance(5000);
    await leaving;
  }

  /** Advances in small steps, so that the node's conditions are observed. */
  async advance(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= PIECE_MS) {
      await this.node.clock.advance(Math.min(left, PIECE_MS));
      this.#pressureInvariants.checkConditions();
      this.plugin.check((uid) => this.plans.get(uid)?.hasDevices === true);
    }
    this.node.forgetCalls();
    if (this.api.server.calls.length > 500) this.api.server.calls.length = 0;
  }

  /** The pods of the API that the agent must run. */
  own(): Pod[] {
    return this.api.server
      .all(pods)
      .filter(
        (pod) => pod.spec.nodeName === NODE_NAME && pod.metadata.annotations?.[annotations.configMirror] === undefined,
      );
  }

  mirrors(): Pod[] {
    return this.api.server
      .all(pods)
      .filter((pod) => pod.metadata.annotations?.[annotations.configMirror] !== undefined);
  }

  addPod(name = `pod-${++this.#count}`): string {
    const plan: Plan = {
      kind: pick(this.random, ['server', 'server', 'server', 'task', 'failing-task']),
      hasGate: chance(this.random, 0.15),
      hasDevices: chance(this.random, 0.2),
    };
    const resources = plan.hasDevices ? { limits: { [RESOURCE]: '1' } } : undefined;
    const behaviour =
      plan.kind === 'server'
        ? { stopMs: between(this.random, 1, 3000) }
        : { exitAfterMs: between(this.random, 50, 60_000), exitCode: plan.kind === 'task' ? 0 : 3 };
    const pod = buildPod({
      'metadata.name': name,
      'metadata.uid': '',
      'spec.nodeName': NODE_NAME,
      'spec.restartPolicy': plan.kind === 'server' ? 'Always' : 'Never',
      'spec.terminationGracePeriodSeconds': between(this.random, 0, 10),
      'spec.containers': [
        {
          name: 'main',
          image: pick(this.random, IMAGES),
          command: ['simulate'],
          args: [JSON.stringify(behaviour)],
          ...(resources === undefined ? {} : { resources }),
        },
      ],
      ...(chance(this.random, 0.1) ? { 'spec.priority': 2_000_000_000 } : {}),
      ...(plan.hasGate ? { 'spec.readinessGates': [{ conditionType: GATE }] } : {}),
      ...(chance(this.random, 0.1) ? { 'metadata.finalizers': ['example.com/keep'] } : {}),
    });
    const { uid } = this.api.server.seed(pods, pod).metadata;
    this.plans.set(uid, plan);
    this.pressure.uses.set(uid, { memoryBytes: 50 * 2 ** 20, diskBytes: 0 });
    return `${plan.kind} ${name} ${uid.slice(0, 8)}`;
  }

  lose(): void {
    this.#rebootedMs = this.node.clock.monotonicMs();
  }

  /** Removes all containers and sandboxes from the runtime, including ended ones. */
  sweep(): void {
    this.lose();
    this.#wasSwept = true;
    const { runtime, cgroups } = this.node;
    for (const sandbox of runtime.sandboxes()) {
      runtime.killSandbox(sandbox.id, { withContainers: true });
      for (const container of runtime.containers(sandbox.config.uid)) runtime.removeContainerByHand(container.id);
      runtime.removeSandboxByHand(sandbox.id);
    }
    cgroups.groups.clear();
  }

  #at(): string {
    return (this.node.clock.monotonicMs() / 1000).toFixed(3);
  }

  /**
   * Checks that only the loss of the machine starts a container a second time, never an outage or the end of an agent.
   */
  #started(id: string): void {
    const container = this.node.runtime.containerById(id);
    if (container === undefined) return;
    const { uid, name } = container.sandbox.config;
    // A static pod that a shutdown ended runs again when that is cancelled.
    const key = `${uid} ${this.#rebootedMs}${name.startsWith('static-') ? ` ${this.cancelledShutdowns}` : ''}`;
    const times = (this.#starts.get(key) ?? 0) + 1;
    this.#starts.set(key, times);
    if (times > 1) this.report(`${name} ${uid.slice(0, 8)} was started ${times} times`);
    const plan = this.plans.get(uid);
    if (
      plan !== undefined &&
      plan.kind !== 'server' &&
      [...this.#starts.keys()].filter((each) => each.startsWith(uid)).length > 1
    )
      this.trace.push(`${this.#at()} ${name} runs again after the reboot`);
  }

  #judge({ verb, before, after }: PodWrite): void {
    const who = `${before.metadata.name} ${before.metadata.uid.slice(0, 8)}`;
    if (verb === 'delete') return this.#judgeDeletion(before, who);
    if (after === undefined) return;
    const earlier = before.status ?? {};
    const now = after.status ?? {};
    // Of a static pod's status only this agent's records know the times.
    const isMirror = before.metadata.annotations?.[annotations.configMirror] !== undefined;
    if (
      !isMirror &&
      withoutTimes(earlier) === withoutTimes(now) &&
      before.metadata.resourceVersion !== after.metadata.resourceVersion
    )
      this.report(`${who}: a status that differs only in time: ${differenceOf({ verb, before, after })}`);
    const isOver = isTerminalPhase(earlier.phase) && !(isMirror && this.wasShutDown);
    if (isOver && earlier.phase !== now.phase) this.report(`${who} went from ${earlier.phase} to ${now.phase}`);
    if (isOver && endsOf(earlier) !== '' && endsOf(earlier) !== endsOf(now))
      this.report(`${who} is over, and the ends of its containers became others: ${endsOf(earlier)} -> ${endsOf(now)}`);
    if (earlier.startTime !== undefined && earlier.startTime !== now.startTime)
      this.report(`${who}: startTime ${earlier.startTime} became ${now.startTime}`);
    const counts = (pod: Pod): number => pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
    if (counts(after) < counts(before) && !this.#wasSwept)
      this.report(`${who}: restartCount ${counts(before)} became ${counts(after)}`);
    if (conditionOf(before, GATE) !== conditionOf(after, GATE))
      this.report(`${who}: a condition of others was changed`);
    if (
      isTerminalPhase(now.phase) &&
      !isTerminalPhase(earlier.phase) &&
      this.node.runtime
        .containers(before.metadata.uid)
        .some((container) => container.state === 'running' && !container.dead)
    )
      this.report(`${who} is ${now.phase} and runs`);
    const flipped =
      conditionOf(before, 'ContainersReady') === 'True' && conditionOf(after, 'ContainersReady') === 'False';
    const mayFlip =
      before.metadata.deletionTimestamp !== undefined ||
      isTerminalPhase(now.phase) ||
      this.plans.get(before.metadata.uid)?.kind !== 'server' ||
      this.#rebootedMs >= 0 ||
      this.#mayBeEnded(before.metadata.uid);
    if (flipped && !mayFlip) this.report(`${who} was ready and is not: ${JSON.stringify(now)}`);
  }

  #judgeDeletion(before: Pod, who: string): void {
    const { uid } = before.metadata;
    if (before.metadata.annotations?.[annotations.configMirror] !== undefined) return;
    if (before.metadata.deletionTimestamp === undefined) this.report(`${who} was deleted without a request`);
    for (const left of this.#leftOf(uid)) this.report(`${who} was deleted while there was ${left}`);
  }

  #leftOf(uid: string): string[] {
    const { runtime, cgroups, mounts } = this.node;
    return [
      ...runtime
        .containers(uid)
        .filter((container) => container.state === 'running' && !container.dead)
        .map((container) => `container ${container.config.name}`),
      ...runtime
        .sandboxes(uid)
        .filter((sandbox) => sandbox.ready)
        .map(() => 'a sandbox'),
      ...[...cgroups.groups.keys()].filter((name) => name.includes(uid)).map((name) => `cgroup ${name}`),
      ...mounts.mounted.filter(({ path }) => path.includes(uid)).map(({ path }) => `mount ${path}`),
    ];
  }

  async #heal(): Promise<void> {
    this.trace.push(`${this.#at()} heal`);
    this.api.comeBack();
    this.api.storm = { share: 0, effective: 0 };
    this.node.gate = () => undefined;
    this.pressure.relax();
    this.plugin.heal();
    if (this.node.agent === undefined) this.node.start();
    await this.#converge('after the faults');
    await this.advance(2 * TRANSITION_MS);
    this.#pressureInvariants.checkEnd();
    for (const violation of this.plugin.violations) this.report(violation);
  }

  async #converge(when: string): Promise<void> {
    const endMs = this.node.clock.monotonicMs() + CONVERGENCE_MS;
    let problems = this.problems();
    while (problems.length > 0 && this.node.clock.monotonicMs() < endMs) {
      await this.advance(LOOK_MS);
      if (this.node.agent === undefined) this.node.start();
      problems = this.problems();
    }
    for (const problem of problems.slice(0, 5)) this.report(`${when}: ${problem}`);
  }

  async #restartSettled(): Promise<void> {
    if (this.violations.length > 0) return;
    // Nothing is settled that a watch that is half dead has not reported yet.
    this.api.server.endWatches(new ApiStatusError('Expired', 'too old resource version'));
    await this.advance(20_000);
    const writes: string[] = [];
    const judge = this.api.onPodWrite;
    this.api.onPodWrite = (write) => {
      judge?.(write);
      // What is kept for others' finalizers is deleted once by each agent, as with upstream.
      if (write.verb === 'delete' && write.after !== undefined) return;
      writes.push(`${write.verb} ${write.before.metadata.name}: ${differenceOf(write)}`);
    };
    this.node.kill();
    this.node.start();
    await this.advance(30_000);
    this.api.onPodWrite = judge;
    for (const write of writes.slice(0, 3)) this.report(`a restart on a settled node led to ${write}`);
  }

  /** Deletes all pods as other clients would; everything must be removed. */
  async #clear(): Promise<void> {
    if (this.violations.length > 0) return;
    for (const file of [...this.manifests.keys()]) await this.dropManifest(file);
    for (const pod of this.own()) {
      await this.api.server.delete(pods, keyOf(pod), {});
      this.api.server.change(pods, keyOf(pod), (each) => ({ ...each, metadata: { ...each.metadata, finalizers: [] } }));
    }
    await this.#converge('after all was deleted');
    const left = [...this.own(), ...this.mirrors()].map((pod) => pod.metadata.name);
    if (left.length > 0) this.report(`left in the API: ${left.join(', ')}`);
  }

  async writeManifest(file: string): Promise<void> {
    const name = `static-${file}`;
    const version = String(++this.#count);
    this.manifests.set(file, version);
    const manifest = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, labels: { version } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [{ name: 'main', image: IMAGES[0], command: ['simulate'], args: ['{}'] }],
      },
    };
    await this.node.files.writeFileAtomic(`${paths.manifests}/${file}.json`, JSON.stringify(manifest), 0o600);
  }

  async dropManifest(file: string): Promise<void> {
    this.manifests.delete(file);
    await this.node.files.remove(`${paths.manifests}/${file}.json`);
  }

  /** Everything that differs from the desired state or is not reported correctly. */
  problems(): string[] {
    const own = this.own();
    const problems = own.flatMap((pod) => this.#ofPod(pod));
    const known = new Set(own.map((pod) => pod.metadata.uid));
    for (const [file, version] of this.manifests) problems.push(...this.#ofMirror(file, version));
    if (this.mirrors().length > this.manifests.size)
      problems.push(`${this.mirrors().length} mirrors of ${this.manifests.size} static pods`);
    const foreign = this.node.runtime
      .sandboxes()
      .filter((sandbox) => !known.has(sandbox.config.uid) && !sandbox.config.name.startsWith('static-'));
    for (const sandbox of foreign)
      problems.push(`a sandbox of ${sandbox.config.name} ${sandbox.config.uid.slice(0, 8)} is left`);
    return problems;
  }

  #ofPod(pod: Pod): string[] {
    const { uid, name, deletionTimestamp, finalizers = [] } = pod.metadata;
    const who = `${name} ${uid.slice(0, 8)}`;
    const { runtime } = this.node;
    const running = runtime.containers(uid).filter((container) => container.state === 'running' && !container.dead);
    const left = this.#leftOf(uid);
    if (deletionTimestamp !== undefined) {
      if (finalizers.length === 0)
        return [
          `${who} is deleted and still in the API, with ${left.join(', ') || 'nothing left of it'}, phase ${pod.status?.phase}`,
        ];
      return left.length > 0 || !isTerminalPhase(pod.status?.phase)
        ? [`${who} is deleted, with ${left.join(', ')}, phase ${pod.status?.phase}`]
        : [];
    }
    const plan = this.plans.get(uid);
    if (isTerminalPhase(pod.status?.phase)) {
      const wanted = plan?.kind === 'task' ? 'Succeeded' : 'Failed';
      const wasEnded = this.#wasEnded(pod);
      if (plan?.kind === 'server' && !wasEnded) return [`server ${who} is ${pod.status?.phase} ${pod.status?.reason}`];
      return pod.status?.phase === wanted || this.#rebootedMs >= 0 || wasEnded
        ? left.map((each) => `${who} is over, with ${each}`)
        : [`${who} is ${pod.status?.phase}, not ${wanted}`];
    }
    if (plan?.kind !== 'server') return [`${who} has not ended: ${pod.status?.phase}`];
    if (running.length !== 1) return [`${who} has ${running.length} containers, phase ${pod.status?.phase}`];
    const isReady = conditionOf(pod, 'Ready');
    const wantsReady = plan?.hasGate === true ? (conditionOf(pod, GATE) ?? 'False') : 'True';
    const status = pod.status?.containerStatuses?.[0];
    if (pod.status?.phase !== 'Running' || isReady !== wantsReady || status?.state?.running === undefined)
      return [`${who} runs and is reported as ${pod.status?.phase}, Ready ${isReady} instead of ${wantsReady}`];
    return status.containerID?.endsWith(running[0]?.id ?? '?') === true
      ? []
      : [`${who} is reported with another container`];
  }

  /** Whether the agent had a reason to end or reject this pod. */
  #wasEnded({ metadata: { uid }, status }: Pod): boolean {
    if (status?.phase !== 'Failed') return false;
    switch (status.reason) {
      case 'Evicted':
        return this.#pressureInvariants.evictedMs.has(uid) || this.wasShort;
      case 'Terminated':
      case 'NodeShutdown':
        return this.wasShutDown;
      case 'UnexpectedAdmissionError':
        return this.plans.get(uid)?.hasDevices === true;
      default:
        return false;
    }
  }

  #mayBeEnded(uid: string): boolean {
    return this.wasShutDown || this.#pressureInvariants.evictedMs.has(uid);
  }

  #ofMirror(file: string, version: string): string[] {
    const name = `static-${file}-${NODE_NAME}`;
    const mirror = this.mirrors().find((each) => each.metadata.name === name);
    if (mirror === undefined) return [`${name} has no mirror`];
    const owner = mirror.metadata.ownerReferences?.[0]?.uid;
    if (owner !== this.api.server.peek(nodes, { namespace: '', name: NODE_NAME })?.metadata.uid)
      return [`${name} has another owner`];
    if (mirror.metadata.labels?.['version'] !== version || mirror.metadata.deletionTimestamp !== undefined)
      return [`${name} is an old mirror`];
    return mirror.status?.phase === 'Running' && conditionOf(mirror, 'Ready') === 'True'
      ? []
      : [`${name} is reported as ${JSON.stringify(mirror.status)}`];
  }
}

function differenceOf({ before, after }: PodWrite): string {
  return JSON.stringify(computeStatusPatch('', before.status ?? {}, after?.status ?? {})?.status);
}

/** The terminated state of each container as text; containers that have not ended are left out. */
function endsOf(status: PodStatus): string {
  return (status.containerStatuses ?? [])
    .flatMap(({ name, state }) =>
      state?.terminated === undefined ? [] : [`${name} ${state.terminated.exitCode} ${state.terminated.reason}`],
    )
    .join();
}

function withoutTimes(value: unknown): string {
  return JSON.stringify(value, (key, inner: unknown) =>
    /^(lastTransitionTime|lastProbeTime|startTime|startedAt|finishedAt)$/.test(key) ? undefined : inner,
  );
}
