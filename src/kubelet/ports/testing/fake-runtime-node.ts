import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Random } from '../../../base/random.ts';
import { seededRandom } from '../../../base/random.ts';
import { podUid } from '../../model/ids.ts';
import type { Image } from '../images.ts';
import type { ContainerConfig, RuntimeEvent, RuntimeHealth, SandboxConfig } from '../runtime.ts';
import { FakeEventHub } from './fake-runtime-events.ts';
import { RuntimeJournal } from './fake-runtime-journal.ts';
import type { ContainerRecord, SandboxRecord } from './fake-runtime-records.ts';
import { containerName, containerStatus, sandboxName, sandboxStatus, sandboxUid } from './fake-runtime-records.ts';
import type { ContainerIdentity, ContainerScriptSource, FakeOp, Latencies } from './fake-runtime-script.ts';
import { DEFAULT_LATENCIES, ScriptedFaults } from './fake-runtime-script.ts';

export interface FakeRuntimeOptions {
  readonly clock: Clock;
  /** The seed for latency jitter and random choices; default 1. */
  readonly seed?: number;
  /** Replaces single defaults; `{}` keeps all. */
  readonly latencies?: Latencies;
  /** The random increase of latencies, as a share; default 0. */
  readonly jitterFactor?: number;
  /** The probability that a write takes effect although its caller timed out or died; default 0. */
  readonly abandonedTakesEffect?: number;
  /**
   * The time between an exit's event and the moment when the runtime's status shows it, as with containerd 1.6; default
   * 0.
   */
  readonly exitLagMs?: number;
  /**
   * The time between the events of an OOM kill and the moment when the runtime's status shows it as the reason of the
   * exit; default 0.
   */
  readonly oomLagMs?: number;
  /** The images at the start. CreateContainer fails for others; pulls succeed for any name. */
  readonly images?: readonly string[];
  /** The maximum number of items of a list. Longer ones fail as a list above gRPC's message limit does. */
  readonly listLimit?: number;
  readonly journalLimit?: number;
}

export interface FakeImage extends Image {
  readonly name: string;
}

/** A pending operation, which a runtime restart cancels. */
export interface Inflight {
  readonly cutOff: (error: KubeletError) => void;
}

/**
 * The state and the rules of the fake runtime, without calls and their latencies. Invariants: a reserved name has
 * exactly one holder; an exited container never changes again; ids are never reused.
 */
export class FakeNode {
  readonly clock: Clock;
  readonly random: Random;
  readonly faults = new ScriptedFaults();
  readonly journal: RuntimeJournal;
  readonly hub: FakeEventHub;
  readonly latencies: Latencies;
  readonly options: FakeRuntimeOptions;
  readonly sandboxes = new Map<string, SandboxRecord>();
  readonly containers = new Map<string, ContainerRecord>();
  readonly sandboxesByUid = new Map<string, Set<SandboxRecord>>();
  readonly sandboxesByIp = new Map<string, SandboxRecord>();
  readonly images = new Map<string, FakeImage>();
  readonly inflight = new Set<Inflight>();
  readonly health: RuntimeHealth;
  down = false;
  /** The number of abandoned or failed calls that take effect later. */
  lateEffects = 0;
  podCidr = '';
  readonly #reserved = new Map<string, string>();
  readonly #scripts: { match: (container: ContainerIdentity) => boolean; source: ContainerScriptSource }[] = [];
  #ids = 0;
  #addresses = 0;

  constructor(options: FakeRuntimeOptions) {
    this.options = options;
    this.clock = options.clock;
    this.random = seededRandom(options.seed ?? 1);
    this.latencies = { ...DEFAULT_LATENCIES, ...options.latencies };
    this.journal = new RuntimeJournal(options.journalLimit ?? 200_000);
    this.hub = new FakeEventHub(options.clock, () => this.down);
    this.health = {
      runtimeReady: { ok: true, reason: '', message: '' },
      networkReady: { ok: true, reason: '', message: '' },
      handlers: [{ name: '', recursiveReadOnlyMounts: true, userNamespaces: true }],
      supplementalGroupsPolicy: true,
    };
    for (const name of options.images ?? []) this.addImage(name);
  }

