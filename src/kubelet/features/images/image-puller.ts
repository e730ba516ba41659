import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import type { Image, ImageRuntime, RegistryAuth } from '../../ports/images.ts';
import type { TrackedAuth } from './credentials/keyring.ts';
import type { PullAccess } from './pull-access.ts';
import type { PullQueue } from './pull-queue.ts';

export interface PullRequest {
  /** The image name for the runtime, and the name in the pod's spec. */
  readonly image: string;
  readonly requested: string;
  readonly registry: string;
  readonly runtimeHandler: string;
  readonly credentials: readonly TrackedAuth[];
  /** Called immediately, and again when the pull starts. */
  readonly onPhase: (phase: 'waiting' | 'pulling') => void;
}

export type PullResult =
  /** `pullMs` excludes the time in the queue. */
  { ok: true; imageRef: string; image: Image | undefined; pullMs: number } | { ok: false; error: string };

interface SharedPull {
  result: Promise<PullResult>;
  phase: 'waiting' | 'pulling';
  readonly listeners: Set<PullRequest['onPhase']>;
  waiters: number;
  readonly stop: AbortController;
}

/**
 * Pulls images in the order of the queue. Invariants:
 * 1. Pods that need one image with the same credentials at the same time share one pull. It ends early only if all of
 *    them gave up.
 * 2. Credentials are tried in order until one works. Without credentials, the pull is anonymous (upstream:
 *    kuberuntime_image.go PullImage).
 * 3. A pull is recorded before it begins (see PullAccess).
 * A pull has no deadline, because the duration of a layer is unknown and CRI reports no progress. The runtime ends
 * pulls without progress.
 */
export class ImagePuller {
  readonly #runtime: Pick<ImageRuntime, 'pullImage' | 'imageStatus'>;
  readonly #queue: PullQueue;
  readonly #access: PullAccess;
  readonly #clock: Clock;
  readonly #shared = new Map<string, SharedPull>();

  constructor(parts: {
    runtime: Pick<ImageRuntime, 'pullImage' | 'imageStatus'>;
    queue: PullQueue;
    access: PullAccess;
    clock: Clock;
  }) {
    this.#runtime = parts.runtime;
    this.#queue = parts.queue;
    this.#access = parts.access;
    this.#clock = parts.clock;
  }

