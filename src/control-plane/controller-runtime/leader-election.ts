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

/** What may run once in a cluster. */
export interface LeadingPart {
  start(): void | Promise<void>;
  stop(): Promise<void>;
}

export interface LeaderElectionOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Of the Lease in `kube-system`: `kube-controller-manager`, `kube-scheduler`. */
  readonly name: string;
  /** Of this process, among all that ever ran. */
  readonly identity: string;
  /** Created each time this process becomes the leader. */
  readonly create: () => LeadingPart;
}

/**
 * As kube-controller-manager has them; the deadline is so much shorter that even a call that hangs just then does not
 * carry it past the lease's end.
 */
const LEASE_DURATION_MS = 15_000;
const RENEW_DEADLINE_MS = 8_000;
const RETRY_MS = 2000;
const CALL_LIMIT_MS = 3000;
const NAMESPACE = 'kube-system';

/**
 * Of all processes that ask, one leads (upstream: client-go leaderelection).
 * 1. Who leads stops before anybody else may begin: its deadline is shorter than what others wait, and both are
 *    measured by monotonic clocks of their own.
 * 2. Who stops in order gives the lease back, and the next need not wait.
 */
export function createLeaderElection(options: LeaderElectionOptions): LeadingPart {
  const elector = new Elector(options);
  const loop = createLoop({
    ...options,
    name: `leader election of ${options.name}`,
    periodMs: RETRY_MS,
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

class Elector {
  readonly #options: LeaderElectionOptions;
  #observed: ObservedLease | undefined;
  #leading: { readonly part: LeadingPart; renewedAtMs: number } | undefined;

  constructor(options: LeaderElectionOptions) {
    this.#options = options;
  }

  async pass(): Promise<void> {
    const { clock, log, name, create } = this.#options;
    const askedAtMs = clock.monotonicMs();
    const held = await withDeadline({ clock, limitMs: CALL_LIMIT_MS, op: 'renew the lease' }, () =>
      this.#acquireOrRenew(),
    ).catch((error: unknown) => {
      log.warn('unable to acquire or renew the lease', { lease: name, error: errorMessage(error) });
      return false;
    });
    if (held && this.#leading !== undefined) this.#leading.renewedAtMs = askedAtMs;
    else if (held) {
      log.info('became leader', { lease: name, identity: this.#options.identity });
      this.#leading = { part: create(), renewedAtMs: askedAtMs };
      await this.#leading.part.start();
    } else if (this.#leading !== undefined && clock.monotonicMs() - this.#leading.renewedAtMs >= RENEW_DEADLINE_MS) {
      log.warn('lost leadership', { lease: name });
      const { part } = this.#leading;
      this.#leading = undefined;
      await part.stop();
    }
  }

  /** Stops leading, and says so. */
  async leave(): Promise<void> {
    const leading = this.#leading;
    this.#leading = undefined;
    if (leading === undefined) return;
    await leading.part.stop();
    const { client, name, identity, log } = this.#options;
    try {
      const lease = await client.get(leases, { namespace: NAMESPACE, name });
      if (lease.spec?.holderIdentity === identity)
        await client.update(leases, {
          ...lease,
          spec: { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1, renewTime: this.#nowText() },
        });
    } catch (error) {
      log.debug(2, 'the lease was not given back', { lease: name, error: errorMessage(error) });
    }
  }

  async #acquireOrRenew(): Promise<boolean> {
    const { client, clock, name, identity } = this.#options;
    const lease = await this.#read();
    if (lease === undefined)
      return this.#won(() =>
        client.create(leases, { metadata: { name, namespace: NAMESPACE, uid: '' }, spec: this.#spec(undefined) }),
      );
    const { observed, verdict } = judgeLease(lease, { identity, observed: this.#observed, nowMs: clock.monotonicMs() });
    this.#observed = observed;
    return verdict === 'take' && (await this.#won(() => client.update(leases, { ...lease, spec: this.#spec(lease) })));
  }

  async #read(): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get(leases, { namespace: NAMESPACE, name: this.#options.name });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** The first writer gets the lease. */
  async #won(write: () => Promise<unknown>): Promise<boolean> {
    try {
      await write();
      return true;
    } catch (error) {
      if (isApiError(error, 'Conflict', 'AlreadyExists')) return false;
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
      leaseDurationSeconds: LEASE_DURATION_MS / 1000,
      renewTime: nowText,
      acquireTime: changes ? nowText : (before.acquireTime ?? nowText),
      leaseTransitions: (before?.leaseTransitions ?? 0) + (lease !== undefined && changes ? 1 : 0),
    };
  }

  #nowText(): string {
    return formatMicroTime(this.#options.clock.nowMs());
  }
}
