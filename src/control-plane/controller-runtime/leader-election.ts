import type { ApiClient } from '../../api/client/api-client.ts';
import { leases } from '../../api/client/resource-types.ts';
import type { Lease } from '../../api/coordination/lease.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { formatMicroTime } from '../../api/time.ts';
import { withDeadline } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import { judgeLease } from './judge-lease.ts';
import type { ObservedLease } from './judge-lease.ts';

/** A part that may run only once in a cluster. */
export interface LeadingPart {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

export interface ElectionTiming {
  readonly leaseMs: number;
  /** Shortened, so that a hanging call does not keep the leader active after the lease has expired. */
  readonly renewMs: number;
  readonly retryMs: number;
}

export interface LeaderElectionOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The name of the Lease: `kube-controller-manager`, `kube-scheduler`. */
  readonly name: string;
  /** Absent: `kube-system`. */
  readonly namespace?: string;
  /** Absent: upstream's defaults. */
  readonly timing?: ElectionTiming;
  /** The unique identity of this process. */
  readonly identity: string;
  /** Created each time this process becomes the leader. */
  readonly create: (won: WonLease) => LeadingPart;
}

/** What a leading part may need to know about the election. */
export interface WonLease {
  /** As this process wrote it. */
  readonly lease: Lease;
  /** The part has learned that another process leads: it is stopped. */
  readonly onOver: () => void;
}

/**
 * kube-controller-manager's values, with a shorter deadline, so that even a call that hangs does not extend beyond the
 * lease.
 */
const defaultTiming: ElectionTiming = { leaseMs: 15_000, renewMs: 8_000, retryMs: 2000 };
const CALL_LIMIT_MS = 3000;
const DEFAULT_NAMESPACE = 'kube-system';
/** The fraction of the lease duration for which a leader continues without renewing it. */
const LONGEST_SHARE = 8 / 15;

/**
 * Elects one leader among all candidates (upstream: client-go leaderelection). 1. A leader stops before another process
 * may begin: its deadline is shorter than the wait of the others, and each measures with its own monotonic clock. 2. A
 * leader that stops gracefully releases the lease, so that the next one need not wait.
 */
export function createLeaderElection(options: LeaderElectionOptions): LeadingPart {
  const elector = new Elector(options, () => loop.wake());
  const loop = createLoop({
    ...options,
    name: `leader election of ${options.name}`,
    periodMs: options.timing?.retryMs ?? defaultTiming.retryMs,
    jitterFactor: 0.2,
    pass: () => elector.pass(),
  });
  return {
    start: () => loop.start(),
    stop: async () => {
      await loop.stop();
      await elector.leave();
    },
  };
}

interface Leading {
  readonly part: LeadingPart;
  renewedAtMs: number;
  isOver: boolean;
}

class Elector {
  readonly #options: LeaderElectionOptions;
  readonly #namespace: string;
  readonly #leaseMs: number;
  readonly #renewMs: number;
  readonly #callLimitMs: number;
  #observed: ObservedLease | undefined;
  readonly #wake: () => void;
  #leading: Leading | undefined;

  constructor(options: LeaderElectionOptions, wake: () => void) {
    this.#wake = wake;
    const { leaseMs, renewMs } = options.timing ?? defaultTiming;
    this.#options = options;
    this.#namespace = options.namespace ?? DEFAULT_NAMESPACE;
    this.#leaseMs = leaseMs;
    this.#renewMs = Math.min(renewMs, leaseMs * LONGEST_SHARE);
    this.#callLimitMs = Math.min(CALL_LIMIT_MS, leaseMs / 5);
  }

  async pass(): Promise<void> {
    const { clock, log, name } = this.#options;
    if (this.#leading?.isOver === true) await this.#stopLeading();
    const askedAtMs = clock.monotonicMs();
    const lease = await withDeadline({ clock, limitMs: this.#callLimitMs, op: 'renew the lease' }, () =>
      this.#acquireOrRenew(),
    ).catch((error: unknown) => {
      log.warn('unable to acquire or renew the lease', { lease: name, error: errorMessage(error) });
      return undefined;
    });
    if (lease !== undefined && this.#leading !== undefined) this.#leading.renewedAtMs = askedAtMs;
    else if (lease !== undefined) await this.#startLeading(lease, askedAtMs);
    else if (this.#leading !== undefined && clock.monotonicMs() - this.#leading.renewedAtMs >= this.#renewMs)
      await this.#stopLeading();
  }

  async #startLeading(lease: Lease, renewedAtMs: number): Promise<void> {
    const { log, name, identity, create } = this.#options;
    log.info('became leader', { lease: name, identity });
    const onOver = (): void => {
      leading.isOver = true;
      this.#wake();
    };
    const leading: Leading = { part: create({ lease, onOver }), renewedAtMs, isOver: false };
    this.#leading = leading;
    try {
      await leading.part.start();
    } catch (error) {
      // The next pass begins again, with a part of its own.
      log.warn('unable to begin to lead', { lease: name, error: errorMessage(error) });
      await this.#stopLeading();
    }
  }

  async #stopLeading(): Promise<void> {
    const { log, name } = this.#options;
    const leading = this.#leading;
    this.#leading = undefined;
    if (leading === undefined) return;
    log.warn('lost leadership', { lease: name });
    await leading.part.stop();
  }

  /** Stops leading and releases the lease. */
  async leave(): Promise<void> {
    const leading = this.#leading;
    this.#leading = undefined;
    if (leading === undefined) return;
    await leading.part.stop();
    const { client, name, identity, log } = this.#options;
    try {
      const lease = await client.get(leases, { namespace: this.#namespace, name });
      if (lease.spec?.holderIdentity === identity)
        await client.update(leases, {
          ...lease,
          spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#nowText() },
        });
    } catch (error) {
      log.debug(2, 'the lease was not given back', { lease: name, error: errorMessage(error) });
    }
  }

  /** The lease as this process has written it; undefined if another process holds it. */
  async #acquireOrRenew(): Promise<Lease | undefined> {
    const { client, clock, name, identity } = this.#options;
    const lease = await this.#read();
    if (lease === undefined)
      return this.#won(() =>
        client.create(leases, { metadata: { name, namespace: this.#namespace, uid: '' }, spec: this.#spec(undefined) }),
      );
    const { observed, verdict } = judgeLease(lease, { identity, observed: this.#observed, nowMs: clock.monotonicMs() });
    this.#observed = observed;
    if (verdict === 'wait') return undefined;
    return this.#won(() => client.update(leases, { ...lease, spec: this.#spec(lease) }));
  }

  async #read(): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get(leases, { namespace: this.#namespace, name: this.#options.name });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** The first writer gets the lease. */
  async #won(write: () => Promise<Lease>): Promise<Lease | undefined> {
    try {
      return await write();
    } catch (error) {
      if (isApiError(error, 'Conflict', 'AlreadyExists')) return undefined;
      throw error;
    }
  }

  #spec(lease: Lease | undefined): NonNullable<Lease['spec']> {
    const { identity } = this.#options;
    const before = lease?.spec;
    const changes = before?.holderIdentity !== identity;
    const nowText = this.#nowText();
    return {
      ...before,
      holderIdentity: identity,
      leaseDurationSeconds: Math.max(1, Math.ceil(this.#leaseMs / 1000)),
      renewTime: nowText,
      acquireTime: changes ? nowText : (before.acquireTime ?? nowText),
      leaseTransitions: (before?.leaseTransitions ?? 0) + (lease !== undefined && changes ? 1 : 0),
    };
  }

  #nowText(): string {
    return formatMicroTime(this.#options.clock.nowMs());
  }
}
