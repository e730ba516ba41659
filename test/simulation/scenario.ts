import { createHash } from 'node:crypto';
import { seededRandom } from '../../src/base/random.ts';
import type { Disturbance, Stage } from './disturbances.ts';
import { addPod, disturbances } from './disturbances.ts';
import { between, ManifestFolder, objectsManifest } from './manifests.ts';
import type { Violation } from './invariant-checker.ts';
import { InvariantChecker } from './invariant-checker.ts';
import { problemsOfUsers } from './invariants-users.ts';
import { ConvergenceCheck } from './convergence-check.ts';
import { SimulatedNode } from './world.ts';

export interface ScenarioOptions {
  readonly seed: number;
  /** The maximum number of pods. */
  readonly pods: number;
  readonly durationMs: number;
  /** The mean pause between two disturbances. */
  readonly pauseMs: number;
  /** The kinds of disturbances, as named in disturbances.ts; absent: all. */
  readonly kinds?: readonly string[];
}

export interface ScenarioResult {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** A hash of all requests to the runtime and all events of processes. */
  readonly hash: string;
  /** The virtual time of the run. */
  readonly totalMs: number;
  /** The time from the end of the faults until everything was as specified. */
  readonly convergedMs: number;
  readonly writes: number;
  readonly statuses: number;
  readonly trace: readonly string[];
  readonly logs: readonly string[];
}

/**
 * The longest times are the deadline of a hung call (4 min), the longest crash back-off (5 min) with jitter, and what
 * follows.
 */
const CONVERGENCE_LIMIT_MS = 15 * 60_000;
const CLEANUP_LIMIT_MS = 10 * 60_000;
const LOOK_MS = 1000;
/** How often explanations are checked; this is expensive with many pods. */
const EXPLAIN_MS = 10_000;
/** How long a pod may be unexplained before this is a fault. */
const NOTICE_MS = 5000;

/** The default scenario of a seed. */
export function smallScenario(seed: number): ScenarioOptions {
  const random = seededRandom(seed * 7919 + 1);
  return {
    seed,
    pods: between(random, 3, 9),
    durationMs: between(random, 3, 8) * 60_000,
    pauseMs: between(random, 2, 20) * 1000,
  };
}

/**
 * Runs one scenario from its seed: random pods and faults, then healing, a restart of the converged node, and the
 * removal of all pods.
 */
export async function runScenario(options: ScenarioOptions): Promise<ScenarioResult> {
  const run = new Scenario(options);
  await run.disturb();
  await run.heal();
  await run.restartSettled();
  await run.clear();
  return run.result();
}

class Scenario {
  readonly #options: ScenarioOptions;
  readonly #node: SimulatedNode;
  readonly #manifests: ManifestFolder;
  readonly #invariants: InvariantChecker;
  readonly #convergence: ConvergenceCheck;
  readonly #stage: Stage;
  readonly #trace: string[] = [];
  readonly #unexplained = new Map<string, number>();
  #convergedMs = -1;
  readonly #pick: readonly (readonly [number, string, Disturbance])[];

