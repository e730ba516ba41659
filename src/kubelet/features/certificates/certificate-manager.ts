import { backoffDelayMs } from '../../../base/backoff.ts';
import type { BackoffCurve } from '../../../base/backoff.ts';
import { inBackground } from '../../../base/background.ts';
import { sleep } from '../../../base/clock.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { jitter } from '../../../base/random.ts';
import type { Random } from '../../../base/random.ts';
import { decideRotation, isExpired } from './decide-rotation.ts';
import type { CertificateNamesWanted } from './decide-rotation.ts';
import type { KeyPair } from '../../../pki/key-pair.ts';
import type { RequestOutcome } from './request-certificate.ts';

/** Upstream's back-off: five tries from 2 s, doubling, then every 32 s. */
const retryCurve: BackoffCurve = { initialMs: 2000, maxMs: 32_000, factor: 2 };
const RETRY_JITTER = 0.1;
/**
 * The interval in which the wall-clock time is checked. Timers use monotonic time, but certificates use wall-clock
 * time, which may be set.
 */
const CHECK_MS = 60_000;

export interface CertificateStore {
  /** Returns the current certificate, or undefined if there is no usable one. */
  current(): Promise<KeyPair | undefined>;
  /** Writes the pair. Resolves when it is on disk. Readers see either the old or the new pair at any time. */
  update(pair: Pick<KeyPair, 'certificate' | 'key'>): Promise<KeyPair>;
}

/** Obtains a new certificate. Rejects if no request is possible now. An `issued` result includes the key. */
export type Issue = (
  names: CertificateNamesWanted,
  current: KeyPair | undefined,
  signal: AbortSignal,
) => Promise<
  | Exclude<RequestOutcome, { kind: 'issued' }>
  | { readonly kind: 'issued'; readonly certificate: string; readonly key: string }
>;

export interface CertificateManagerOptions {
  /** The name in logs: `client` or `serving`. */
  readonly name: string;
  readonly store: CertificateStore;
  /** Returns the names that the certificate must have, or undefined while they are unknown; then no request is made. */
  readonly wanted: () => CertificateNamesWanted | undefined;
  readonly issue: Issue;
  /** Counts a failed renewal in the metrics. */
  readonly renewFailed: () => void;
  /** Records the age of the previous certificate at its rotation in the metrics. */
  readonly rotated: (ageSeconds: number) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

type Exchange =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly why: string }
  /** The wanted names changed or became unknown. */
  | { readonly kind: 'abandoned' };

