import { isApiError } from '../../api/status/api-status-error.ts';
import { findAvailable, localCondition } from '../../api/apiregistration/api-service.ts';
import type { APIService } from '../../api/apiregistration/api-service.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { apiServices, endpointSlices, services } from '../../api/client/resource-types.ts';
import { endpointLabels } from '../../api/annotations.ts';
import { formatTime } from '../../api/time.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { errorMessage } from '../../base/errors.ts';
import { RateLimitingQueue } from '../controller-runtime/rate-limiting-queue.ts';
import type { ApiBackend } from '../model/api-backends.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { backendOf } from './backend-table.ts';
import type { BackendTable } from './backend-table.ts';
import { failedCheck, judgeService, passed } from './judge-service.ts';
import type { Availability } from './judge-service.ts';
import { isSameFacts, readOpenApi2, readOpenApiHash, readResources } from './read-backend.ts';
import type { BackendFacts } from './read-backend.ts';
import type { ServiceFacts } from './resolve-service.ts';

export interface AvailabilityOptions {
  readonly reader: ObjectReader;
  readonly client: ApiClient;
  readonly table: BackendTable;
  /** Returns the response body of a GET. Rejects with the reason if there is none. */
  readonly ask: (backend: ApiBackend, path: string) => Promise<string>;
  readonly clock: Clock;
  readonly log: Logger;
}

const WORKERS = 5;
/** The interval of checks, because a server may fail without a change of its endpoints. */
const RECHECK_MS = 30_000;
const FIRST_RETRY_MS = 250;
/**
 * The number of further attempts, all at the same time, after the first one failed. A Service may have a pod that does
 * not answer.
 */
const MORE_ATTEMPTS = 4;

/**
 * Maintains the condition Available of APIServices and the discovery documents of their servers (upstream:
 * AvailableConditionController). An APIService is checked when it, its Service or its endpoints change, and every 30
 * seconds. Five are checked at a time, each for a few seconds, so that a server that does not answer does not delay the
 * others.
 */
export function createAvailabilityController(options: AvailabilityOptions): { start(): void; stop(): Promise<void> } {
  const { reader, clock, log } = options;
  const checker = new AvailabilityChecker(options);
  const queue = new RateLimitingQueue({
    name: 'api-services',
    clock,
    log,
    workers: WORKERS,
    sync: (name) => checker.sync(name),
  });
  const wakeBehind = (namespace: string, name: string): void => {
    for (const { metadata, spec } of reader.list(apiServices, ''))
      if (spec.service?.name === name && spec.service.namespace === namespace) queue.add(metadata.name);
  };
  const ends: (() => void)[] = [];
  return {
    start: () => {
      ends.push(
        reader.onChange(apiServices, (before, after) => {
          if (after === undefined) checker.forget(before?.metadata.name ?? '');
          else if (!isOwnWrite(before, after)) queue.add(after.metadata.name);
        }),
        reader.onChange(services, (before, after) => {
          const { namespace = '', name = '' } = (after ?? before)?.metadata ?? {};
          wakeBehind(namespace, name);
        }),
        reader.onChange(endpointSlices, (before, after) => {
          const { namespace = '', labels } = (after ?? before)?.metadata ?? {};
          wakeBehind(namespace, labels?.[endpointLabels.serviceName] ?? '');
        }),
      );
      for (const { metadata } of reader.list(apiServices, '')) queue.add(metadata.name);
      queue.start();
    },
    stop: async () => {
      for (const end of ends.splice(0)) end();
      await queue.stop();
    },
  };
}

/** Whether only the status changed. Such a change comes from this controller. */
const isOwnWrite = (before: APIService | undefined, after: APIService): boolean =>
  before !== undefined && JSON.stringify(before.spec) === JSON.stringify(after.spec);