  constructor(options: ScenarioOptions) {
    this.#options = options;
    const random = seededRandom(options.seed);
    this.#node = new SimulatedNode({
      seed: options.seed,
      runtime: {
        abandonedTakesEffect: random.next() < 0.5 ? 0 : 0.5,
        exitLagMs: random.next() < 0.5 ? 0 : 25,
        journalLimit: 1_000_000,
      },
    });
    this.#manifests = new ManifestFolder(this.#node);
    this.#invariants = new InvariantChecker(this.#node, this.#manifests);
    this.#convergence = new ConvergenceCheck(this.#node, this.#manifests, this.#invariants);
    this.#stage = {
      node: this.#node,
      manifests: this.#manifests,
      invariants: this.#invariants,
      random,
      mostPods: options.pods,
      counter: { pods: 0, objects: 1 },
      lifts: new Set(),
    };
    this.#node.onAgent = (agent, kubelet) => this.#invariants.watch(agent, kubelet);
    this.#pick = disturbances.filter(([, kind]) => options.kinds === undefined || options.kinds.includes(kind));
  }

  async disturb(): Promise<void> {
    const { random } = this.#stage;
    await this.#manifests.write('objects.yaml', objectsManifest(0));
    for (let count = Math.ceil(this.#options.pods / 2); count > 0; count--) this.#say(await addPod(this.#stage));
    this.#node.start();
    const { clock } = this.#node;
    while (clock.monotonicMs() < this.#options.durationMs) {
      await this.#advance(-Math.log(1 - random.next()) * this.#options.pauseMs);
      this.#say(await this.#any()(this.#stage));
    }
  }

  /** Ends all faults and waits until everything is as specified. */
  async heal(): Promise<void> {
    const { clock, runtime } = this.#node;
    this.#say('heal');
    for (const lift of [...this.#stage.lifts]) lift();
    runtime.clearFaults();
    runtime.events.unsupported('cri', false);
    runtime.events.unsupported('containerd', false);
    this.#node.gate = () => undefined;
    this.#node.model.healed = true;
    await this.#manifests.write('objects.yaml', objectsManifest(this.#stage.counter.objects++));
    for (const file of this.#manifests.broken) await this.#manifests.remove(file);
    if (this.#node.agent === undefined) this.#node.start();
    const healedMs = clock.monotonicMs();
    let problems = this.#convergence.problems();
    while (problems.length > 0 && clock.monotonicMs() - healedMs < CONVERGENCE_LIMIT_MS) {
      await this.#advance(LOOK_MS);
      // A death that was decided on before may come with the end of a call.
      if (this.#node.agent === undefined) this.#node.start();
      problems = this.#convergence.problems();
    }
    this.#convergedMs = clock.monotonicMs() - healedMs;
    for (const problem of problems.slice(0, 5))
      this.#invariants.report(
        'I1',
        `not as wanted after ${CONVERGENCE_LIMIT_MS / 60_000} minutes without faults: ${problem}`,
      );
  }

  /** Restarts the agent on a converged node: it must only read the state of the runtime, and report nothing new. */
  async restartSettled(): Promise<void> {
    if (this.#invariants.violations.length > 0) return;
    await this.#advance(5000);
    const { statuses, effective } = this.#invariants;
    const writes = effective.length;
    const { readyChanges } = statuses;
    this.#say('kill -9 and start on the settled node');
    this.#node.kill();
    this.#node.start();
    await this.#advance(30_000);
    const asked = effective.slice(writes);
    for (const entry of asked.slice(0, 3))
      this.#invariants.report(
        'I2',
        `a restart of the agent on a settled node led to ${entry.op} of ${entry.target.podUid}/${entry.target.container ?? ''}`,
      );
    if (statuses.readyChanges !== readyChanges)
      this.#invariants.report(
        'I6',
        `a restart of the agent on a settled node changed ${statuses.readyChanges - readyChanges} Ready`,
      );
    for (const problem of this.#convergence.problems().slice(0, 3))
      this.#invariants.report('I1', `after a restart of the agent: ${problem}`);
  }

  /** Removes all manifests: nothing may be left. */
  async clear(): Promise<void> {
    if (this.#invariants.violations.length > 0) return;
    const { clock } = this.#node;
    this.#say('remove all manifests');
    for (const file of this.#manifests.names) await this.#manifests.remove(file);
    const beganMs = clock.monotonicMs();
    await this.#advance(LOOK_MS);
    let problems = this.#convergence.problems();
    while (problems.length > 0 && clock.monotonicMs() - beganMs < CLEANUP_LIMIT_MS) {
      await this.#advance(LOOK_MS);
      problems = this.#convergence.problems();
    }
    for (const problem of problems.slice(0, 5))
      this.#invariants.report(
        'I5',
        `${problem} ${Math.round((clock.monotonicMs() - beganMs) / 1000)} s after all manifests are gone`,
      );
    await this.#advance(30_000);
    const timers = this.#node.agent?.life.timers.size ?? 0;
    if (timers > MOST_IDLE_TIMERS)
      this.#invariants.report(
        'I5',
        `${timers} timers are armed on an idle node, more than ${MOST_IDLE_TIMERS}: ${[...(this.#node.agent?.life.timers.values() ?? [])].map((label) => label).join(', ')}`,
      );
  }

  result(): ScenarioResult {
    this.#invariants.takeRuntimeViolations();
    for (const error of this.#node.agentErrors) this.#invariants.report('agent', error);
    const { journal } = this.#node.runtime;
    const hash = createHash('sha256');
    for (const entry of journal.writes)
      hash.update(JSON.stringify([entry.atMs, entry.actor, entry.op, entry.target, entry.outcome]));
    for (const entry of journal.processes) hash.update(JSON.stringify(entry));
    return {
      seed: this.#options.seed,
      violations: this.#invariants.violations,
      hash: hash.digest('hex').slice(0, 16),
      totalMs: this.#node.clock.monotonicMs(),
      convergedMs: this.#convergedMs,
      writes: journal.writes.length,
      statuses: this.#invariants.statuses.published,
      trace: this.#trace,
      logs: this.#node.logs.map(
        (line) =>
          `${(line.atMs / 1000).toFixed(3)} ${line.agent} ${line.level} ${line.message} ${JSON.stringify(line.fields)}`,
      ),
    };
  }

  #any(): Disturbance {
    const total = this.#pick.reduce((sum, [weight]) => sum + weight, 0);
    let at = this.#stage.random.next() * total;
    for (const [weight, , disturbance] of this.#pick) {
      at -= weight;
      if (at < 0) return disturbance;
    }
    return () => undefined;
  }

  /** Advances the time, and checks explanations periodically. */
  async #advance(byMs: number): Promise<void> {
    const { clock } = this.#node;
    const endMs = clock.monotonicMs() + byMs;
    while (clock.monotonicMs() < endMs) {
      await clock.advance(Math.min(EXPLAIN_MS, endMs - clock.monotonicMs()));
      this.#look();
      this.#node.forgetCalls();
    }
  }

  #look(): void {
    this.#invariants.takeRuntimeViolations();
    this.#invariants.clients.look();
    const { agent, runtime, clock } = this.#node;
    for (const problem of problemsOfUsers(runtime.sandboxes())) this.#invariants.report('I9', problem);
    const nowMs = clock.monotonicMs();
    const mayKnow = agent?.started === true && nowMs - agent.startedMs > NOTICE_MS && !runtime.isDown;
    const unexplained = mayKnow ? this.#convergence.unexplained() : [];
    for (const known of [...this.#unexplained.keys()])
      if (!unexplained.includes(known)) this.#unexplained.delete(known);
    for (const problem of unexplained) {
      const sinceMs = this.#unexplained.get(problem) ?? nowMs;
      this.#unexplained.set(problem, sinceMs);
      if (nowMs - sinceMs < UNEXPLAINED_LIMIT_MS) continue;
      this.#invariants.report('I8', `for ${UNEXPLAINED_LIMIT_MS / 1000} s: ${problem}`);
      this.#unexplained.set(problem, Number.POSITIVE_INFINITY);
    }
  }

  #say(what: string | undefined): void {
    if (what !== undefined) this.#trace.push(`${(this.#node.clock.monotonicMs() / 1000).toFixed(3)} ${what}`);
  }
}

/** Lost events are noticed by the slow relist, every 60 s (and up to a tenth more). */
const UNEXPLAINED_LIMIT_MS = 75_000;
const MOST_IDLE_TIMERS = 12;