  latencyOf(op: FakeOp): number {
    const base = this.latencies[op] ?? 0;
    const factor = this.options.jitterFactor ?? 0;
    return base === 0 || factor === 0 ? base : base * (1 + this.random.next() * factor);
  }

  /** Runs an effect later that no caller awaits. */
  later(delayMs: number, effect: () => void): void {
    this.lateEffects++;
    this.clock.setTimer(delayMs, () => {
      this.lateEffects--;
      effect();
    });
  }

  newId(): string {
    const count = ++this.#ids;
    return (Math.imul(count, 0x9e3779b1) >>> 0).toString(16).padStart(8, '0') + count.toString(16).padStart(56, '0');
  }

  addScript(match: (container: ContainerIdentity) => boolean, source: ContainerScriptSource): void {
    this.#scripts.unshift({ match, source });
  }

  addImage(name: string, image: Partial<Image> = {}): FakeImage {
    const digest = fakeDigest(name);
    const added: FakeImage = {
      id: `sha256:${digest}`,
      repoTags: [name],
      repoDigests: [`${name.replace(/[:@].*$/, '')}@sha256:${digest}`],
      sizeBytes: 1_000_000,
      username: '',
      pinned: false,
      ...image,
      name,
    };
    this.images.set(name, added);
    return added;
  }

  findImage(name: string): FakeImage | undefined {
    const direct = this.images.get(name);
    if (direct !== undefined) return direct;
    for (const image of this.images.values())
      if (image.id === name || image.repoTags.includes(name) || image.repoDigests.includes(name)) return image;
    return undefined;
  }

  // ---- Names ----

  reserve(kind: 'sandbox' | 'container', name: string, id: string): void {
    const holder = this.#reserved.get(name);
    if (holder !== undefined)
      throw new KubeletError(
        'AlreadyExists',
        `failed to reserve ${kind} name "${name}": name "${name}" is reserved for "${holder}"`,
        { op: kind },
      );
    this.#reserved.set(name, id);
  }

  release(name: string): void {
    this.#reserved.delete(name);
  }

  // ---- Lookup ----

  sandbox(id: string): SandboxRecord {
    const sandbox = this.sandboxes.get(id);
    if (sandbox === undefined) throw new KubeletError('NotFound', `sandbox "${id}": not found`);
    return sandbox;
  }

  container(id: string): ContainerRecord {
    const container = this.containers.get(id);
    if (container === undefined) throw new KubeletError('NotFound', `container "${id}": not found`);
    return container;
  }

  // ---- Sandboxes ----

  addSandbox(id: string, config: SandboxConfig, runtimeHandler: string): SandboxRecord {
    const host = ++this.#addresses;
    const sandbox: SandboxRecord = {
      id,
      config,
      runtimeHandler,
      ready: true,
      createdAtMs: this.clock.nowMs(),
      ip: `10.88.${(host >> 8) & 255}.${host & 255}`,
      containers: new Set(),
      listed: undefined,
      status: undefined,
    };
    this.sandboxes.set(id, sandbox);
    this.sandboxesByIp.set(sandbox.ip, sandbox);
    const siblings = this.sandboxesByUid.get(config.uid);
    if (siblings === undefined) this.sandboxesByUid.set(config.uid, new Set([sandbox]));
    else {
      for (const other of siblings)
        if (other.ready)
          this.journal.violations.push(
            `pod ${config.uid} got sandbox ${config.attempt} while sandbox ${other.config.attempt} is ready`,
          );
      siblings.add(sandbox);
    }
    this.#emit('created', id, sandbox);
    this.#emit('started', id, sandbox);
    return sandbox;
  }

  sandboxDied(sandbox: SandboxRecord): void {
    if (!sandbox.ready) return;
    sandbox.ready = false;
    sandbox.listed = undefined;
    sandbox.status = undefined;
    this.#emit('stopped', sandbox.id, sandbox);
  }

