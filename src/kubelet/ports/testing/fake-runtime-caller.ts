import { KubeletError } from '../../../base/errors.ts';
import type { CallOptions, EventSourceKind, RuntimeEventSource } from '../runtime.ts';
import type { CallContext, Work } from './fake-runtime-call.ts';
import { PendingCall } from './fake-runtime-call.ts';
import type { JournalEntry } from './fake-runtime-journal.ts';
import type { FakeNode } from './fake-runtime-node.ts';
import type { CallTarget, FakeOp } from './fake-runtime-script.ts';
import { WRITE_OPS } from './fake-runtime-script.ts';

/**
 * Calls the fake runtime for an agent, with faults, delays and the journal. `kill` is that agent's kill -9: its
 * promises never settle, new calls do nothing, and its streams deliver nothing more. Earlier requests may still take
 * effect (`abandonedTakesEffect`).
 */
export class FakeRuntimeCaller {
  protected readonly node: FakeNode;
  readonly actor: string;
  readonly #mine = new Set<{ abandon: () => void }>();
  #killed = false;

  constructor(node: FakeNode, actor: string) {
    this.node = node;
    this.actor = actor;
  }

  kill(): void {
    this.#killed = true;
    for (const call of [...this.#mine]) call.abandon();
  }

  eventSource(kind: EventSourceKind): RuntimeEventSource {
    return this.node.hub.source(kind, () => this.#killed);
  }

  protected call<T>(op: FakeOp, target: CallTarget, options: CallOptions | undefined, work: Work<T>): Promise<T> {
    if (this.#killed) return new Promise<T>(() => undefined);
    const { node } = this;
    node.journal.count(op);
    const entry: JournalEntry | undefined = WRITE_OPS.has(op)
      ? { atMs: node.clock.monotonicMs(), actor: this.actor, op, target, outcome: '' }
      : undefined;
    if (entry !== undefined) node.journal.write(entry);
    try {
      if (options?.signal?.aborted === true) throw new KubeletError('Aborted', `${op} was cancelled`, { op });
      if (node.down)
        throw new KubeletError(
          'Unavailable',
          'rpc error: code = Unavailable desc = connection error: no such file or directory',
          { op },
        );
      const fault = node.faults.take(op, target);
      const latencyMs = node.latencyOf(op);
      if (fault === undefined && latencyMs === 0) {
        work.begin?.();
        const answer = this.#commit(work);
        if (!(answer instanceof Promise)) {
          if (entry !== undefined) entry.outcome = 'ok';
          return Promise.resolve(answer as T);
        }
        return new PendingCall(this.#context(op, target, entry), {
          options,
          work,
          latencyMs: 0,
          fault,
          begun: true,
          answer,
        }).promise;
      }
      if (fault?.kind !== 'fail') work.begin?.();
      return new PendingCall(this.#context(op, target, entry), {
        options,
        work,
        latencyMs,
        fault,
        begun: fault?.kind !== 'fail',
        answer: undefined,
      }).promise;
    } catch (error) {
      if (entry !== undefined) entry.outcome = String(error);
      return Promise.reject(error as Error);
    }
  }

  protected aboutSandbox(id: string): CallTarget {
    const sandbox = this.node.sandboxes.get(id);
    return sandbox === undefined ? { id } : { id, podUid: sandbox.config.uid, attempt: sandbox.config.attempt };
  }

  protected aboutContainer(id: string): CallTarget {
    const container = this.node.containers.get(id);
    if (container === undefined) return { id };
    const { config, sandbox } = container;
    return {
      id,
      podUid: sandbox.config.uid,
      container: config.name,
      attempt: config.attempt,
      image: config.image.userSpecifiedImage,
    };
  }

  protected limited<T>(items: T[]): T[] {
    const limit = this.node.options.listLimit;
    if (limit === undefined || items.length <= limit) return items;
    throw new KubeletError(
      'Internal',
      'rpc error: code = ResourceExhausted desc = grpc: received message larger than max (16800000 vs. 16777216)',
      { op: 'list' },
    );
  }

  #commit<T>(work: Work<T>): T | Promise<T> {
    try {
      return work.commit();
    } catch (error) {
      work.rollback?.();
      throw error;
    }
  }

  #context(op: FakeOp, target: CallTarget, entry: JournalEntry | undefined): CallContext {
    return { node: this.node, mine: this.#mine, op, target, entry };
  }
}
