import { createHash } from 'node:crypto';
import { events, eventsV1Events } from '../../api/client/resource-types.ts';
import type { Event } from '../../api/core/event.ts';
import { goAggregate } from '../../api/go-aggregate.ts';
import { array, int32, object, required, string } from '../../api/schema/schema.ts';
import type { Infer } from '../../api/schema/schema.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { FieldErrors, formatFieldError } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import { shortened } from '../../base/printable.ts';
import { isAbout } from './attributes.ts';
import { readConfig } from './configuration/admission-configuration.ts';

/** Configuration of eventratelimit.admission.k8s.io/v1alpha1. */
const ConfigurationSchema = object('Configuration', {
  kind: string,
  apiVersion: string,
  limits: required(
    array(object('Limit', { type: required(string), qps: required(int32), burst: required(int32), cacheSize: int32 })),
  ),
});
const kind = { kind: 'Configuration', apiVersions: ['eventratelimit.admission.k8s.io/v1alpha1'] };
const limitTypes = ['Server', 'Namespace', 'User', 'SourceAndObject'] as const;
type LimitType = (typeof limitTypes)[number];
const DEFAULT_CACHE_SIZE = 4096;
/** The maximum length of a key in refusals. */
const MAX_SHOWN_KEY = 256;

export interface EventLimit {
  readonly type: LimitType;
  /** Events per second. */
  readonly qps: number;
  readonly burst: number;
  /** Maximum number of buckets; the least recently used one is dropped. */
  readonly cacheSize: number;
}

/** The limits, or their error. */
export function readEventRateLimitConfiguration(document: unknown): readonly EventLimit[] | string {
  const read = readConfig<Infer<typeof ConfigurationSchema>>(ConfigurationSchema, document, kind);
  if (typeof read === 'string') return read;
  const errors = new FieldErrors();
  if (read.limits.length === 0) errors.invalid('limits', [], 'must not be empty');
  for (const [index, { type, qps, burst, cacheSize = 0 }] of read.limits.entries()) {
    const path = `limits[${index}]`;
    errors.oneOf(`${path}.type`, type, limitTypes);
    if (burst <= 0) errors.invalid(`${path}.burst`, burst, 'must be positive');
    if (qps <= 0) errors.invalid(`${path}.qps`, qps, 'must be positive');
    if (type !== 'Server' && cacheSize < 0) errors.invalid(`${path}.cacheSize`, cacheSize, 'must not be negative');
  }
  if (errors.list.length > 0) return errors.list.map(formatFieldError).join(', ');
  return read.limits.map(({ type, qps, burst, cacheSize = 0 }) => ({
    type: type as LimitType,
    qps,
    burst,
    cacheSize: cacheSize === 0 ? DEFAULT_CACHE_SIZE : cacheSize,
  }));
}

/** Limits the rate of events. Upstream: EventRateLimit. */
export function createEventRateLimit(limits: readonly EventLimit[], nowMs: () => number): AdmissionPlugin {
  const buckets = limits.map((limit) => ({ limit, bucket: new TokenBuckets(limit, nowMs) }));
  return {
    name: 'EventRateLimit',
    handles: (attributes) =>
      (attributes.operation === 'CREATE' || attributes.operation === 'UPDATE') &&
      (isAbout(attributes, events) || isAbout(attributes, eventsV1Events)) &&
      !attributes.context.dryRun,
    validate(attributes) {
      const reached: string[] = [];
      for (const { limit, bucket } of buckets) {
        const key = keyOf(limit.type, attributes);
        if (!bucket.take(digestOf(key)))
          reached.push(`limit reached on type ${limit.type} for key ${shortened(key.join(''), MAX_SHOWN_KEY)}`);
      }
      if (reached.length > 0) throw new ApiStatusError('TooManyRequests', goAggregate(reached));
    },
  };
}

/** Buckets are keyed by a digest: fields of events can have any length, and joined fields could collide. */
const digestOf = (key: readonly string[]): string => createHash('sha256').update(JSON.stringify(key)).digest('base64');

function keyOf(type: LimitType, { namespace, context, object: event }: AdmissionAttributes): string[] {
  if (type === 'Server') return [''];
  if (type === 'Namespace') return [namespace];
  if (type === 'User') return [context.user.name];
  // Both kinds of events have these fields, under two names.
  const { source, involvedObject, deprecatedSource, regarding } = event as Partial<Event> & {
    readonly deprecatedSource?: Event['source'];
    readonly regarding?: Event['involvedObject'];
  };
  const [from, about] = [source ?? deprecatedSource, involvedObject ?? regarding];
  return [from?.component, from?.host, about?.kind, about?.namespace, about?.name, about?.uid, about?.apiVersion].map(
    (each) => each ?? '',
  );
}

class TokenBuckets {
  readonly #limit: EventLimit;
  readonly #nowMs: () => number;
  readonly #buckets = new Map<string, { tokens: number; atMs: number }>();

  constructor(limit: EventLimit, nowMs: () => number) {
    this.#limit = limit;
    this.#nowMs = nowMs;
  }

  take(key: string): boolean {
    const { qps, burst, cacheSize } = this.#limit;
    const nowMs = this.#nowMs();
    const known = this.#buckets.get(key) ?? { tokens: burst, atMs: nowMs };
    // A wall clock that is set back removes no tokens.
    const tokens = Math.min(burst, known.tokens + (Math.max(0, nowMs - known.atMs) / 1000) * qps);
    const left = tokens >= 1 ? tokens - 1 : tokens;
    this.#buckets.delete(key);
    this.#buckets.set(key, { tokens: left, atMs: nowMs });
    if (this.#buckets.size > cacheSize) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return tokens >= 1;
  }
}
