import type { PodStatus } from '../../src/api/core/pod-status.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { nodes, pods } from '../../src/api/client/resource-types.ts';
import { annotations } from '../../src/api/annotations.ts';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import { computeStatusPatch } from '../../src/kubelet/features/status/status-patch.ts';
import { between, chance, pick } from './manifests.ts';
import type { PodWrite, SimulatedApi } from './cluster-api.ts';
import { IMAGES, NODE_NAME, paths, SimulatedNode } from './world.ts';

type Act = (scenario: ClusterScenario) => Promise<string | undefined> | string | undefined;

const GATE = 'example.com/gate';
const STEPS = 40;
const CONVERGENCE_MS = 15 * 60_000;
const LOOK_MS = 1000;

/** What a pod of the scenario does: runs until it is stopped, or ends on its own. */
interface Plan {
  kind: 'server' | 'task' | 'failing-task';
  hasGate: boolean;
}

const keyOf = (pod: Pod): { namespace: string; name: string } => ({
  namespace: pod.metadata.namespace,
  name: pod.metadata.name,
});
const isTerminal = (phase: string | undefined): boolean => phase === 'Succeeded' || phase === 'Failed';
const conditionOf = (pod: Pod, type: string): string | undefined =>
  pod.status?.conditions?.find((each) => each.type === type)?.status;

/**
 * A node of a cluster whose pods are made, deleted and made again by others, with an API server that goes away, storms
 * and forgets, under agents that die.
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
  readonly #starts = new Map<string, number>();
  /** When each pod's machine went down under it. */
  #rebootedMs = -1;
  /**
   * Where the runtime and the record are gone while the API server is away, it is unknown how often containers were
   * started.
   */
  #wasSwept = false;
  #count = 0;

  constructor(seed: number) {
    this.random = seededRandom(seed);
    this.node = new SimulatedNode({ seed, cluster: true });
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
    this.node.start();
    for (let step = 0; step < STEPS; step++) {
      await this.advance(chance(this.random, 0.3) ? between(this.random, 0, 50) : between(this.random, 100, 30_000));
      const said = await pick(this.random, acts)(this);
      if (said !== undefined) this.trace.push(`${this.#at()} ${said}`);
    }
    await this.#heal();
    await this.#restartSettled();
    await this.#clear();
    const leaving = this.node.terminate();
    await this.advance(5000);
    await leaving;
  }

  async advance(ms: number): Promise<void> {
    await this.node.clock.advance(ms);
    this.node.forgetCalls();
    if (this.api.server.calls.length > 500) this.api.server.calls.length = 0;
  }

  /** Pods of the API that are the agent's to run. */
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
    };
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
        { name: 'main', image: pick(this.random, IMAGES), command: ['simulate'], args: [JSON.stringify(behaviour)] },
      ],
      ...(plan.hasGate ? { 'spec.readinessGates': [{ conditionType: GATE }] } : {}),
      ...(chance(this.random, 0.1) ? { 'metadata.finalizers': ['example.com/keep'] } : {}),
    });
    const { uid } = this.api.server.seed(pods, pod).metadata;
    this.plans.set(uid, plan);
    return `${plan.kind} ${name} ${uid.slice(0, 8)}`;
  }

  lose(): void {
    this.#rebootedMs = this.node.clock.monotonicMs();
  }

  /** Nothing of any pod is left in the runtime, not even dead containers. */
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

  /** No outage and no end of an agent starts a container a second time; only the loss of the machine does. */
  #started(id: string): void {
    const container = this.node.runtime.containerById(id);
    if (container === undefined) return;
    const { uid, name } = container.sandbox.config;
    const key = `${uid} ${this.#rebootedMs}`;
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
    const told = before.status ?? {};
    const now = after.status ?? {};
    // Of a static pod's status only this agent's records know the times.
    const isMirror = before.metadata.annotations?.[annotations.configMirror] !== undefined;
    if (
      !isMirror &&
      withoutTimes(told) === withoutTimes(now) &&
      before.metadata.resourceVersion !== after.metadata.resourceVersion
    )
      this.report(`${who}: a status that differs only in time: ${differenceOf({ verb, before, after })}`);
    if (isTerminal(told.phase) && told.phase !== now.phase)
      this.report(`${who} went from ${told.phase} to ${now.phase}`);
    if (isTerminal(told.phase) && endsOf(told) !== '' && endsOf(told) !== endsOf(now))
      this.report(`${who} is over, and the ends of its containers became others: ${endsOf(told)} -> ${endsOf(now)}`);
    if (told.startTime !== undefined && told.startTime !== now.startTime)
      this.report(`${who}: startTime ${told.startTime} became ${now.startTime}`);
    const counts = (pod: Pod): number => pod.status?.containerStatuses?.[0]?.restartCount ?? 0;
    if (counts(after) < counts(before) && !this.#wasSwept)
      this.report(`${who}: restartCount ${counts(before)} became ${counts(after)}`);
    if (conditionOf(before, GATE) !== conditionOf(after, GATE))
      this.report(`${who}: a condition of others was changed`);
    if (
      isTerminal(now.phase) &&
      !isTerminal(told.phase) &&
      this.node.runtime
        .containers(before.metadata.uid)
        .some((container) => container.state === 'running' && !container.dead)
    )
      this.report(`${who} is ${now.phase} and runs`);
    const flipped =
      conditionOf(before, 'ContainersReady') === 'True' && conditionOf(after, 'ContainersReady') === 'False';
    const mayFlip =
      before.metadata.deletionTimestamp !== undefined ||
      isTerminal(now.phase) ||
      this.plans.get(before.metadata.uid)?.kind !== 'server' ||
      this.#rebootedMs >= 0;
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
    if (this.node.agent === undefined) this.node.start();
    await this.#converge('after the faults');
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
    // Nothing is settled of which a watch that is half dead has not told yet.
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

  /** Deleted by others, everything goes. */
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

  /** What is not as the API and the manifests want it, or not told as it is. */
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
      return left.length > 0 || !isTerminal(pod.status?.phase)
        ? [`${who} is deleted, with ${left.join(', ')}, phase ${pod.status?.phase}`]
        : [];
    }
    const plan = this.plans.get(uid);
    if (isTerminal(pod.status?.phase)) {
      const wanted = plan?.kind === 'task' ? 'Succeeded' : 'Failed';
      if (plan?.kind === 'server' && pod.status?.phase !== 'Unknown' && pod.status?.reason !== 'meddled')
        return [`server ${who} is ${pod.status?.phase}`];
      return pod.status?.phase === wanted || this.#rebootedMs >= 0 || plan?.kind === 'server'
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
      : [`${name} is reported as ${mirror.status?.phase}, Ready ${conditionOf(mirror, 'Ready')}`];
  }
}

