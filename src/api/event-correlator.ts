import type { Event } from './core/event.ts';
import { BoundedMap } from '../base/bounded-map.ts';

/** Upstream: client-go tools/record/events_cache.go. */
const REMEMBERED = 4096;
/** This many different messages with one reason within this time are combined into one event. */
const SIMILAR_LIMIT = 10;
const SIMILAR_WITHIN_MS = 600_000;
/** A source may send this many events about one object at once, and then one every five minutes. */
const SPAM_BURST = 25;
const SPAM_REFILL_MS = 300_000;

/** `key` is the same for an event that replaces an earlier one; `skip` is an event above the limit of its object. */
export type Correlation = { kind: 'record'; key: string; event: Event } | { kind: 'skip' };

interface Similar {
  readonly messages: Set<string>;
  lastMs: number;
}

interface Seen {
  readonly count: number;
  readonly firstTimestamp: string | undefined;
  readonly name: string | undefined;
}

/**
 * Decides what to do with an event: similar events are combined, equal ones are counted, and the rate per object is
 * limited. Does no I/O and reads no clock.
 */
export class EventCorrelator {
  readonly #similar = new BoundedMap<string, Similar>(REMEMBERED);
  readonly #seen = new BoundedMap<string, Seen>(REMEMBERED);
  readonly #budgets = new BoundedMap<string, { tokens: number; atMs: number }>(REMEMBERED);

  /**
   * `event` is the original event with a count of 1. The time is wall milliseconds, because event times are wall times.
   */
  correlate(event: Event, nowMs: number): Correlation {
    const { combined, key } = this.#combine(event, nowMs);
    const counted = this.#count(combined, key);
    return this.#hasBudget(counted, nowMs) ? { kind: 'record', key, event: counted } : { kind: 'skip' };
  }

  #combine(event: Event, nowMs: number): { combined: Event; key: string } {
    const groupKey = keyOf(event, [event.reason, event.reportingComponent, event.reportingInstance]);
    const known = this.#similar.get(groupKey);
    const group =
      known === undefined || nowMs - known.lastMs > SIMILAR_WITHIN_MS
        ? { messages: new Set<string>(), lastMs: nowMs }
        : known;
    group.messages.add(event.message ?? '');
    group.lastMs = nowMs;
    this.#similar.set(groupKey, group);
    if (group.messages.size < SIMILAR_LIMIT)
      return { combined: event, key: keyOf(event, [event.involvedObject.fieldPath, event.reason, event.message]) };
    // The counter stays at its limit, so that further events in this period are combined too.
    group.messages.delete(group.messages.values().next().value as string);
    return { combined: { ...event, message: `(combined from similar events): ${event.message ?? ''}` }, key: groupKey };
  }

  /** A repeated event keeps its name and first time; its count increases. */
  #count(event: Event, key: string): Event {
    const seen = this.#seen.get(key);
    const counted =
      seen === undefined
        ? event
        : {
            ...event,
            metadata: { ...event.metadata, name: seen.name ?? '' },
            firstTimestamp: seen.firstTimestamp,
            count: seen.count + 1,
          };
    this.#seen.set(key, {
      count: counted.count ?? 1,
      firstTimestamp: counted.firstTimestamp,
      name: counted.metadata.name,
    });
    return counted;
  }

  #hasBudget(event: Event, nowMs: number): boolean {
    const key = keyOf(event, []);
    const { tokens, atMs } = this.#budgets.get(key) ?? { tokens: SPAM_BURST, atMs: nowMs };
    // The wall clock may have been set back.
    const refilled = Math.min(SPAM_BURST, tokens + Math.max(0, nowMs - atMs) / SPAM_REFILL_MS);
    const accepted = refilled >= 1;
    this.#budgets.set(key, { tokens: accepted ? refilled - 1 : refilled, atMs: nowMs });
    return accepted;
  }
}

/** Source, object and type; further distinguishing fields are appended. */
function keyOf({ source, involvedObject, type }: Event, more: readonly (string | undefined)[]): string {
  const { kind, namespace, name, uid, apiVersion } = involvedObject;
  return [source?.component, source?.host, kind, namespace, name, uid, apiVersion, type, ...more]
    .map((part) => part ?? '')
    .join('\u0000');
}