  /** Pulls an image. A failure is a value; it rejects only with `Aborted`. */
  async pull(request: PullRequest, signal: AbortSignal): Promise<PullResult> {
    if (signal.aborted) throw aborted();
    const key = [
      request.image,
      request.requested,
      request.runtimeHandler,
      ...request.credentials.map((auth) => `${auth.hash}@${(auth.source ?? auth.account)?.uid ?? ''}`),
    ].join('\n');
    let shared = this.#shared.get(key);
    if (shared === undefined) {
      shared = this.#begin(request);
      this.#shared.set(key, shared);
      const mine = shared;
      const forget = (): void => {
        if (this.#shared.get(key) === mine) this.#shared.delete(key);
      };
      shared.result.then(forget, forget);
    }
    return this.#join(key, shared, request, signal);
  }

  #join(key: string, shared: SharedPull, request: PullRequest, signal: AbortSignal): Promise<PullResult> {
    const { onPhase } = request;
    shared.waiters++;
    shared.listeners.add(onPhase);
    onPhase(shared.phase);
    return new Promise<PullResult>((resolve, reject) => {
      const leave = (): void => {
        signal.removeEventListener('abort', giveUp);
        shared.listeners.delete(onPhase);
        if (--shared.waiters > 0) return;
        // No new caller may join a pull that is being stopped.
        if (this.#shared.get(key) === shared) this.#shared.delete(key);
        shared.stop.abort();
      };
      const giveUp = (): void => {
        leave();
        reject(aborted());
      };
      signal.addEventListener('abort', giveUp, { once: true });
      shared.result.then(
        (result) => {
          leave();
          resolve(result);
        },
        (error: unknown) => {
          leave();
          reject(error instanceof Error ? error : aborted());
        },
      );
    });
  }

  #begin(request: PullRequest): SharedPull {
    const stop = new AbortController();
    const shared: SharedPull = {
      result: Promise.resolve({ ok: false, error: '' }),
      phase: 'waiting',
      listeners: new Set(),
      waiters: 0,
      stop,
    };
    shared.result = this.#run(request, stop.signal, () => {
      shared.phase = 'pulling';
      for (const notify of shared.listeners) notify('pulling');
    });
    return shared;
  }

  async #run(request: PullRequest, signal: AbortSignal, onTurn: () => void): Promise<PullResult> {
    const leaveQueue = await this.#queue.enter(request.registry, signal);
    try {
      onTurn();
      try {
        await this.#access.begin(request.requested);
      } catch (error) {
        return {
          ok: false,
          error: `Failed to record image pull intent for container image "${request.requested}": ${errorMessage(error)}`,
        };
      }
      return await this.#onRecord(request, signal);
    } finally {
      leaveQueue();
    }
  }

  async #onRecord(request: PullRequest, signal: AbortSignal): Promise<PullResult> {
    const startMs = this.#clock.monotonicMs();
    let ended = false;
    try {
      const pulled = await this.#tryEach(request, signal);
      if (!('imageRef' in pulled)) return { ok: false, error: pulled.error };
      ended = true;
      const { imageRef, used } = pulled;
      const [image] = await Promise.all([
        this.#look(request, signal),
        this.#access.succeeded(request.requested, imageRef, used),
      ]);
      return { ok: true, imageRef, image, pullMs: this.#clock.monotonicMs() - startMs };
    } finally {
      if (!ended) await this.#access.failed(request.requested);
    }
  }

  async #tryEach(
    { image, runtimeHandler, credentials }: PullRequest,
    signal: AbortSignal,
  ): Promise<{ imageRef: string; used: TrackedAuth | undefined } | { error: string }> {
    const errors: string[] = [];
    for (const used of credentials.length === 0 ? [undefined] : credentials) {
      try {
        return {
          imageRef: await this.#runtime.pullImage(
            image,
            { ...(used === undefined ? {} : { auth: registryAuth(used) }), runtimeHandler },
            { signal },
          ),
          used,
        };
      } catch (error) {
        if (signal.aborted || isKind(error, 'Aborted')) throw aborted();
        errors.push(withoutSecrets(errorMessage(error), credentials));
      }
    }
    const distinct = [...new Set(errors)];
    return { error: distinct.length === 1 ? (distinct[0] as string) : `[${distinct.join(', ')}]` };
  }

  /**
   * Reads the size and the user of the image. The pull succeeds even if this fails, because the caller reads the image
   * again.
   */
  async #look({ image, runtimeHandler }: PullRequest, signal: AbortSignal): Promise<Image | undefined> {
    try {
      return await this.#runtime.imageStatus(image, runtimeHandler, { signal });
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      return undefined;
    }
  }
}

function registryAuth({ username, password }: TrackedAuth): RegistryAuth {
  return { username, password, auth: '', serverAddress: '', identityToken: '', registryToken: '' };
}

/** Removes credentials from a text that a registry or a runtime returned, because it appears in events and statuses. */
function withoutSecrets(text: string, credentials: readonly TrackedAuth[]): string {
  let clean = text;
  for (const { username, password } of credentials) {
    if (password.length < 4) continue;
    for (const secret of [
      password,
      encodeURIComponent(password.toWellFormed()),
      btoa(unescapeUtf8(`${username}:${password}`)),
    ])
      clean = clean.replaceAll(secret, '[redacted]');
  }
  return clean;
}

/** Decodes bytes that btoa treated as characters. */
function unescapeUtf8(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte)).join('');
}

function aborted(): KubeletError {
  return new KubeletError('Aborted', 'the pull was aborted');
}
