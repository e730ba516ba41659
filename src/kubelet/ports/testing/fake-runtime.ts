import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Image } from '../images.ts';
import type { RuntimeCondition } from '../runtime.ts';
import { FakeRuntimeClient } from './fake-runtime-client.ts';
import type { FakeEventHub } from './fake-runtime-events.ts';
import type { RuntimeJournal } from './fake-runtime-journal.ts';
import type { FakeRuntimeOptions } from './fake-runtime-node.ts';
import { FakeNode } from './fake-runtime-node.ts';
import type { ContainerRecord, SandboxRecord } from './fake-runtime-records.ts';
import type { ContainerIdentity, ContainerScriptSource, FakeOp, FaultScope } from './fake-runtime-script.ts';

export type { FakeRuntimeOptions };

/**
 * A stateful container runtime in memory, with a fake clock: containerd's observable rules, scripts for the behaviour
 * of containers, and scripted faults. The object itself is the client of actor `agent`. `client(actor)` creates more
 * clients, each of which can be killed.
 */
export class FakeRuntime extends FakeRuntimeClient {
  constructor(options: FakeRuntimeOptions) {
    super(new FakeNode(options), 'agent');
  }

  client(actor: string): FakeRuntimeClient {
    return new FakeRuntimeClient(this.node, actor);
  }

  get journal(): RuntimeJournal {
    return this.node.journal;
  }

  /** Faults of streams: drop, delay, duplicate, reorder, disconnect, unsupported. */
  get events(): FakeEventHub {
    return this.node.hub;
  }

  // ---- Scripts ----

  /**
   * Sets the behaviour of containers with that name or image, or that `which` selects. The newest matching script
   * applies. Running containers do not change.
   */
  behaviour(which: string | ((container: ContainerIdentity) => boolean), script: ContainerScriptSource): void {
    this.node.addScript(
      typeof which === 'function' ? which : (container) => container.name === which || container.image === which,
      script,
    );
  }

  addImage(name: string, image: Partial<Image> = {}): void {
    this.node.addImage(name, image);
  }

  setHealth(health: { runtimeReady?: RuntimeCondition; networkReady?: RuntimeCondition }): void {
    Object.assign(this.node.health, health);
  }

  setLatency(op: FakeOp, ms: number): void {
    this.node.latencies[op] = ms;
  }

  // ---- Faults of calls. Each method returns a function that removes the fault. ----

  fail(op: FakeOp, fault: { kind: ErrorKind; message?: string } & FaultScope): () => void {
    return this.node.faults.add(
      op,
      { kind: 'fail', errorKind: fault.kind, message: fault.message ?? `${op} fails as scripted` },
      fault,
    );
  }

  /**
   * Makes calls hang. `keepsNameMs` is how long after the timeout of its caller a hung create still holds its reserved
   * name.
   */
  hang(op: FakeOp, scope: FaultScope & { keepsNameMs?: number } = {}): () => void {
    return this.node.faults.add(op, { kind: 'hang', keepsNameMs: scope.keepsNameMs ?? 0 }, scope);
  }

  lateSuccess(op: FakeOp, scope: FaultScope & { effectAfterMs?: number } = {}): () => void {
    return this.node.faults.add(op, { kind: 'lateSuccess', effectAfterMs: scope.effectAfterMs ?? 0 }, scope);
  }

  delay(op: FakeOp, ms: number, scope: FaultScope = {}): () => void {
    return this.node.faults.add(op, { kind: 'delay', ms }, scope);
  }

  staleRead(op: FakeOp, ms: number, scope: FaultScope = {}): () => void {
    return this.node.faults.add(op, { kind: 'staleRead', ms }, scope);
  }

  clearFaults(): void {
    this.node.faults.clear();
  }

  // ---- Faults of the node ----

  /**
   * Stops the runtime and starts it after `downMs`: pending and new calls fail with Unavailable, and streams break. By
   * default containers keep running. `exit` kills them; `unknown` means that the runtime does not know their state.
   */
  restart(options: { downMs: number; containers?: 'survive' | 'exit' | 'unknown' }): void {
    const { node } = this;
    node.down = true;
    const gone = new KubeletError('Unavailable', 'rpc error: code = Unavailable desc = error reading from server: EOF');
    for (const call of [...node.inflight]) call.cutOff(gone);
    node.hub.disconnect();
    for (const container of node.containers.values()) {
      // The runtime's process waits for the kill. The signal that was sent still takes effect.
      container.killTimer?.cancel();
      if (container.state !== 'running') continue;
      if (options.containers === 'exit') node.exit(container, { exitCode: 137, by: 'outside' });
      if (options.containers === 'unknown') node.setState(container, 'unknown');
    }
    node.clock.setTimer(options.downMs, () => {
      node.down = false;
    });
  }

  get isDown(): boolean {
    return this.node.down;
  }

  /** Kills the process of a container from outside, with exit code 137 as for SIGKILL, or the given one. */
  killContainer(id: string, end: { exitCode?: number; oomKilled?: boolean } = {}): void {
    this.node.exit(this.node.container(id), {
      exitCode: end.exitCode ?? 137,
      by: 'outside',
      reason: end.oomKilled === true ? 'OOMKilled' : undefined,
    });
  }

  /** Kills the pause process. Its containers keep running unless `withContainers` is set. */
  killSandbox(id: string, options: { withContainers?: boolean } = {}): void {
    const sandbox = this.node.sandbox(id);
    if (options.withContainers === true)
      for (const container of sandbox.containers)
        if (container.state === 'running') this.node.exit(container, { exitCode: 137, by: 'outside' });
    this.node.sandboxDied(sandbox);
  }

  /** Does what `crictl rm -f` by another user does. */
  removeContainerByHand(id: string): void {
    this.node.dropContainer(this.node.container(id));
  }

  removeSandboxByHand(id: string): void {
    const sandbox = this.node.sandbox(id);
    this.node.sandboxDied(sandbox);
    this.node.dropSandbox(sandbox);
  }

  // ---- Inspection, bypassing all calls and faults ----

  sandboxes(podUid?: string): readonly SandboxRecord[] {
    return [...(podUid === undefined ? this.node.sandboxes.values() : (this.node.sandboxesByUid.get(podUid) ?? []))];
  }

  containers(podUid?: string): readonly ContainerRecord[] {
    return podUid === undefined
      ? [...this.node.containers.values()]
      : this.sandboxes(podUid).flatMap((sandbox) => [...sandbox.containers]);
  }

  /** Returns the newest container of that name in the pod; undefined if there is none. */
  container(podUid: string, name: string): ContainerRecord | undefined {
    return this.containers(podUid).reduce<ContainerRecord | undefined>(
      (newest, candidate) =>
        candidate.config.name === name && (newest === undefined || candidate.config.attempt > newest.config.attempt)
          ? candidate
          : newest,
      undefined,
    );
  }

  /**
   * Whether a pod's address answers: one of its containers runs and is past its `readyAfterMs`. It is for fakes of the
   * network.
   */
  isServing(podIp: string): boolean {
    const sandbox = this.node.sandboxesByIp.get(podIp);
    if (sandbox?.ready !== true) return false;
    for (const { state, startedAtMs, script } of sandbox.containers)
      if (state === 'running' && this.node.clock.nowMs() - startedAtMs >= (script.readyAfterMs ?? 0)) return true;
    return false;
  }
}
