import type { Pod } from '../../../api/core/pod.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { formatDurationMs } from '../../../api/duration.ts';
import { imageEvents, waitingReasons } from '../../../api/reasons.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { untilAborted } from '../../../base/until-aborted.ts';
import { podUid } from '../../model/ids.ts';
import type { Image } from '../../ports/images.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { CredentialSources } from './credentials/credential-sources.ts';
import type { ImageLeases } from './image-leases.ts';
import type { ImagePresence } from './image-presence.ts';
import type { ImagePuller, PullResult } from './image-puller.ts';
import type { Activity, EnsureRequest, ImageOutcome, VolumeRequest } from './interfaces.ts';
import type { PullAccess } from './pull-access.ts';
import type { PullBackoff } from './pull-backoff.ts';
import type { ResolvedImage } from './pull-policy.ts';
import { classifyPullFailure, decidePull, pullPolicyOf, quoted, resolveImage } from './pull-policy.ts';

export interface ImageManagerParts {
  readonly presence: ImagePresence;
  readonly puller: ImagePuller;
  readonly credentials: CredentialSources;
  readonly access: PullAccess;
  readonly backoff: PullBackoff;
  readonly leases: ImageLeases;
  readonly events: EventRecorder;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onEnsured?: ((seen: EnsureSeen) => void) | undefined;
}

/** The facts of one image request, for metrics; undefined if they were not determined (upstream: images/metrics.go). */
export interface EnsureSeen {
  policy: string;
  wasPresent: boolean | undefined;
  pullWasNeeded: boolean | undefined;
}

/** How long a prefetched image is valid. Later the start of the container checks again. */
const PREFETCH_FRESH_MS = 10_000;

interface Prefetched {
  readonly image: string;
  readonly outcome: Promise<ImageOutcome>;
  /** A monotonic time; undefined while the prefetch is in progress. */
  doneAtMs: number | undefined;
}

/** The prefix that volumes have in place of a container name. No container can have such a name. */
const VOLUME = 'volume/';

type Named = Extract<ResolvedImage, { ok: true }>;

/**
 * Ensures that images are present, by pull policy (upstream: images/image_manager.go EnsureImageExists). Invariants:
 * 1. For an image that is present and allowed, it makes one call to the runtime and uses no queue, limiter or
 *    credentials.
 * 2. Every failure is a value with a waiting reason. It rejects only with `Aborted`.
 * 3. Every answer contains the image's user, which is read each time (CVE-2019-11245).
 * 4. From the first request until its container is created, an image is leased and cannot be collected.
 */
export class ImageManager {
  readonly #parts: ImageManagerParts;
  /** The prefetches by pod UID, then by container. */
  readonly #prefetched = new Map<string, Map<string, Prefetched>>();

  constructor(parts: ImageManagerParts) {
    this.#parts = parts;
  }

  async ensure(request: EnsureRequest): Promise<ImageOutcome> {
    const { pod, container, signal } = request;
    const ahead = this.#takePrefetched(pod, container);
    if (ahead !== undefined) {
      try {
        return await untilAborted(ahead, signal);
      } catch (error) {
        // The prefetch was aborted, but not this request.
        if (signal.aborted || !isKind(error, 'Aborted')) throw error;
      }
    }
    return this.#ensure(request);
  }

