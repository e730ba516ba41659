import type { Timer } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { CallOptions } from '../runtime.ts';
import type { JournalEntry } from './fake-runtime-journal.ts';
import type { FakeNode, Inflight } from './fake-runtime-node.ts';
import type { CallTarget, FakeOp } from './fake-runtime-script.ts';
import { defaultLimitMs } from './fake-runtime-script.ts';

export interface Work<T> {
  /** Called at the call's arrival. It may throw. */
  readonly begin?: () => void;
  /** Called at the end of the latency: the call takes effect and answers. */
  readonly commit: () => T | Promise<T>;
  /** Reverts `begin` if the call never takes effect. */
  readonly rollback?: () => void;
  /** Added to the latency of the table. */
  readonly limitMs?: number;
}

export interface CallContext {
  readonly node: FakeNode;
  readonly mine: Set<{ abandon: () => void }>;
  readonly op: FakeOp;
  readonly target: CallTarget;
  readonly entry: JournalEntry | undefined;
}

export interface CallPlan<T> {
  readonly options: CallOptions | undefined;
  readonly work: Work<T>;
  readonly latencyMs: number;
  readonly fault: ReturnType<FakeNode['faults']['take']>;
  readonly begun: boolean;
  /** The response of a call that has taken effect; undefined before. */
  readonly answer: Promise<T> | undefined;
}

/**
 * A call that takes time. It settles once: by its response, its caller's abort or deadline, a fault, or a shutdown of
 * the runtime.
 */
export class PendingCall<T> implements Inflight {
  readonly promise: Promise<T>;
  readonly #context: CallContext;
  readonly #plan: CallPlan<T>;
  #resolve!: (answer: T) => void;
  #reject!: (error: KubeletError) => void;
  #settled = false;
  #effect: Timer | undefined;
  #deadline: Timer | undefined;
  readonly #onAbort = (): void =>
    this.#giveUp(new KubeletError('Aborted', `${this.#context.op} was cancelled`, { op: this.#context.op }));

  constructor(context: CallContext, plan: CallPlan<T>) {
    this.#context = context;
    this.#plan = plan;
    this.promise = new Promise<T>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    context.node.inflight.add(this);
    context.mine.add(this);
    plan.options?.signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#start();
  }

  cutOff(error: KubeletError): void {
    this.#giveUp(error);
  }

  /** Drops the result, because the caller has died. */
  abandon(): void {
    this.#giveUp(undefined);
  }

  #start(): void {
    const { node } = this.#context;
    const { fault, answer, latencyMs, work, options } = this.#plan;
    const limitMs = options?.timeoutMs ?? work.limitMs ?? defaultLimitMs(this.#context.op);
    // A deadline costs a timer, so only calls that may reach it get one.
    const mayBeLong =
      answer !== undefined ||
      fault?.kind === 'hang' ||
      fault?.kind === 'delay' ||
      this.#context.op === 'stopContainer' ||
      this.#context.op === 'execSync' ||
      limitMs <= latencyMs * 2;
    if (mayBeLong && limitMs > 0 && Number.isFinite(limitMs)) {
      this.#deadline = node.clock.setTimer(limitMs, () =>
        this.#giveUp(
          new KubeletError('Timeout', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded', {
            op: this.#context.op,
          }),
        ),
      );
    }
    if (answer !== undefined) {
      this.#follow(answer);
      return;
    }
    if (fault?.kind === 'hang') return;
    if (fault?.kind === 'staleRead') {
      const stale = this.#attempt();
      stale.catch(() => undefined);
      this.#effect = node.clock.setTimer(latencyMs + fault.ms, () => this.#follow(stale));
      return;
    }
    const delayMs = latencyMs + (fault?.kind === 'delay' ? fault.ms : 0);
    this.#effect = node.clock.setTimer(delayMs, () => this.#arrive());
  }

  #arrive(): void {
    const { fault } = this.#plan;
    this.#effect = undefined;
    const { op, node } = this.#context;
    if (fault?.kind === 'fail') {
      this.#settle(new KubeletError(fault.errorKind, fault.message, { op }));
      return;
    }
    if (fault?.kind === 'lateSuccess') {
      if (fault.effectAfterMs > 0) node.later(fault.effectAfterMs, () => void this.#attempt().catch(() => undefined));
      else void this.#attempt().catch(() => undefined);
      this.#settle(
        new KubeletError('Timeout', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded', { op }),
      );
      return;
    }
    this.#follow(this.#attempt());
  }

  async #attempt(): Promise<T> {
    try {
      return await this.#plan.work.commit();
    } catch (error) {
      this.#plan.work.rollback?.();
      throw error;
    }
  }

  #follow(answer: Promise<T>): void {
    answer.then(
      (value) => this.#settle(undefined, value),
      (error: unknown) => this.#settle(error as KubeletError),
    );
  }

  /** Ends the call of a caller that gave up: the effect is reverted, or still happens. */
  #giveUp(error: KubeletError | undefined): void {
    if (this.#settled) return;
    const { node } = this.#context;
    const { fault, work, begun } = this.#plan;
    const effectPending = this.#effect !== undefined;
    if ((effectPending || fault?.kind === 'hang') && begun && fault?.kind !== 'lateSuccess') {
      const comesTrue = effectPending && node.random.next() < (node.options.abandonedTakesEffect ?? 0);
      if (fault?.kind === 'hang' && fault.keepsNameMs > 0) node.later(fault.keepsNameMs, () => work.rollback?.());
      else if (comesTrue)
        node.later(node.latencyOf(this.#context.op), () => void this.#attempt().catch(() => undefined));
      else work.rollback?.();
      this.#effect?.cancel();
    }
    this.#settle(error ?? 'silent');
  }

  #settle(error: KubeletError | 'silent' | undefined, value?: T): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#deadline?.cancel();
    this.#context.node.inflight.delete(this);
    this.#context.mine.delete(this);
    this.#plan.options?.signal?.removeEventListener('abort', this.#onAbort);
    if (this.#context.entry !== undefined) this.#context.entry.outcome = error === undefined ? 'ok' : String(error);
    if (error === undefined) this.#resolve(value as T);
    else if (error !== 'silent') this.#reject(error);
  }
}