function differenceOf({ before, after }: PodWrite): string {
  return JSON.stringify(computeStatusPatch('', before.status ?? {}, after?.status ?? {})?.status);
}

/** How each container ended, as text; those that have not are left out. */
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

const anyPod = (scenario: ClusterScenario): Pod | undefined => {
  const own = scenario.own();
  return own.length === 0 ? undefined : pick(scenario.random, own);
};

const startLater = (scenario: ClusterScenario, delayMs: number): void =>
  void scenario.node.clock.setTimer(delayMs, () => {
    if (scenario.node.agent === undefined) scenario.node.start();
  });

const add: Act = (scenario) => (scenario.own().length > 8 ? undefined : `add ${scenario.addPod()}`);

const remove: Act = async (scenario) => {
  const pod = anyPod(scenario);
  if (pod === undefined) return undefined;
  const gracePeriodSeconds = pick(scenario.random, [30, 0, 1, 5]);
  await scenario.api.server.delete(pods, keyOf(pod), { gracePeriodSeconds });
  return `delete ${pod.metadata.name} ${pod.metadata.uid.slice(0, 8)} with grace ${gracePeriodSeconds}`;
};

const replace: Act = (scenario) => {
  const pod = anyPod(scenario);
  if (pod === undefined) return undefined;
  scenario.api.server.remove(pods, keyOf(pod));
  return `replace ${pod.metadata.uid.slice(0, 8)} by ${scenario.addPod(pod.metadata.name)}`;
};

const dropFinalizer: Act = (scenario) => {
  const pod = scenario
    .own()
    .find(({ metadata }) => (metadata.finalizers ?? []).length > 0 && metadata.deletionTimestamp !== undefined);
  if (pod === undefined) return undefined;
  scenario.api.server.change(pods, keyOf(pod), (each) => ({ ...each, metadata: { ...each.metadata, finalizers: [] } }));
  return `no finalizers at ${pod.metadata.name}`;
};

const setGate: Act = (scenario) => {
  const pod = scenario.own().find(({ metadata }) => scenario.plans.get(metadata.uid)?.hasGate === true);
  if (pod === undefined) return undefined;
  const status = pick(scenario.random, ['True', 'False'] as const);
  scenario.api.server.change(
    pods,
    keyOf(pod),
    (each): Pod => ({
      ...each,
      status: {
        ...each.status,
        conditions: [...(each.status?.conditions ?? []).filter(({ type }) => type !== GATE), { type: GATE, status }],
      },
    }),
  );
  return `gate of ${pod.metadata.name} ${status}`;
};

const meddle: Act = (scenario) => {
  const pod = scenario.own().find(({ status }) => status?.phase === 'Running');
  if (pod === undefined) return undefined;
  scenario.api.server.change(
    pods,
    keyOf(pod),
    (each): Pod => ({
      ...each,
      status: {
        ...each.status,
        phase: 'Pending',
        conditions: each.status?.conditions?.map((condition) =>
          condition.type === 'Ready' ? { ...condition, status: 'False' } : condition,
        ),
      },
    }),
  );
  return `a user sets ${pod.metadata.name} to pending`;
};

const outage: Act = (scenario) => {
  if (scenario.api.isAway) return undefined;
  const forMs = pick(scenario.random, [50, 2000, 30_000, 300_000]);
  scenario.api.goAway();
  scenario.node.clock.setTimer(forMs, () => scenario.api.comeBack());
  return `the API server is away for ${forMs} ms`;
};

