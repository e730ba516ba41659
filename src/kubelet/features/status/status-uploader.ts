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
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { PodUid } from '../../model/ids.ts';
import type { StatusManager } from './status-manager.ts';
import type { Sent, Upload } from './upload-decision.ts';
import { computeUpload, textOf } from './upload-decision.ts';

export interface StatusUploaderParts {
  /** The API client. Its requests always end, with or without success. */
  readonly client: Pick<ApiClient, 'patch' | 'delete'>;
  readonly statuses: Pick<StatusManager, 'get' | 'version'>;
  /**
   * Returns the newest version of the object of a pod that runs here, which for a static pod is its mirror pod. Returns
   * undefined while it is not known to exist in the API.
   */
  readonly apiPod: (uid: PodUid) => Pod | undefined;
  /** Whether all resources that the pod used on the node were released. */
  readonly isReleased: (uid: PodUid) => boolean;
  /** Stores the API server's response. Returns the stored pod, or undefined if the response cannot be decoded. */
  readonly onWritten: (pod: Pod) => Pod | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

interface Progress {
  sent: Sent | undefined;
  failures: number;
  retry: Timer | undefined;
  reconciledAtMs: number | undefined;
  /** The UID of the deleted object. It may still exist for a while, because of finalizers. */
  deleted: string | undefined;
}

const retryCurve: BackoffCurve = { initialMs: 200, maxMs: 15_000, factor: 2 };
/** The back-off after a write conflict. It is short, because no component is overloaded and each retry may succeed. */
const conflictCurve: BackoffCurve = { initialMs: 50, maxMs: 1_000, factor: 2 };
/** After this many consecutive rejections the failure is not temporary. */
const TELLING_FAILURES = 6;

/**
 * Sends the statuses of this node's pods to the API server, and deletes the objects of pods of which nothing is left.
 * 1. One request per pod at a time. A change during a request is sent with the next one, in its newest version.
 * 2. A request that would change nothing is not sent.
 * 3. A pod never gets the status of an earlier pod of its name: the UID is a precondition of every write.
 * 4. An object is deleted only when all the pod's resources on the node were released and its last status was sent.
 * 5. A rejection delays only that pod, with a growing back-off; `wakeAll` retries at once.
 */
export class StatusUploader {
  readonly #parts: StatusUploaderParts;
  readonly #progress = new Map<PodUid, Progress>();
  readonly #queues: KeyedWorkers<PodUid, undefined>;
  #stopped = false;

