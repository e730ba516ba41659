import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { KernelLog, KernelMessage } from '../../ports/kernel-log.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import { addProblem, healthyConditions, readProblem } from './problem-rules.ts';
import type { ProblemCondition } from './problem-rules.ts';

export interface NodeProblemsParts {
  readonly kernelLog: KernelLog;
  readonly recorder: NodeEventRecorder;
  /** Called when the conditions changed. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

const RETRY_MS = 60_000;
/** The minimum time between two events of one reason, because a failing disk reports each block. */
const EVENT_PAUSE_MS = 60_000;
const MESSAGE_LIMIT = 256;

/**
 * Reports problems of the machine that the kernel logs, as conditions and events of the node, in the words of
 * node-problem-detector. Invariants:
 * 1. Only records of the kernel count, because a privileged container can write others.
 * 2. A condition stays until the next boot. The log is read from its beginning at each start, and conditions of an
 *    earlier boot are not kept.
 * 3. Events are recorded only for lines written since the start, at most one per minute for each reason.
 */
export class NodeProblems {
  readonly #parts: NodeProblemsParts;
  readonly #eventAtMs = new Map<string, number>();
  #conditions = healthyConditions;
  #lastSequence = -1;
  #stop: (() => void) | undefined;
  #retry: Timer | undefined;
  #isStopped = false;

  constructor(parts: NodeProblemsParts) {
    this.#parts = parts;
  }

  get conditions(): readonly ProblemCondition[] {
    return this.#conditions;
  }

  start(): void {
    this.#follow();
  }

  stop(): void {
    this.#isStopped = true;
    this.#retry?.cancel();
    this.#stop?.();
  }

  #follow(): void {
    if (this.#isStopped) return;
    const { kernelLog, log } = this.#parts;
    try {
      this.#stop = kernelLog.follow(
        {
          onMessage: (message) => this.#read(message),
          onLost: () =>
            log.warn('the kernel overwrote records of its log before they were read; problems may be missing'),
          onEnd: (reason) => this.#again(reason),
        },
        { sinceBoot: true },
      );
    } catch (error) {
      this.#again(errorMessage(error));
    }
  }

  #again(reason: string): void {
    this.#stop = undefined;
    if (this.#isStopped) return;
    this.#parts.log.warn('the kernel log cannot be followed; problems of the node are not reported until it can', {
      error: reason,
    });
    this.#retry = this.#parts.clock.setTimer(RETRY_MS, () => this.#follow());
  }

  #read({ sequence, byKernel, text, isOld }: KernelMessage): void {
    if (!byKernel || sequence <= this.#lastSequence) return;
    this.#lastSequence = sequence;
    const problem = readProblem(text);
    if (problem === undefined) return;
    const conditions = addProblem(this.#conditions, text);
    const changed = conditions !== this.#conditions;
    this.#conditions = conditions;
    if (isOld !== true) this.#event(problem.reason, text);
    if (changed) this.#parts.onChange();
  }

  #event(reason: string, text: string): void {
    const nowMs = this.#parts.clock.monotonicMs();
    const lastMs = this.#eventAtMs.get(reason);
    if (lastMs !== undefined && nowMs - lastMs < EVENT_PAUSE_MS) return;
    this.#eventAtMs.set(reason, nowMs);
    this.#parts.recorder.nodeEvent('Warning', reason, text.slice(0, MESSAGE_LIMIT));
  }
}
