import { restartsAfterExit } from '../../src/kubelet/features/pod-runtime/plan/restart-policy.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { Container } from '../../src/api/core/container.ts';
import type { ContainerStatus, PodPhase, PodStatus } from '../../src/api/core/pod-status.ts';
import type { Kubelet } from '../../src/kubelet/cmd/compose/compose-kubelet.ts';
import type { JournalEntry, ProcessEntry } from '../../src/kubelet/ports/testing/fake-runtime-journal.ts';
import type { ContainerRecord, SandboxRecord } from '../../src/kubelet/ports/testing/fake-runtime-records.ts';
import type { Instance } from './containers.ts';
import type { ManifestFolder } from './manifests.ts';
import { ClientView, isBackwards } from './client-view.ts';
import { StatusInvariants } from './invariants-status.ts';
import type { Agent, SimulatedNode } from './world.ts';

export interface Violation {
  readonly invariant: string;
  readonly message: string;
  readonly atMs: number;
}

/** The end of a container that should be visible in the pod's timeline. */
export interface Crash {
  readonly uid: string;
  readonly name: string;
  readonly atMs: number;
  readonly wallMs: number;
}

/** Watches a simulated node and reports which invariant of design and users-risks-faults.md was violated, and when. */
export class InvariantChecker {
  readonly violations: Violation[] = [];
  readonly crashes: Crash[] = [];
  readonly statuses: StatusInvariants;
  readonly clients: ClientView;
  readonly #node: SimulatedNode;
  readonly #manifests: ManifestFolder;
  readonly #instances = new Map<string, Instance>();
  readonly #pods = new Map<string, Pod>();
  /** Pods whose cgroup was removed by the scenario: they are recreated. */
  readonly cgroupLost = new Set<string>();
  /** Writes with an effect. Stopping a stopped container and removing an old run do not count. */
  readonly effective: JournalEntry[] = [];
  readonly #live = new Map<string, Set<string>>();
  /** Until this time the scenario makes the runtime's exec fail or hang, so exec probes fail for that reason. */
  execDisturbedUntilMs = -1;
  /** Until this time the state files differ from what the agent wrote. */
  stateLostMs = -1;

