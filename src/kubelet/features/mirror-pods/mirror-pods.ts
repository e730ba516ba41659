import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import { KeyedWorkers } from '../../../base/keyed-workers.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { jitter } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { podEvents } from '../../../api/reasons.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { MirrorFacts } from './mirror-pod.ts';
import { computeMirrorAction, mirrorHashOf } from './mirror-pod.ts';

export interface MirrorPodsParts {
  /** The API client. Its requests have a deadline. */
  readonly client: Pick<ApiClient, 'create' | 'delete'>;
  /**
   * Returns the facts about a pod; undefined while the API server has not listed its pods, because no mirror is known
   * to be missing then.
   */
  readonly facts: (fullName: string) => MirrorFacts | undefined;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface Trouble {
  failures: number;
  /** The last reported error. */
  said: string;
  retry: Timer | undefined;
}

/**
 * How long a deleted mirror stays away. `kubectl delete` first lists and then watches until the name is free; if the
 * mirror is created again in between, kubectl waits forever.
 */
const RESTORE_DELAY_MS = 500;
const retryCurve: BackoffCurve = { initialMs: 500, maxMs: 60_000, factor: 2 };

/**
 * Shows the static pods of the node in the API, with one mirror each (upstream: pod/mirror_client.go). Invariants:
 * 1. A mirror of an earlier manifest is replaced immediately, and a deleted one after a moment. A mirror without a pod
 *    is deleted.
 * 2. Changes of a mirror never affect its pod.
 * 3. Only a mirror that was read is deleted, with its UID as a precondition.
 * 4. A refusal causes one event of the pod and is retried with increasing delays.
 */
export class MirrorPods {
  readonly #parts: MirrorPodsParts;
  readonly #troubles = new Map<string, Trouble>();
  /** The hash of the mirror that the API last had, by full name. */
  readonly #shown = new Map<string, string>();
  readonly #restores = new Map<string, Timer>();
  readonly #workers: KeyedWorkers<string, undefined>;
  #stopped = false;

  constructor(parts: MirrorPodsParts) {
    this.#parts = parts;
    this.#workers = new KeyedWorkers({
      run: (name) => this.#bring(name),
      fold: () => undefined,
      onError: (name, error) =>
        parts.log.error('a mirror pod worker failed', { pod: name, error: errorMessage(error) }),
    });
  }

  /** Compares the static pod of this full name with its mirror, because one of them may have changed. */
  reconcile(fullName: string): void {
    if (this.#stopped) return;
    this.#troubles.get(fullName)?.retry?.cancel();
    this.#workers.submit(fullName, undefined);
  }

  /** Stops sending requests. Pending answers are not awaited. */
  stop(): void {
    this.#stopped = true;
    for (const { retry } of this.#troubles.values()) retry?.cancel();
    for (const timer of this.#restores.values()) timer.cancel();
  }

  async #bring(fullName: string): Promise<void> {
    const facts = this.#parts.facts(fullName);
    if (facts === undefined) return;
    if (facts.found !== undefined) this.#shown.set(fullName, mirrorHashOf(facts.found));
    else if (facts.pod === undefined) this.#shown.delete(fullName);
    const action = computeMirrorAction(facts);
    const { log } = this.#parts;
    try {
      switch (action.kind) {
        case 'nothing':
          break;
        case 'blocked':
          throw new Error(`pod ${podKey(action.by)} of the API has its name`);
        case 'delete':
          log.info('Trying to delete pod', { pod: podKey(action.mirror), podUid: action.mirror.metadata.uid });
          await this.#delete(action.mirror);
          // The watch reports the deletion and starts the next pass.
          break;
        case 'create':
          if (this.#waitsForRestore(fullName, action.mirror)) break;
          log.info('Creating a mirror pod for static pod', { pod: podKey(action.mirror) });
          await this.#parts.client.create(pods, action.mirror);
          break;
      }
      this.#troubles.delete(fullName);
    } catch (error) {
      this.#failed(fullName, facts.pod, error);
    }
  }

  #waitsForRestore(fullName: string, mirror: Pod): boolean {
    if (this.#shown.get(fullName) !== mirrorHashOf(mirror)) return false;
    if (this.#restores.has(fullName)) return true;
    const restore = (): void => {
      this.#restores.delete(fullName);
      this.#shown.delete(fullName);
      this.reconcile(fullName);
    };
    this.#restores.set(fullName, this.#parts.clock.setTimer(RESTORE_DELAY_MS, restore));
    return true;
  }

  async #delete(mirror: Pod): Promise<void> {
    try {
      await this.#parts.client.delete(pods, keyOf(mirror), {
        gracePeriodSeconds: 0,
        preconditions: { uid: mirror.metadata.uid },
      });
    } catch (error) {
      // The mirror was deleted, or replaced by another one.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  #failed(fullName: string, pod: Pod | undefined, error: unknown): void {
    const { clock, random, recorder, log } = this.#parts;
    const trouble = this.#troubles.get(fullName) ?? { failures: 0, said: '', retry: undefined };
    trouble.failures++;
    this.#troubles.set(fullName, trouble);
    const message = `Failed creating a mirror pod: ${errorMessage(error)}`;
    // A mirror that was just created may already exist at the next check.
    const isNews = message !== trouble.said && !(trouble.failures === 1 && isApiError(error, 'AlreadyExists'));
    if (isNews) {
      trouble.said = message;
      log.warn('the mirror of a static pod in the API cannot be updated; the pod runs regardless', {
        pod: fullName,
        error: errorMessage(error),
      });
      if (pod !== undefined) recorder.event(pod, 'Warning', podEvents.failedCreateMirrorPod, message);
    }
    if (this.#stopped) return;
    trouble.retry = clock.setTimer(jitter(random, backoffDelayMs(retryCurve, trouble.failures), 0.5), () =>
      this.reconcile(fullName),
    );
  }
}