const storm: Act = (scenario) => {
  const forMs = between(scenario.random, 500, 60_000);
  scenario.api.storm = { share: pick(scenario.random, [0.2, 0.6]), effective: pick(scenario.random, [0, 0.5]) };
  scenario.node.clock.setTimer(forMs, () => (scenario.api.storm = { share: 0, effective: 0 }));
  return `a storm of ${JSON.stringify(scenario.api.storm)} for ${forMs} ms`;
};

const forget: Act = (scenario) => {
  scenario.api.server.compact();
  scenario.api.server.endWatches(new ApiStatusError('Expired', 'too old resource version'));
  return 'the API server forgets the past';
};

const mute: Act = (scenario) => {
  scenario.api.server.muteWatches();
  return 'all watches are half dead';
};

const kill: Act = (scenario) => {
  const awayMs = pick(scenario.random, [0, 500, 5000, 60_000]);
  scenario.node.kill();
  startLater(scenario, awayMs);
  return `kill -9, start after ${awayMs} ms`;
};

const killAtCall: Act = (scenario) => {
  if (scenario.node.agent === undefined) return undefined;
  const step = between(scenario.random, 1, 30);
  const point = pick(scenario.random, ['before', 'during', 'after'] as const);
  scenario.node.dieAt({
    calls:
      /^(patch|delete|create|runSandbox|createContainer|startContainer|stopContainer|stopSandbox|remove|writeFileAtomic|appendFile)$/,
    step,
    point,
  });
  return `kill -9 ${point} the ${step}th write`;
};

/** What the agent knew of statuses is lost: the API server knows it. */
const killAndForget: Act = async (scenario) => {
  scenario.node.kill();
  await scenario.node.files.remove(`${paths.state}/statuses.jsonl`);
  startLater(scenario, 500);
  return 'kill -9, and the record of statuses is lost';
};

/**
 * What the agent knew of statuses is older than what it told: it was killed before it was written down. Where the
 * machine went, too, nothing is left to read it from.
 */
const killWithOldRecord: Act = async (scenario) => {
  const path = `${paths.state}/statuses.jsonl`;
  const { node, random } = scenario;
  const old = node.files.peek(path);
  if (old === undefined) return undefined;
  await scenario.advance(between(random, 100, 30_000));
  node.kill();
  await node.files.writeFileAtomic(path, old, 0o600);
  if (chance(random, 0.5)) {
    startLater(scenario, 500);
    return 'kill -9, and the record of statuses is old';
  }
  scenario.sweep();
  startLater(scenario, 5000);
  for (const { path: mounted } of node.mounts.mounted.toReversed())
    if (mounted.startsWith(`${paths.root}/pods/`)) await node.mounts.unmount(mounted);
  return 'kill -9, the runtime is emptied, and the record of statuses is old';
};

/** Everything that ran is gone, and the API server is away for a while. */
const reboot: Act = async (scenario) => {
  const { node, api, random } = scenario;
  node.kill();
  scenario.lose();
  for (const sandbox of node.runtime.sandboxes())
    if (sandbox.ready) node.runtime.killSandbox(sandbox.id, { withContainers: true });
  for (const name of [...node.cgroups.groups.keys()]) node.cgroups.groups.delete(name);
  for (const { path } of node.mounts.mounted.toReversed())
    if (path.startsWith(`${paths.root}/pods/`)) await node.mounts.unmount(path);
  const forMs = pick(random, [0, 30_000, 300_000]);
  if (forMs > 0 && !api.isAway) {
    api.goAway();
    node.clock.setTimer(forMs, () => api.comeBack());
  }
  startLater(scenario, 5000);
  return `reboot, the API server away for ${forMs} ms`;
};

const writeManifest: Act = async (scenario) => {
  const file = pick(scenario.random, ['a', 'b']);
  await scenario.writeManifest(file);
  return `static pod ${file}`;
};

const dropManifest: Act = async (scenario) => {
  const file = [...scenario.manifests.keys()][0];
  if (file === undefined) return undefined;
  await scenario.dropManifest(file);
  return `no static pod ${file}`;
};

const deleteMirror: Act = async (scenario) => {
  const mirror = scenario.mirrors()[0];
  if (mirror === undefined) return undefined;
  await scenario.api.server.delete(pods, keyOf(mirror), {});
  return `delete the mirror ${mirror.metadata.name}`;
};

const deleteNode: Act = (scenario) => {
  scenario.api.server.remove(nodes, { namespace: '', name: NODE_NAME });
  for (const mirror of scenario.mirrors()) scenario.api.server.remove(pods, keyOf(mirror));
  return 'the node object is deleted';
};

const acts: readonly Act[] = [
  add,
  add,
  add,
  add,
  add,
  remove,
  remove,
  remove,
  replace,
  dropFinalizer,
  setGate,
  meddle,
  outage,
  outage,
  storm,
  storm,
  forget,
  mute,
  kill,
  kill,
  killAndForget,
  killWithOldRecord,
  killAtCall,
  killAtCall,
  reboot,
  writeManifest,
  writeManifest,
  dropManifest,
  deleteMirror,
  deleteNode,
];