/**
 * Keeps one certificate up to date (upstream: client-go util/certificate). Invariants:
 * 1. At most one request is in progress. A request for outdated names is abandoned.
 * 2. A new certificate takes effect only when it is on disk. Until then the current one stays in use.
 * 3. Failures are retried forever and have no other effect.
 */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #listeners = new Set<() => void>();
  readonly #stop = new AbortController();
  #current: KeyPair | undefined;
  /** Whether the certificate is rotated regardless of its state. */
  #forced = false;
  #chance: number;
  #problem: string | undefined;
  /** The names wanted at the last check. */
  #looked: string | undefined;
  #wake: () => void = () => undefined;
  #attempt: { readonly names: string; readonly abort: AbortController } | undefined;
  #running: Promise<void> | undefined;

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#chance = options.random.next();
  }

  /** Returns the current certificate, or undefined when there is none or it has expired. */
  current(): KeyPair | undefined {
    return this.#current === undefined || isExpired(this.#current.facts, this.#options.clock.nowMs())
      ? undefined
      : this.#current;
  }

  /** Returns the last certificate, even if it has expired. */
  last(): KeyPair | undefined {
    return this.#current;
  }

  /** Returns the error of the last attempt, or undefined if it succeeded. */
  problem(): string | undefined {
    return this.#problem;
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Reads the stored certificate. If the store has no valid one, `initial` is used and rotated immediately (upstream:
   * BootstrapCertificatePEM).
   */
  async load(initial?: KeyPair): Promise<void> {
    const { store, clock, log, name } = this.#options;
    const nowMs = clock.nowMs();
    const stored = await store.current();
    this.#current = stored;
    if (stored !== undefined && !isExpired(stored.facts, nowMs)) return;
    if (stored !== undefined)
      log.error('the certificate has expired', {
        certificate: name,
        notAfter: new Date(stored.facts.notAfterMs).toISOString(),
      });
    if (initial === undefined) return;
    this.#forced = true;
    this.#current = initial;
    try {
      this.#current = await store.update(initial);
    } catch (error) {
      log.error('Unable to set the cert/key pair to the bootstrap certificate', {
        certificate: name,
        error: errorMessage(error),
      });
    }
  }

  start(): void {
    if (this.#running !== undefined) return;
    this.#running = this.#run();
    inBackground(this.#options.log, 'keeping a certificate fresh', this.#running);
  }

  /** Checks again, because the wanted names may have changed. */
  wake(): void {
    const names = JSON.stringify(this.#options.wanted());
    if (names === this.#looked) return;
    if (this.#attempt !== undefined && this.#attempt.names !== names) this.#attempt.abort.abort();
    this.#wake();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#wake();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { wanted, log, name, random } = this.#options;
    // The attempts since the certificate was last complete. A new certificate that is unusable counts as a failure too.
    let tries = 0;
    while (!this.#stop.signal.aborted) {
      if (this.current() === undefined) await this.#lookOnDisk();
      const names = wanted();
      this.#looked = JSON.stringify(names);
      const verdict = this.#judge(names);
      if (verdict.kind === 'wait' || names === undefined) {
        tries = 0;
        this.#problem = undefined;
        await this.#pause(Math.min(CHECK_MS, verdict.kind === 'wait' ? verdict.leftMs : CHECK_MS));
        continue;
      }
      if (tries > 0) await this.#pause(jitter(random, backoffDelayMs(retryCurve, tries), RETRY_JITTER));
      if (this.#stop.signal.aborted) return;
      // The pause may have ended because the wanted names changed.
      if (JSON.stringify(wanted()) !== this.#looked) continue;
      log.info('Rotating certificates', { certificate: name, why: verdict.why });
      const outcome = await this.#exchange(names);
      if (outcome.kind === 'abandoned') continue;
      tries += 1;
      this.#problem = outcome.kind === 'failed' ? outcome.why : undefined;
      if (outcome.kind === 'done') continue;
      log.error('no new certificate yet, retrying', { certificate: name, error: outcome.why, tries });
      this.#options.renewFailed();
    }
  }

  #judge(
    wanted: CertificateNamesWanted | undefined,
  ): { readonly kind: 'rotate'; readonly why: string } | { readonly kind: 'wait'; readonly leftMs: number } {
    if (this.#forced && wanted !== undefined) return { kind: 'rotate', why: 'it is the initial one' };
    const nowMs = this.#options.clock.nowMs();
    const verdict = decideRotation({ current: this.#current?.facts, wanted, chance: this.#chance, nowMs });
    return verdict.kind === 'wait' ? { kind: 'wait', leftMs: (verdict.untilMs ?? Infinity) - nowMs } : verdict;
  }

  /** Reads the certificate on disk, because an operator may have placed a valid one there. */
  async #lookOnDisk(): Promise<void> {
    const { store, clock, log, name } = this.#options;
    try {
      const stored = await store.current();
      if (
        stored === undefined ||
        stored.certificate === this.#current?.certificate ||
        isExpired(stored.facts, clock.nowMs())
      )
        return;
      this.#take(stored);
    } catch (error) {
      log.error('the certificate on disk cannot be used', { certificate: name, error: errorMessage(error) });
    }
  }

  #take(pair: KeyPair): void {
    const { random, log, name } = this.#options;
    this.#current = pair;
    this.#chance = random.next();
    log.info('the certificate was replaced', {
      certificate: name,
      notAfter: new Date(pair.facts.notAfterMs).toISOString(),
    });
    for (const listener of this.#listeners) listener();
  }

  async #exchange(names: CertificateNamesWanted): Promise<Exchange> {
    const { issue, store, clock, rotated } = this.#options;
    const abort = new AbortController();
    const end = (): void => abort.abort();
    this.#stop.signal.addEventListener('abort', end, { once: true });
    this.#attempt = { names: JSON.stringify(names), abort };
    try {
      const outcome = await issue(names, this.current(), abort.signal);
      if (abort.signal.aborted) return { kind: 'abandoned' };
      if (outcome.kind === 'undecided')
        return { kind: 'failed', why: 'Certificate request was not signed: timed out waiting for the condition' };
      if (outcome.kind !== 'issued') return { kind: 'failed', why: outcome.message };
      const before = this.#current;
      const pair = await store.update(outcome);
      this.#forced = false;
      if (before !== undefined) rotated((clock.nowMs() - before.facts.notBeforeMs) / 1000);
      this.#take(pair);
      return { kind: 'done' };
    } catch (error) {
      return abort.signal.aborted ? { kind: 'abandoned' } : { kind: 'failed', why: errorMessage(error) };
    } finally {
      this.#attempt = undefined;
      this.#stop.signal.removeEventListener('abort', end);
    }
  }

  /** Waits until the time is over or the manager is woken. */
  async #pause(delayMs: number): Promise<void> {
    const woken = new AbortController();
    this.#wake = () => woken.abort();
    if (this.#stop.signal.aborted) woken.abort();
    await sleep(this.#options.clock, delayMs, woken.signal).catch(() => undefined);
    this.#wake = () => undefined;
  }
}