  dropSandbox(sandbox: SandboxRecord): void {
    for (const container of [...sandbox.containers]) this.dropContainer(container);
    this.sandboxes.delete(sandbox.id);
    if (this.sandboxesByIp.get(sandbox.ip) === sandbox) this.sandboxesByIp.delete(sandbox.ip);
    const siblings = this.sandboxesByUid.get(sandboxUid(sandbox));
    siblings?.delete(sandbox);
    if (siblings?.size === 0) this.sandboxesByUid.delete(sandboxUid(sandbox));
    this.release(sandboxName(sandbox.config));
    this.#emit('deleted', sandbox.id, sandbox);
  }

  // ---- Containers ----

  addContainer(id: string, sandbox: SandboxRecord, config: ContainerConfig, imageRef: string): ContainerRecord {
    const identity: ContainerIdentity = {
      podUid: sandbox.config.uid,
      podName: sandbox.config.name,
      podNamespace: sandbox.config.namespace,
      name: config.name,
      attempt: config.attempt,
      image: config.image.userSpecifiedImage || config.image.image,
      command: [...config.command, ...config.args],
    };
    const source = this.#scripts.find((script) => script.match(identity))?.source ?? {};
    const container: ContainerRecord = {
      id,
      sandbox,
      config,
      resources: config.resources,
      script: typeof source === 'function' ? source(identity) : source,
      state: 'created',
      createdAtMs: this.clock.nowMs(),
      startedAtMs: 0,
      finishedAtMs: 0,
      exitCode: 0,
      reason: '',
      message: '',
      imageRef,
      dead: false,
      stoppedBy: undefined,
      exitTimer: undefined,
      killTimer: undefined,
      exitWaiters: [],
      listed: undefined,
      status: undefined,
    };
    this.containers.set(id, container);
    sandbox.containers.add(container);
    this.#emit('created', id, sandbox);
    return container;
  }

  startContainer(container: ContainerRecord, actor: string): void {
    const { script, sandbox } = container;
    for (const other of sandbox.containers) {
      if (
        other !== container &&
        other.state === 'running' &&
        !other.dead &&
        other.config.name === container.config.name
      ) {
        this.journal.violations.push(
          `two live instances of ${container.config.name} in pod ${sandboxUid(sandbox)}: attempts ${other.config.attempt} and ${container.config.attempt}`,
        );
      }
    }
    for (const sibling of this.sandboxesByUid.get(sandboxUid(sandbox)) ?? []) {
      if (sibling === sandbox) continue;
      for (const other of sibling.containers) {
        if (other.state === 'running' && !other.dead && other.config.name === container.config.name)
          this.journal.violations.push(
            `live instances of ${container.config.name} in two sandboxes of pod ${sandboxUid(sandbox)}`,
          );
      }
    }
    container.startedAtMs = this.clock.nowMs();
    container.state = 'running';
    this.#changed(container);
    this.#process(container, 'started', actor);
    this.#emit('started', container.id, sandbox);
    if (script.exitAfterMs !== undefined) {
      const exitCode = script.oomKilled === true ? 137 : (script.exitCode ?? 0);
      container.exitTimer = this.clock.setTimer(script.exitAfterMs, () =>
        this.exit(container, { exitCode, by: 'self', reason: script.oomKilled === true ? 'OOMKilled' : undefined }),
      );
    }
  }

  failStart(container: ContainerRecord, message: string): void {
    container.startedAtMs = 0;
    this.exit(container, { exitCode: 128, by: 'self', reason: 'StartError', message });
  }

  /**
   * Sends the stop signal and schedules the kill. Both may happen more than once, and the grace period can only shrink.
   */
  signal(container: ContainerRecord, graceMs: number, actor: string): void {
    if (container.dead || container.state !== 'running') return;
    const { script } = container;
    container.stoppedBy ??= actor;
    const by = container.stoppedBy;
    const killAt = (delayMs: number): void => {
      container.killTimer?.cancel();
      container.killTimer = this.clock.setTimer(delayMs, () => this.exit(container, { exitCode: 137, by }));
    };
    if (graceMs <= 0) {
      this.exit(container, { exitCode: 137, by });
      return;
    }
    killAt(graceMs);
    if (script.ignoresTerm === true) return;
    const stopMs = script.stopMs ?? 5;
    container.exitTimer?.cancel();
    container.exitTimer = this.clock.setTimer(stopMs, () =>
      this.exit(container, { exitCode: script.termExitCode ?? 143, by }),
    );
  }

