import type { Informer } from '../../../api/client/informer.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { resourceQuotas } from '../../../api/client/resource-types.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { parseAmounts } from '../../../api/quota/amounts.ts';
import { evaluatorOf } from '../../../api/quota/evaluators.ts';
import { concernsQuota, newQuotaStatus } from '../../../api/quota/quota-usage.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { QuotaTally } from './quota-tally.ts';

const WORKERS = 5;
/** The resync period (upstream: --resource-quota-sync-period). */
const RESYNC_MS = 5 * 60_000;
/**
 * The time without a charge after which usage may be lowered, because a charged object may not be stored or visible
 * here yet. (Upstream lowers it immediately, so a namespace can occasionally exceed its quota.)
 */
const SETTLE_MS = 200;
/** The time after a charge when usage is recomputed, because the charged request may have failed later. */
const RECOUNT_MS = 10_000;

export interface ResourceQuotaControllerOptions extends ControllerOptions {
  /** All stored namespaced kinds. */
  readonly types: readonly ResourceType[];
}

/**
 * Recomputes the usage of each quota at first and whenever usage may have decreased (upstream: resourcequota
 * controller).
 */
export function createResourceQuotaController(options: ResourceQuotaControllerOptions): Controller {
  const { informers, clock, log } = options;
  const quotas = informers.for(resourceQuotas);
  const counted = options.types
    .filter((type) => evaluatorOf(type) !== undefined)
    .map((type) => ({ type, informer: informers.for<ApiObject>(type) }));
  const tally = new QuotaTally(quotas, counted);
  const syncer = new QuotaSyncer(options, { quotas, tally });
  const queue = new RateLimitingQueue({
    name: 'resource-quota',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => syncer.sync(key),
  });
  const wake = (type: ResourceType, namespace: string): void => {
    for (const quota of quotas.list(namespace)) if (concernsQuota(type, quota)) queue.add(formatKey(keyOf(quota)));
  };
  const ends = counted.map(({ type, informer }) =>
    informer.addHandlers({
      onDelete: ({ metadata }) => wake(type, metadata.namespace),
      onUpdate: (before, after) =>
        evaluatorOf(type)?.mayShrink(before, after, clock.nowMs()) === true && wake(type, after.metadata.namespace),
    }),
  );
  const quotaEnd = quotas.addHandlers({
    onAdd: (quota) => queue.add(formatKey(keyOf(quota))),
    onUpdate: (before, after) => {
      syncer.changed(after);
      if (JSON.stringify(before.spec) !== JSON.stringify(after.spec)) queue.add(formatKey(keyOf(after)));
      else queue.addAfter(formatKey(keyOf(after)), RECOUNT_MS);
    },
    onDelete: (quota) => syncer.forget(quota),
  });
  return runController({
    name: 'resource quota controller',
    log,
    queues: [queue],
    informers: [quotas, ...counted.map(({ informer }) => informer)],
    ends: [...ends, quotaEnd, () => tally.stop()],
  });
}

interface Parts {
  readonly quotas: Informer<ResourceQuota>;
  readonly tally: QuotaTally;
}

class QuotaSyncer {
  readonly #options: ResourceQuotaControllerOptions;
  readonly #parts: Parts;
  /** The monotonic time of each quota's last change. */
  readonly #changedMs = new Map<string, number>();

  constructor(options: ResourceQuotaControllerOptions, parts: Parts) {
    this.#options = options;
    this.#parts = parts;
  }

  changed(quota: ResourceQuota): void {
    this.#changedMs.set(formatKey(keyOf(quota)), this.#options.clock.monotonicMs());
  }

  forget(quota: ResourceQuota): void {
    this.#changedMs.delete(formatKey(keyOf(quota)));
  }

  /** Syncs a quota. Resolves to the delay of the next check in milliseconds. */
  async sync(key: string): Promise<number | undefined> {
    const quota = this.#parts.quotas.getByKey(key);
    if (quota === undefined) return undefined;
    const { clock, client } = this.#options;
    const used = this.#parts.tally.of(quota, clock.nowMs());
    const status = newQuotaStatus(quota, used);
    if (status === undefined) return RESYNC_MS;
    const before = parseAmounts(quota.status?.used);
    const lowers = [...used].some(([name, { nanos }]) => nanos < (before.get(name)?.nanos ?? 0n));
    const quietMs = clock.monotonicMs() - (this.#changedMs.get(key) ?? -Infinity);
    if (lowers && quietMs < SETTLE_MS) return SETTLE_MS - quietMs;
    try {
      await client.update(resourceQuotas, { ...quota, status }, { subresource: 'status' });
    } catch (error) {
      // The quota was charged or deleted; the event queues it again.
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
      return SETTLE_MS;
    }
    return RESYNC_MS;
  }
}
