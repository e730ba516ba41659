import { backoffDelayMs, type BackoffCurve } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import { KeyedWorkers } from '../../../base/keyed-workers.ts';
import type { Logger } from '../../../base/log.ts';
import { jitter, type Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { podEvents } from '../../../api/reasons.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import { computeMirrorAction, type MirrorFacts } from './mirror-pod.ts';

export interface MirrorPodsParts {
  /** Its requests end, one way or the other. */
  client: Pick<ApiClient, 'create' | 'delete'>;
  /** undefined while the API server has not told of its pods: nothing is known to be missing then. */
  facts: (fullName: string) => MirrorFacts | undefined;
  recorder: EventRecorder;
  clock: Clock;
  random: Random;
  log: Logger;
}

interface Trouble {
  failures: number;
  /** What was said of it last. */
  said: string;
  retry: Timer | undefined;
}

const RETRY_CURVE: BackoffCurve = { initialMs: 500, maxMs: 60_000, factor: 2 };

/**
 * Shows the static pods of the node in the API, one copy each (upstream: pod/mirror_client.go).
 * 1. A copy that is gone, being deleted or of an earlier manifest is made anew; one without a pod is deleted.
 * 2. Whatever becomes of a copy, its pod runs on.
 * 3. Only a copy that was seen is deleted: its uid is a precondition.
 * 4. A refusal is an event of the pod, once, and is tried again, later each time.
 */
export class MirrorPods {
  readonly #parts: MirrorPodsParts;
  readonly #troubles = new Map<string, Trouble>();
  readonly #lanes: KeyedWorkers<string, undefined>;
  #stopped = false;

  constructor(parts: MirrorPodsParts) {
    this.#parts = parts;
    this.#lanes = new KeyedWorkers({
      run: (name) => this.#bring(name),
      fold: () => undefined,
      onError: (name, error) => parts.log.error('a mirror pod lane failed', { pod: name, error: errorMessage(error) }),
    });
  }

  /** A static pod of this full name, or what the API has under it, may have changed. */
  reconcile(fullName: string): void {
    if (this.#stopped) return;
    this.#troubles.get(fullName)?.retry?.cancel();
    this.#lanes.submit(fullName, undefined);
  }

  /** Nothing more is sent; an answer that is still to come is not waited for. */
  stop(): void {
    this.#stopped = true;
    for (const { retry } of this.#troubles.values()) retry?.cancel();
  }

  async #bring(fullName: string): Promise<void> {
    const facts = this.#parts.facts(fullName);
    if (facts === undefined) return;
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
          // The watch tells when it is gone, and brings the next turn.
          break;
        case 'create':
          log.info('Creating a mirror pod for static pod', { pod: podKey(action.mirror) });
          await this.#parts.client.create(pods, action.mirror);
          break;
      }
      this.#troubles.delete(fullName);
    } catch (error) {
      this.#failed(fullName, facts.pod, error);
    }
  }

  async #delete(mirror: Pod): Promise<void> {
    try {
      await this.#parts.client.delete(pods, keyOf(mirror), {
        gracePeriodSeconds: 0,
        preconditions: { uid: mirror.metadata.uid },
      });
    } catch (error) {
      // Gone, or another one by now.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  #failed(fullName: string, pod: Pod | undefined, error: unknown): void {
    const { clock, random, recorder, log } = this.#parts;
    const trouble = this.#troubles.get(fullName) ?? { failures: 0, said: '', retry: undefined };
    trouble.failures++;
    this.#troubles.set(fullName, trouble);
    const message = `Failed creating a mirror pod: ${errorMessage(error)}`;
    // What was made a moment ago is there already when it is looked for again.
    const isNews = message !== trouble.said && !(trouble.failures === 1 && isApiError(error, 'AlreadyExists'));
    if (isNews) {
      trouble.said = message;
      log.warn('the copy of a static pod in the API cannot be brought up to date; the pod runs regardless', {
        pod: fullName,
        error: errorMessage(error),
      });
      if (pod !== undefined) recorder.event(pod, 'Warning', podEvents.failedCreateMirrorPod, message);
    }
    if (this.#stopped) return;
    trouble.retry = clock.setTimer(jitter(random, backoffDelayMs(RETRY_CURVE, trouble.failures), 0.5), () =>
      this.reconcile(fullName),
    );
  }
}