  constructor(node: SimulatedNode, manifests: ManifestFolder) {
    this.#node = node;
    this.#manifests = manifests;
    this.statuses = new StatusInvariants({
      node,
      instance: (id) => this.#instances.get(id),
      stateLostMs: () => this.stateLostMs,
      wantedSince: (uid, sinceMs) => manifests.isWantedSince(uid, sinceMs),
      execDisturbed: () => this.#node.clock.monotonicMs() <= this.execDisturbedUntilMs,
      report: (invariant, message) => this.report(invariant, message),
    });
    this.clients = new ClientView(node, (pod, before, phase) => {
      if (isBackwards(before, phase) && !this.#mayGoBack(pod, before))
        this.report('I4', `clients saw ${pod.metadata.name} go back from ${before} to ${phase}`);
    });
    const { journal } = node.runtime;
    const write = journal.write.bind(journal);
    const process = journal.process.bind(journal);
    journal.write = (entry) => {
      write(entry);
      this.#onWrite(entry);
    };
    journal.process = (entry) => {
      process(entry);
      this.#onProcess(entry);
    };
  }

  report(invariant: string, message: string): void {
    if (this.violations.length < 50) this.violations.push({ invariant, message, atMs: this.#node.clock.monotonicMs() });
  }

  watch(agent: Agent, kubelet: Kubelet): void {
    this.clients.watch(agent, kubelet);
    kubelet.records.statuses.onChange(({ uid, pod, status }) => {
      if (!agent.life.alive) return;
      this.#pods.set(uid, pod);
      this.statuses.onStatus(uid, pod, status);
    });
  }

  /** Whether something other than the agent reset the pod's progress. */
  #mayGoBack({ metadata, spec }: Pod, before: PodPhase): boolean {
    const { uid } = metadata;
    if (this.stateLostMs >= 0 || this.statuses.takenFrom.has(uid)) return true;
    // In a new sandbox the init containers run again (upstream: kubelet_pods.go getPhase).
    return (
      before === 'Running' && (spec.initContainers ?? []).length > 0 && this.#node.runtime.sandboxes(uid).length > 1
    );
  }

  lastStatus(uid: string): PodStatus | undefined {
    return this.statuses.last(uid);
  }

  // ---- I2: nothing healthy is stopped ----

  #onWrite(entry: JournalEntry): void {
    const id = entry.target.id ?? '';
    if (this.#hasEffect(entry)) this.effective.push(entry);
    if (entry.op === 'stopContainer' || entry.op === 'removeContainer') {
      const container = this.#node.runtime.containerById(id);
      if (container !== undefined) this.#judgeContainer(container, entry);
    } else if (entry.op === 'stopSandbox' || entry.op === 'removeSandbox') {
      const sandbox = this.#node.runtime.sandboxById(id);
      if (sandbox !== undefined) this.#judgeSandbox(sandbox, entry);
    }
  }

  #hasEffect(entry: JournalEntry): boolean {
    const { runtime } = this.#node;
    const id = entry.target.id ?? '';
    const container = runtime.containerById(id);
    if (entry.op === 'stopContainer') return container?.state === 'running';
    if (
      entry.op === 'removeContainer' &&
      container?.dead === true &&
      /Failed|Succeeded/.test(this.lastStatus(container.sandbox.config.uid)?.phase ?? '')
    )
      return false;
    if (entry.op === 'removeContainer')
      return (
        container !== undefined &&
        ((container.state === 'running' && !container.dead) ||
          runtime.container(container.sandbox.config.uid, container.config.name) === container)
      );
    const sandbox = runtime.sandboxById(id);
    if (entry.op === 'stopSandbox') return sandbox?.ready === true;
    return entry.op === 'removeSandbox' ? sandbox?.ready === true : true;
  }

  #judgeContainer(container: ContainerRecord, entry: JournalEntry): void {
    if (container.dead || container.state !== 'running') return;
    const { sandbox, config } = container;
    if (this.#mayEndPod(sandbox, container.startedAtMs)) return;
    if (!sandbox.ready) return;
    if (entry.op === 'stopContainer' && this.#failedProbe(container)) return;
    this.report(
      'I2',
      `${entry.actor} called ${entry.op} on the healthy container ${config.name} (attempt ${config.attempt}) of ${sandbox.config.name}`,
    );
  }

  #judgeSandbox(sandbox: SandboxRecord, entry: JournalEntry): void {
    const running = [...sandbox.containers].filter((container) => container.state === 'running' && !container.dead);
    if (!sandbox.ready && running.length === 0) return;
    if (this.#mayEndPod(sandbox, sandbox.createdAtMs)) return;
    if (!sandbox.ready && entry.op === 'stopSandbox') return;
    this.report(
      'I2',
      `${entry.actor} called ${entry.op} on the sandbox (attempt ${sandbox.config.attempt}) of ${sandbox.config.name}, with ${running.length} containers running`,
    );
  }

  /**
   * Whether the agent may end the pod: it is unwanted, or was at some time since `sinceWallMs`, or it is done, or this
   * is a surplus sandbox.
   */
  #mayEndPod(sandbox: SandboxRecord, sinceWallMs: number): boolean {
    const { uid } = sandbox.config;
    const { clock } = this.#node;
    const sinceMs = clock.monotonicMs() - Math.max(0, clock.nowMs() - sinceWallMs);
    if (!this.#manifests.isWantedSince(uid, Math.min(sinceMs, this.#startOf(sandbox)))) return true;
    if (this.#manifests.isDoubtful(uid, this.#node.agent?.startedMs ?? 0)) return true;
    const siblings = this.#node.runtime.sandboxes(uid);
    if (siblings.some((other) => other !== sandbox && (other.ready || other.config.attempt > sandbox.config.attempt)))
      return true;
    if (this.statuses.takenFrom.has(uid) && /Failed|Succeeded/.test(this.lastStatus(uid)?.phase ?? '')) return true;
    return this.isDone(uid) || this.cgroupLost.has(uid);
  }

  readonly #sandboxStarts = new WeakMap<SandboxRecord, number>();
  /**
   * The monotonic time at which the sandbox was first seen with a process; the wall clock may have been changed since.
   */
  #startOf(sandbox: SandboxRecord): number {
    return this.#sandboxStarts.get(sandbox) ?? this.#node.clock.monotonicMs();
  }

  /** Whether all containers of the pod have ended permanently. */
  isDone(uid: string): boolean {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return false;
    const ended = (container: Container): ContainerRecord | undefined => {
      const newest = this.#node.runtime.container(uid, container.name);
      return newest !== undefined && newest.dead ? newest : undefined;
    };
    for (const init of pod.spec.initContainers ?? []) {
      const end = init.restartPolicy === 'Always' ? undefined : ended(init);
      if (end !== undefined && end.exitCode !== 0 && !restartsAfterExit(pod, init, end.exitCode)) return true;
    }
    return pod.spec.containers.every((container) => {
      const end = ended(container);
      return end !== undefined && !restartsAfterExit(pod, container, end.exitCode);
    });
  }

  #failedProbe(container: ContainerRecord): boolean {
    const pod = this.#pods.get(container.sandbox.config.uid);
    const instance = this.#instances.get(container.id);
    const spec = [...(pod?.spec.initContainers ?? []), ...(pod?.spec.containers ?? [])].find(
      ({ name }) => name === container.config.name,
    );
    if (spec === undefined || instance === undefined) return false;
    for (const type of ['liveness', 'startup'] as const) {
      const probe = type === 'liveness' ? spec.livenessProbe : spec.startupProbe;
      if (probe === undefined) continue;
      if (instance.tally[type].failedInRow >= (probe.failureThreshold ?? 3)) return true;
      if (probe.exec !== undefined && this.#node.clock.monotonicMs() <= this.execDisturbedUntilMs) return true;
    }
    return false;
  }

  // ---- I3: one live instance ----

  #onProcess(entry: ProcessEntry): void {
    const record = this.#node.runtime.containerById(entry.id);
    if (record === undefined) return;
    const { config } = record.sandbox;
    const key = `${config.namespace}/${config.name}/${entry.name}`;
    const live = this.#live.get(key) ?? new Set();
    this.#live.set(key, live);
    if (entry.what === 'exited') {
      live.delete(entry.id);
      this.#noteEnd(entry);
      return;
    }
    const instance = this.#node.model.instance(record.script);
    if (instance !== undefined) this.#instances.set(entry.id, instance);
    if (!this.#sandboxStarts.has(record.sandbox)) this.#sandboxStarts.set(record.sandbox, entry.atMs);
    for (const id of live) {
      const other = this.#node.runtime.containerById(id);
      if (other?.state === 'running' && !other.dead)
        this.report(
          'I3',
          `${key} was started (pod ${entry.podUid}, attempt ${entry.attempt}) while ${other.sandbox.config.uid}, attempt ${other.config.attempt} runs`,
        );
    }
    live.add(entry.id);
  }

  #noteEnd(entry: ProcessEntry): void {
    this.statuses.noteExit(entry.id, entry.exitCode);
    if (entry.by === 'outside' || (entry.by === 'self' && entry.exitCode !== 0))
      this.crashes.push({ uid: entry.podUid, name: entry.name, atMs: entry.atMs, wallMs: this.#node.clock.nowMs() });
  }

  /** Reports the violations that the fake runtime found. */
  takeRuntimeViolations(): void {
    const { violations } = this.#node.runtime.journal;
    // A sandbox that appears late, from a call for which the runtime returned an error, is the runtime's fault.
    // Containers in two sandboxes are the agent's fault.
    for (const violation of violations.splice(0))
      if (!violation.includes(' got sandbox ')) this.report('I3', violation);
  }

  containerStatuses(status: PodStatus): ContainerStatus[] {
    return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  }
}