  /**
   * Ensures an image that is mounted as a volume. Its lease, events and back-off belong to the pod instead of a
   * container (upstream: getImageVolumes gives the puller the pod as the object of its events).
   */
  async ensureVolume({
    pod,
    volume,
    reference,
    pullPolicy,
    runtimeHandler,
    signal,
  }: VolumeRequest): Promise<ImageOutcome> {
    return this.#ensure({
      pod,
      container: {
        name: `${VOLUME}${volume}`,
        image: reference,
        imagePullPolicy: pullPolicy as AnyContainer['imagePullPolicy'],
      },
      runtimeHandler,
      signal,
    });
  }

  /**
   * Begins to pull the images of containers that start later, in parallel. It does not wait, and skips pulls in
   * back-off.
   */
  prefetch(pod: Pod, containers: readonly AnyContainer[], signal: AbortSignal, runtimeHandler = ''): void {
    const { backoff, clock } = this.#parts;
    const uid = pod.metadata.uid;
    const ofPod = this.#prefetched.get(uid) ?? new Map<string, Prefetched>();
    for (const container of containers) {
      const image = container.image ?? '';
      const known = ofPod.get(container.name);
      if (known !== undefined && known.image === image && (known.doneAtMs === undefined || this.#isFresh(known)))
        continue;
      if (backoff.waiting(uid, image) !== undefined) continue;
      const entry: Prefetched = {
        image,
        outcome: this.#ensure({ pod, container, runtimeHandler, signal }),
        doneAtMs: undefined,
      };
      const done = (): void => {
        entry.doneAtMs = clock.monotonicMs();
      };
      entry.outcome.then(done, done);
      ofPod.set(container.name, entry);
      this.#prefetched.set(uid, ofPod);
    }
  }

  /** Drops the back-offs, leases and prefetched images of a removed pod. */
  forgetPod(uid: string): void {
    this.#prefetched.delete(uid);
    this.#parts.backoff.forgetPod(uid);
    this.#parts.leases.releasePod(uid);
    this.#parts.credentials.forgetPod(uid);
  }

  #takePrefetched(pod: Pod, container: AnyContainer): Promise<ImageOutcome> | undefined {
    const ofPod = this.#prefetched.get(pod.metadata.uid);
    const entry = ofPod?.get(container.name);
    if (ofPod === undefined || entry === undefined) return undefined;
    ofPod.delete(container.name);
    if (ofPod.size === 0) this.#prefetched.delete(pod.metadata.uid);
    return entry.image === (container.image ?? '') && (entry.doneAtMs === undefined || this.#isFresh(entry))
      ? entry.outcome
      : undefined;
  }

  #isFresh(entry: Prefetched): boolean {
    return entry.doneAtMs !== undefined && this.#parts.clock.monotonicMs() - entry.doneAtMs <= PREFETCH_FRESH_MS;
  }

  async #ensure(request: EnsureRequest): Promise<ImageOutcome> {
    const { leases, credentials, onEnsured } = this.#parts;
    const { pod, container } = request;
    const requested = container.image ?? '';
    credentials.announceMissing(pod);
    const resolved = resolveImage(requested);
    const seen: EnsureSeen = {
      policy: container.imagePullPolicy ?? '',
      wasPresent: undefined,
      pullWasNeeded: undefined,
    };
    if (!resolved.ok) {
      onEnsured?.(seen);
      this.#event(request, 'Warning', imageEvents.inspectFailed, resolved.message);
      return { kind: 'failed', reason: waitingReasons.invalidImageName, message: resolved.message };
    }
    const uid = pod.metadata.uid;
    leases.hold(uid, container.name, resolved.image);
    let outcome: ImageOutcome | undefined;
    try {
      outcome = await this.#byPolicy(request, requested, resolved, seen);
    } finally {
      onEnsured?.(seen);
      if (outcome?.kind === 'present') leases.confirm(uid, container.name, outcome.imageRef);
      else leases.release(uid, container.name);
    }
    return outcome;
  }

  async #byPolicy(request: EnsureRequest, requested: string, resolved: Named, seen: EnsureSeen): Promise<ImageOutcome> {
    const { container } = request;
    const policy = pullPolicyOf(container, resolved.name);
    const present = policy === 'Always' ? undefined : await this.#inspect(request, resolved.image);
    if (present !== undefined && 'kind' in present) return present;
    seen.policy = policy;
    if (present !== undefined) seen.wasPresent = present.image !== undefined;
    const decision = decidePull(policy, present?.image !== undefined);
    if (decision === 'verify' && present?.image !== undefined) {
      const { image } = present;
      if (
        await this.#parts.access.mayUse(requested, image.id, () =>
          this.#parts.credentials.lookupOwn(request.pod, resolved.name),
        )
      ) {
        seen.pullWasNeeded = false;
        this.#event(
          request,
          'Normal',
          imageEvents.pulled,
          `Container image ${quoted(requested)} already present on machine and can be accessed by the pod`,
        );
        return { kind: 'present', imageRef: image.id, user: userOf(image) };
      }
    }
    // If a pod may not use the image, it counts as absent.
    if (decision === 'verify' || policy !== 'Never') seen.pullWasNeeded = true;
    if (decision === 'refuse' || policy === 'Never') {
      const message = `Container image ${quoted(requested)} is not present with pull policy of Never`;
      this.#event(request, 'Warning', imageEvents.errImageNeverPull, message);
      return { kind: 'failed', reason: waitingReasons.errImageNeverPull, message };
    }
    return this.#pull(request, requested, resolved);
  }

  async #inspect(request: EnsureRequest, image: string): Promise<{ image: Image | undefined } | ImageOutcome> {
    try {
      return { image: await this.#parts.presence.find(image, request.runtimeHandler, request.signal) };
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      const message = `Failed to inspect image ${quoted(image)}: ${errorMessage(error)}`;
      this.#event(request, 'Warning', imageEvents.inspectFailed, message);
      return { kind: 'failed', reason: waitingReasons.imageInspectError, message };
    }
  }

  async #pull(request: EnsureRequest, requested: string, resolved: Named): Promise<ImageOutcome> {
    const { backoff, clock, puller } = this.#parts;
    const uid = request.pod.metadata.uid;
    const waiting = backoff.waiting(uid, requested);
    if (waiting !== undefined) {
      const text = `Back-off pulling image ${quoted(requested)}`;
      this.#event(request, 'Normal', imageEvents.backOff, text);
      return {
        kind: 'failed',
        reason: waitingReasons.imagePullBackOff,
        message: `${text}: ${waiting.lastError}`,
        retryAtMs: clock.nowMs() + waiting.leftMs,
      };
    }
    this.#event(request, 'Normal', imageEvents.pulling, `Pulling image ${quoted(requested)}`);
    const startMs = clock.monotonicMs();
    const progress = this.#progress(request, requested, resolved.name.domain);
    let result: PullResult;
    try {
      const credentials = await untilAborted(
        this.#parts.credentials.lookup(request.pod, resolved.name),
        request.signal,
      );
      const { image, name } = resolved;
      result = await puller.pull(
        {
          image,
          requested,
          registry: name.domain,
          runtimeHandler: request.runtimeHandler,
          credentials,
          onPhase: progress.phase,
        },
        request.signal,
      );
    } finally {
      progress.end();
    }
    return result.ok
      ? this.#pulled(request, requested, result, clock.monotonicMs() - startMs)
      : this.#failed(request, requested, result.error);
  }

  async #pulled(
    request: EnsureRequest,
    requested: string,
    result: Extract<PullResult, { ok: true }>,
    totalMs: number,
  ): Promise<ImageOutcome> {
    const { imageRef, pullMs } = result;
    const inspected = result.image === undefined ? await this.#inspect(request, imageRef) : { image: result.image };
    if ('kind' in inspected) return inspected;
    const { image } = inspected;
    if (image === undefined)
      return this.#failed(request, requested, `the runtime pulled ${quoted(requested)} but does not list it`);
    this.#parts.backoff.succeeded(request.pod.metadata.uid, requested);
    const times = `${formatDurationMs(Math.floor(pullMs))} (${formatDurationMs(Math.floor(totalMs))} including waiting)`;
    this.#event(
      request,
      'Normal',
      imageEvents.pulled,
      `Successfully pulled image ${quoted(requested)} in ${times}. Image size: ${image.sizeBytes} bytes.`,
    );
    return { kind: 'present', imageRef, user: userOf(image) };
  }

  #failed(request: EnsureRequest, requested: string, error: string): ImageOutcome {
    const { backoff, clock } = this.#parts;
    this.#event(request, 'Warning', imageEvents.failed, `Failed to pull image ${quoted(requested)}: ${error}`);
    const { reason, message } = classifyPullFailure(requested, error);
    const waitMs = backoff.failed(request.pod.metadata.uid, requested, `${reason}: ${message}`);
    return { kind: 'failed', reason, message, retryAtMs: clock.nowMs() + waitMs };
  }

  /**
   * Returns the text that `explain` shows during a pull. It has no number of received bytes, because CRI does not
   * report it before the end of a pull.
   */
  #progress(
    request: EnsureRequest,
    requested: string,
    registry: string,
  ): { phase: (phase: 'waiting' | 'pulling') => void; end: () => void } {
    const { activity, log } = this.#parts;
    const { pod, container } = request;
    const step = `pull image ${requested}`;
    let end = activity.begin(podUid(pod.metadata.uid), step, `looking up credentials for ${registry}`);
    return {
      phase: (phase) => {
        end();
        const cause =
          phase === 'waiting'
            ? 'waiting for its turn: other images are being pulled'
            : `the runtime is fetching it from ${registry}`;
        log.debug(4, 'image pull', {
          pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
          container: container.name,
          image: requested,
          phase,
        });
        end = activity.begin(podUid(pod.metadata.uid), step, cause);
      },
      end: () => end(),
    };
  }

  #event({ pod, container }: EnsureRequest, type: 'Normal' | 'Warning', reason: string, message: string): void {
    if (container.name.startsWith(VOLUME)) this.#parts.events.event(pod, type, reason, message);
    else this.#parts.events.event(pod, type, reason, message, container.name);
  }
}

function userOf({ uid, username }: Image): { uid?: number; username: string } {
  return uid === undefined ? { username } : { uid, username };
}