/** Returns the endpoints of a Service, from the cache. */
export function serviceFacts(reader: ObjectReader, { namespace, name }: ApiBackend['service']): ServiceFacts {
  return {
    service: reader.get(services, { namespace, name }),
    slices: reader
      .list(endpointSlices, namespace)
      .filter(({ metadata }) => metadata.labels?.[endpointLabels.serviceName] === name),
  };
}

class AvailabilityChecker {
  readonly #options: AvailabilityOptions;
  readonly #failures = new Map<string, number>();

  constructor(options: AvailabilityOptions) {
    this.#options = options;
  }

  forget(name: string): void {
    this.#failures.delete(name);
  }

  async sync(name: string): Promise<number | undefined> {
    const apiService = this.#options.reader.get(apiServices, { namespace: '', name });
    if (apiService === undefined) return undefined;
    const backend = backendOf(apiService);
    if (backend === undefined) {
      await this.#write(apiService, localCondition);
      return undefined;
    }
    const availability = await this.#judge(backend);
    await this.#write(apiService, availability);
    if (availability.reason !== 'FailedDiscoveryCheck') {
      this.#failures.delete(name);
      return availability.status === 'True' ? RECHECK_MS : undefined;
    }
    const failures = this.#failures.get(name) ?? 0;
    this.#failures.set(name, failures + 1);
    return Math.min(RECHECK_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10));
  }

  async #judge(backend: ApiBackend): Promise<Availability> {
    const facts = serviceFacts(this.#options.reader, backend.service);
    const known = judgeService(backend.service, facts);
    if (known !== undefined) return known;
    const { ask, table } = this.#options;
    const path = `/apis/${backend.group}/${backend.version}`;
    try {
      const found = await ask(backend, path).catch((error: unknown) =>
        Promise.any(Array.from({ length: MORE_ATTEMPTS }, () => ask(backend, path))).catch(() => {
          throw error;
        }),
      );
      const resources = readResources(found);
      const openApiHash = await this.#openApiHash(backend, path);
      const openApi2 = await this.#openApi2(backend, path, {
        ...(resources !== undefined && { resources }),
        ...(openApiHash !== undefined && { openApiHash }),
      });
      table.learn(backend.name, {
        ...(resources !== undefined && { resources }),
        ...(openApiHash !== undefined && { openApiHash }),
        ...(openApi2 !== undefined && { openApi2 }),
      });
      return passed;
    } catch (error) {
      return failedCheck(errorMessage(error));
    }
  }

  /** Older servers have no OpenAPI 3. */
  #openApiHash(backend: ApiBackend, path: string): Promise<string | undefined> {
    return this.#options.ask(backend, '/openapi/v3').then(
      (text) => readOpenApiHash(text, path.slice(1)),
      () => undefined,
    );
  }

  /** This document is large, so it is fetched again only if the other documents have changed. */
  #openApi2(backend: ApiBackend, path: string, now: BackendFacts): Promise<BackendFacts['openApi2']> {
    const known = this.#options.table.facts(backend.name);
    if (known?.openApi2 !== undefined && isSameFacts(known, { ...now, openApi2: known.openApi2 }))
      return Promise.resolve(known.openApi2);
    return this.#options.ask(backend, '/openapi/v2').then(
      (text) => readOpenApi2(text, path),
      () => known?.openApi2,
    );
  }

  async #write(apiService: APIService, next: Availability): Promise<void> {
    const { status, reason, message } = next;
    const before = findAvailable(apiService);
    if (before?.status === status && before.reason === reason && before.message === message) return;
    const since = before?.status === status ? before.lastTransitionTime : undefined;
    const condition = {
      type: 'Available',
      status,
      lastTransitionTime: since ?? formatTime(this.#options.clock.nowMs()),
      reason,
      message,
    };
    const others = (apiService.status?.conditions ?? []).filter(({ type }) => type !== 'Available');
    await this.#options.client
      .update(apiServices, { ...apiService, status: { conditions: [...others, condition] } }, { subresource: 'status' })
      .catch((error: unknown) => {
        if (!isApiError(error, 'NotFound')) throw error;
      });
  }
}
