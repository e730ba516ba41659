import type { ApiClient } from '../../../api/client/api-client.ts';
import { leases } from '../../../api/client/resource-types.ts';
import type { Lease } from '../../../api/coordination/lease.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import { formatMicroTime } from '../../../api/time.ts';
import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';

const NAMESPACE = 'kube-node-lease';
/** The number of renewals within the lease's duration (upstream: nodeLeaseRenewIntervalFraction). */
const RENEWALS_PER_LEASE = 4;
/**
 * The back-off of retries (upstream: component-helpers lease controller): 200 ms doubling to 7 s, five tries, jitter of
 * 4 %.
 */
const retry: BackoffCurve = { initialMs: 200, maxMs: 7000, factor: 2 };
const TRIES = 5;
const JITTER = 0.04;

export interface LeaseFacts {
  readonly nodeName: string;
  /** The UID of the node; undefined while it is not known. An existing lease is renewed even then. */
  readonly nodeUid: string | undefined;
  readonly durationMs: number;
  /** A wall-clock time. */
  readonly nowMs: number;
}

/** Computes the renewed or new lease. The current node owns it, so that it is removed with the node. */
function computeLease(base: Lease | undefined, { nodeName, nodeUid, durationMs, nowMs }: LeaseFacts): Lease {
  const { metadata, spec } = base ?? {
    metadata: { name: nodeName, namespace: NAMESPACE, uid: '' },
    spec: { holderIdentity: nodeName },
  };
  const { ownerReferences = [] } = metadata;
  const isOwned =
    ownerReferences.length > 0 &&
    (nodeUid === undefined || ownerReferences.every(({ kind, uid }) => kind !== 'Node' || uid === nodeUid));
  const owners =
    isOwned || nodeUid === undefined
      ? ownerReferences
      : [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUid }];
  return {
    ...base,
    metadata: { ...metadata, ...(owners.length > 0 && { ownerReferences: owners }) },
    spec: { ...spec, leaseDurationSeconds: durationMs / 1000, renewTime: formatMicroTime(nowMs) },
  };
}

export interface NodeLeaseOptions {
  readonly client: Pick<ApiClient, 'create' | 'get' | 'update'>;
  readonly nodeName: string;
  readonly nodeUid: () => string | undefined;
  readonly durationMs: number;
  /**
   * Called with true when a renewal succeeded after failures, and with false at each repeated failure to reach the API
   * server (upstream: onRepeatedHeartbeatFailure).
   */
  readonly onReach: (isReached: boolean) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Renews the node's lease, from which the control plane knows that the node is alive. A renewal starts from the last
 * written state, which is read again only if the renewal is refused.
 */
export class NodeLease {
  readonly #options: NodeLeaseOptions;
  readonly #loop: Loop;
  #latest: Lease | undefined;
  #failures = 0;
  #nodeUid = '';

  constructor(options: NodeLeaseOptions) {
    this.#options = options;
    this.#loop = createLoop({
      ...options,
      name: 'node lease',
      periodMs: () =>
        this.#failures === 0 ? options.durationMs / RENEWALS_PER_LEASE : backoffDelayMs(retry, this.#failures),
      jitterFactor: JITTER,
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  /** Stops renewing. The lease is not deleted, because it shows when the agent was last running. */
  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Sets the current UID of the node in the API. If it changed, the lease gets the new owner immediately. */
  nodeIs(uid: string): void {
    if (uid === this.#nodeUid) return;
    this.#nodeUid = uid;
    this.#loop.wake();
  }

  async #pass(): Promise<void> {
    const { log, onReach } = this.#options;
    let error: unknown;
    for (let attempt = 0; attempt < TRIES; attempt++) {
      try {
        if (!(await this.#renew())) return;
        const failed = this.#failures > 0;
        this.#failures = 0;
        return failed ? onReach(true) : undefined;
      } catch (failure) {
        error = failure;
        if (isApiError(failure, 'Conflict') || isApiError(failure, 'NotFound') || isApiError(failure, 'AlreadyExists'))
          this.#latest = undefined;
        else break;
      }
    }
    this.#failures++;
    if (this.#failures > 1 && isUnanswered(error)) onReach(false);
    const fields = { error: errorMessage(error) };
    if (this.#failures === 1) log.error('Failed to ensure lease exists, will retry', fields);
    else log.debug(2, 'Failed to ensure lease exists, will retry', fields);
  }

  /**
   * Renews the lease. Resolves to false if that is not possible yet, because there is neither a lease nor a node that
   * could own it.
   */
  async #renew(): Promise<boolean> {
    const { client, clock, nodeName, nodeUid, durationMs } = this.#options;
    const base = this.#latest ?? (await this.#read());
    const uid = nodeUid();
    if (base === undefined && uid === undefined) return false;
    const lease = computeLease(base, { nodeName, nodeUid: uid, durationMs, nowMs: clock.nowMs() });
    this.#latest = base === undefined ? await client.create(leases, lease) : await client.update(leases, lease);
    return true;
  }

  async #read(): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get(leases, { namespace: NAMESPACE, name: this.#options.nodeName });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }
}

/** Whether the error means that there was no answer. A refusal is an answer. */
const isUnanswered = (error: unknown): boolean =>
  isApiError(error, 'ServiceUnavailable') || isApiError(error, 'Timeout');