  exit(
    container: ContainerRecord,
    end: { exitCode: number; by: string; reason?: string | undefined; message?: string },
  ): void {
    if (container.dead) return;
    container.dead = true;
    container.exitTimer?.cancel();
    container.killTimer?.cancel();
    container.finishedAtMs = this.clock.nowMs();
    container.exitCode = end.exitCode;
    container.reason = end.reason ?? (end.exitCode === 0 ? 'Completed' : 'Error');
    container.message = end.message ?? '';
    if (end.reason === 'OOMKilled' && this.options.oomLagMs !== undefined) {
      container.reason = 'Error';
      this.clock.setTimer(this.options.oomLagMs, () => {
        container.reason = 'OOMKilled';
        this.#changed(container);
      });
    }
    this.#process(container, 'exited', end.by);
    const show = (): void => {
      container.state = 'exited';
      this.#changed(container);
      const waiters = container.exitWaiters;
      container.exitWaiters = [];
      for (const waiter of waiters) waiter();
    };
    const lagMs = this.options.exitLagMs ?? 0;
    if (lagMs === 0) show();
    else this.clock.setTimer(lagMs, show);
    if (end.reason === 'OOMKilled') this.#emit('changed', container.id, container.sandbox);
    this.#emit('stopped', container.id, container.sandbox, {
      exitCode: end.exitCode,
      finishedAtMs: container.finishedAtMs,
    });
  }

  whenExited(container: ContainerRecord): Promise<void> {
    if (container.state !== 'running') return Promise.resolve();
    return new Promise((resolve) => container.exitWaiters.push(resolve));
  }

  dropContainer(container: ContainerRecord): void {
    if (container.state === 'running') this.exit(container, { exitCode: 137, by: 'outside' });
    if (!this.containers.delete(container.id)) return;
    container.sandbox.containers.delete(container);
    this.release(containerName(container.config, container.sandbox.config));
    this.#emit('deleted', container.id, container.sandbox);
  }

  setResources(container: ContainerRecord, resources: ContainerRecord['resources']): void {
    container.resources = { ...container.resources, ...resources };
    this.#changed(container);
  }

  setState(container: ContainerRecord, state: ContainerRecord['state']): void {
    container.state = state;
    this.#changed(container);
  }

  #changed(container: ContainerRecord): void {
    container.listed = undefined;
    container.status = undefined;
  }

  #process(container: ContainerRecord, what: 'started' | 'exited', by: string): void {
    const { config, sandbox, id, exitCode } = container;
    this.journal.process({
      atMs: this.clock.monotonicMs(),
      what,
      by,
      podUid: sandboxUid(sandbox),
      name: config.name,
      attempt: config.attempt,
      id,
      exitCode,
    });
  }

  #emit(kind: RuntimeEvent['kind'], id: string, sandbox: SandboxRecord, exit?: RuntimeEvent['exit']): void {
    if (this.hub.subscriberCount === 0) return;
    const event: RuntimeEvent = { kind, id, atMs: this.clock.nowMs(), podUid: podUid(sandboxUid(sandbox)), exit };
    if (this.hub.wantsPods)
      event.pod = { sandbox: sandboxStatus(sandbox), containers: [...sandbox.containers].map(containerStatus) };
    this.hub.emit(event);
  }
}

/** Returns 64 hex digits that depend only on the name (FNV-1a, repeated). */
function fakeDigest(name: string): string {
  let hash = 0x811c9dc5;
  for (let index = 0; index < name.length; index++) hash = Math.imul(hash ^ name.charCodeAt(index), 0x01000193) >>> 0;
  return hash.toString(16).padStart(8, '0').repeat(8);
}
