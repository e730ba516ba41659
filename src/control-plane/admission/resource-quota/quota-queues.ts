import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { resourceQuotas } from '../../../api/client/resource-types.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { ApiStatusError, isApiError } from '../../../api/status/api-status-error.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import { chargeQuotas } from './charge-quotas.ts';
import type { QuotaRequest } from './charge-quotas.ts';

/** Stores charges before the charged object is stored. */
export interface QuotaLedger {
  /** Returns the stored quota. */
  get(key: { readonly namespace: string; readonly name: string }): Promise<ResourceQuota>;
  /**
   * Writes the status if the quota still has that version; rejects with `Conflict` otherwise. Resolves to the stored
   * quota.
   */
  write(quota: ResourceQuota): Promise<ResourceQuota>;
}

export interface QuotaClaim {
  readonly namespace: string;
  readonly request: QuotaRequest;
  readonly dryRun: boolean;
}

interface Waiter extends QuotaClaim {
  readonly settle: (refusal: Refusal | undefined) => void;
}

/** A refusal; undefined means that the request was charged. */
export type Refusal = { readonly why: string } | { readonly error: unknown };

/** How often a charge is tried if another writer causes conflicts (upstream: 3). */
const ATTEMPTS = 12;

/**
 * Charges the requests of a namespace in batches, so that concurrent ones share one write of a quota. Invariants:
 * 1. A request continues only after all quotas that it concerns were written with its charge.
 * 2. A charge applies to the version that it replaces, so that two servers cannot both use the remaining amount.
 * 3. After a batch wrote a quota, the next batch sees that version or a newer one, even if the cache is late.
 */
export class QuotaQueues {
  readonly #reader: ObjectReader;
  readonly #ledger: QuotaLedger;
  readonly #nowMs: () => number;
  readonly #queues = new Map<string, Waiter[]>();
  /** Written quotas that the cache does not contain yet. */
  readonly #written = new Map<string, ResourceQuota>();

  constructor({
    reader,
    ledger,
    nowMs,
  }: { readonly reader: ObjectReader; readonly ledger: QuotaLedger; readonly nowMs: () => number }) {
    this.#reader = reader;
    this.#ledger = ledger;
    this.#nowMs = nowMs;
  }

  charge(claim: QuotaClaim): Promise<Refusal | undefined> {
    return new Promise((settle) => {
      const waiter: Waiter = { ...claim, settle };
      const queue = this.#queues.get(claim.namespace);
      if (queue !== undefined) return void queue.push(waiter);
      this.#queues.set(claim.namespace, [waiter]);
      void this.#run(claim.namespace);
    });
  }

  async #run(namespace: string): Promise<void> {
    for (;;) {
      const batch = this.#queues.get(namespace)?.splice(0) ?? [];
      if (batch.length === 0) break;
      try {
        await this.#chargeBatch(batch, this.#quotasOf(namespace));
      } catch (error) {
        for (const { settle } of batch) settle({ error });
      }
    }
    this.#queues.delete(namespace);
  }

  async #chargeBatch(batch: readonly Waiter[], all: readonly ResourceQuota[]): Promise<void> {
    let [waiting, quotas] = [batch, all];
    for (let attempt = 1; ; attempt++) {
      const plan = planBatch(waiting, quotas, this.#nowMs());
      const overtaken: ResourceQuota[] = [];
      for (const quota of plan.changed) if ((await this.#write(quota)) === 'overtaken') overtaken.push(quota);
      if (overtaken.length === 0) return plan.charged.forEach(({ settle }) => settle(undefined));
      const error = new ApiStatusError(
        'Conflict',
        `Operation cannot be fulfilled on resourcequotas ${JSON.stringify(overtaken[0]?.metadata.name)}: other clients change it too often; please try again`,
      );
      if (attempt === ATTEMPTS) return plan.charged.forEach(({ settle }) => settle({ error }));
      // The other quotas have been charged with these requests already.
      [waiting, quotas] = [plan.charged, await this.#fresh(overtaken)];
    }
  }

  async #write(quota: ResourceQuota): Promise<'written' | 'overtaken'> {
    try {
      this.#written.set(formatKey(keyOf(quota)), await this.#ledger.write(quota));
      return 'written';
    } catch (error) {
      // A deleted quota has no limits, and the next read does not find it.
      if (isApiError(error, 'Conflict', 'NotFound')) return 'overtaken';
      throw error;
    }
  }

  async #fresh(quotas: readonly ResourceQuota[]): Promise<readonly ResourceQuota[]> {
    const found: ResourceQuota[] = [];
    for (const quota of quotas) {
      try {
        found.push(await this.#ledger.get(keyOf(quota)));
      } catch (error) {
        if (!isApiError(error, 'NotFound')) throw error;
      }
    }
    return found;
  }

  #quotasOf(namespace: string): readonly ResourceQuota[] {
    const cached = this.#reader.list(resourceQuotas, namespace);
    if (this.#written.size === 0) return cached;
    const newest = cached.map((quota) => {
      const key = formatKey(keyOf(quota));
      const written = this.#written.get(key);
      if (written !== undefined && written.metadata.uid === quota.metadata.uid && versionOf(written) > versionOf(quota))
        return written;
      this.#written.delete(key);
      return quota;
    });
    for (const [key, { metadata }] of this.#written)
      if (metadata.namespace === namespace && !cached.some(({ metadata: { name } }) => name === metadata.name))
        this.#written.delete(key);
    return newest;
  }
}

const versionOf = ({ metadata }: ResourceQuota): number => Number(metadata.resourceVersion ?? 0);

interface BatchPlan {
  /** Requests that continue when all changed quotas are written. */
  readonly charged: readonly Waiter[];
  readonly changed: readonly ResourceQuota[];
}

/** Charges one request after another. Requests that exceed a quota or change nothing are settled immediately. */
function planBatch(waiting: readonly Waiter[], quotas: readonly ResourceQuota[], nowMs: number): BatchPlan {
  let running = quotas;
  const charged: Waiter[] = [];
  for (const waiter of waiting) {
    const result = chargeQuotas(running, waiter.request, nowMs);
    if (result.outcome === 'refused')
      waiter.settle(result.plain === true ? { error: new ApiStatusError('Unknown', result.why) } : { why: result.why });
    else if (waiter.dryRun || result.quotas === running) waiter.settle(undefined);
    else {
      running = result.quotas;
      charged.push(waiter);
    }
  }
  return { charged, changed: running.filter((quota, index) => quota !== quotas[index]) };
}