  constructor(parts: StatusUploaderParts) {
    this.#parts = parts;
    this.#queues = new KeyedWorkers({
      run: (uid) => this.#bring(uid),
      fold: () => undefined,
      onError: (uid, error) =>
        parts.log.error('uploading a pod status failed', { podUid: uid, error: errorMessage(error) }),
    });
  }

  /** Called when something of the pod changed: its status, its object, or its released resources. */
  wake(uid: PodUid): void {
    const progress = this.#progress.get(uid);
    if (this.#stopped || (progress?.retry !== undefined && progress.failures > 0)) return;
    if (progress !== undefined) this.#waitNoMore(progress);
    this.#queues.submit(uid, undefined);
  }

  /** Called when the API server has responded again: waiting retries run now. */
  wakeAll(uids: Iterable<PodUid>): void {
    for (const uid of uids) {
      const progress = this.#progress.get(uid);
      if (progress !== undefined) this.#waitNoMore(progress);
      this.wake(uid);
    }
  }

  /** Drops the state of a removed pod. */
  forget(uid: PodUid): void {
    this.#progress.get(uid)?.retry?.cancel();
    this.#progress.delete(uid);
  }

  /** The number of pods with state. */
  get size(): number {
    return this.#progress.size;
  }

  /** Resolves when no request is running. It does not wait for retries. */
  whenIdle(): Promise<void> {
    return this.#queues.whenIdle();
  }

  /** Stops sending. Running requests are not awaited, because the API server may be unavailable. */
  stop(): void {
    this.#stopped = true;
    for (const { retry } of this.#progress.values()) retry?.cancel();
  }

  async #bring(uid: PodUid): Promise<void> {
    for (let task = this.#next(uid); task !== undefined && !this.#stopped; task = this.#next(uid)) {
      const progress = this.#of(uid);
      try {
        await this.#send(task, progress);
        progress.failures = 0;
      } catch (error) {
        // The pod may have been dropped during the request. The result is then ignored.
        if (this.#progress.get(uid) !== progress || !this.#refused(uid, task, error)) return;
      }
    }
  }

  /** Returns what to send now, or undefined if there is nothing, or nothing yet. */
  #next(uid: PodUid): Task | undefined {
    const { statuses, apiPod, isReleased, clock } = this.#parts;
    const pod = apiPod(uid);
    const own = statuses.get(uid);
    if (pod === undefined || own === undefined) return undefined;
    const progress = this.#of(uid);
    if (progress.deleted === pod.metadata.uid) return undefined;
    const version = statuses.version(uid);
    const reconciledAgoMs =
      progress.reconciledAtMs === undefined ? undefined : clock.monotonicMs() - progress.reconciledAtMs;
    const upload = computeUpload({
      pod,
      own,
      version,
      sent: progress.sent,
      isReleased: isReleased(uid),
      reconciledAgoMs,
    });
    if (upload.kind === 'nothing') return undefined;
    if (upload.kind === 'later') return void this.#tryIn(uid, upload.inMs);
    return { ...upload, pod, version };
  }

  async #send(task: Task, progress: Progress): Promise<void> {
    const { client, onWritten, clock, log } = this.#parts;
    const { pod, version } = task;
    if (task.kind === 'delete') {
      await client.delete(pods, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
      progress.deleted = pod.metadata.uid;
      log.info('Pod fully terminated and removed from the API', { pod: podKey(pod), podUid: pod.metadata.uid });
      return;
    }
    if (task.reconciles) progress.reconciledAtMs = clock.monotonicMs();
    const answered = await client.patch(
      pods,
      keyOf(pod),
      { type: 'strategic', body: task.patch },
      { subresource: 'status' },
    );
    progress.sent = {
      objectUid: pod.metadata.uid,
      version,
      answered: onWritten(answered)?.status ?? {},
      patch: textOf(task.patch),
    };
  }

  /** Handles a failed request. Returns whether to continue at once. */
  #refused(uid: PodUid, task: Task, error: unknown): boolean {
    const { log } = this.#parts;
    const progress = this.#of(uid);
    const fields = { pod: podKey(task.pod), podUid: uid, what: task.kind, error: errorMessage(error) };
    // The object was deleted, or replaced by another pod of its name. The watch will report it.
    if (isApiError(error, 'NotFound')) {
      if (task.kind === 'delete') progress.deleted = task.pod.metadata.uid;
      return false;
    }
    if (task.kind === 'patch' && isApiError(error, 'Invalid', 'BadRequest')) {
      log.error('the API server rejected the status of a pod', fields);
      progress.sent = {
        objectUid: task.pod.metadata.uid,
        version: task.version,
        answered: undefined,
        patch: textOf(task.patch),
      };
      return true;
    }
    progress.failures++;
    // General failures of the API server are logged elsewhere, once.
    if (progress.failures === TELLING_FAILURES && isApiError(error, 'Forbidden', 'Conflict', 'RequestEntityTooLarge'))
      log.warn('the status of a pod cannot be sent to the API server; retrying', fields);
    else
      log.debug(3, 'the status of a pod could not be sent to the API server, retrying', {
        ...fields,
        failures: progress.failures,
      });
    const curve = isApiError(error, 'Conflict') ? conflictCurve : retryCurve;
    this.#tryIn(uid, jitter(this.#parts.random, backoffDelayMs(curve, progress.failures), 0.5));
    return false;
  }

  #tryIn(uid: PodUid, delayMs: number): void {
    const progress = this.#of(uid);
    if (this.#stopped) return;
    progress.retry?.cancel();
    progress.retry = this.#parts.clock.setTimer(delayMs, () => {
      this.#waitNoMore(progress);
      this.wake(uid);
    });
  }

  #waitNoMore(progress: Progress): void {
    progress.retry?.cancel();
    progress.retry = undefined;
  }

  #of(uid: PodUid): Progress {
    let progress = this.#progress.get(uid);
    if (progress === undefined)
      this.#progress.set(
        uid,
        (progress = { sent: undefined, failures: 0, retry: undefined, reconciledAtMs: undefined, deleted: undefined }),
      );
    return progress;
  }
}

/** The upload, with the object and the version of the status on which it is based. */
type Task = Exclude<Upload, { kind: 'nothing' | 'later' }> & { pod: Pod; version: number };
