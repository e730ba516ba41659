/**
 * Caches answers of other name servers for the lifetime of their records (RFC 1035 7.4, RFC 2308) and counts their TTLs
 * down. Pure: the time is an argument.
 */
import { unsharedCopy } from '../../base/unshared-copy.ts';
import { questionIdentity } from './forward-plan.ts';
import type { RecordBounds } from './message-bounds.ts';
import { readBounds } from './message-bounds.ts';

export interface AnswerCacheLimits {
  /** The maximum time that an answer is cached, even if its time to live is longer. */
  readonly maxSeconds: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
}

/** The limits that kubeadm configures for CoreDNS. A client can fill no more memory than this. */
export const cacheLimits: AnswerCacheLimits = { maxSeconds: 30, maxEntries: 10_000, maxBytes: 4 << 20 };

const SOA = 6;
const OPT = 41;
const TRUNCATED = 0x0200;
const NO_SUCH_NAME = 3;
/** The approximate memory of an entry beside its bytes. */
const ENTRY_BYTES = 200;
const HEADER_BYTES = 12;

interface Entry {
  readonly answer: Buffer;
  readonly ttlsAt: readonly number[];
  readonly sinceMs: number;
  readonly untilMs: number;
}

export class AnswerCache {
  readonly #limits: AnswerCacheLimits;
  /** In order of use, the least recently used first. */
  readonly #entries = new Map<string, Entry>();
  #bytes = 0;

  constructor(limits: AnswerCacheLimits = cacheLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#entries.size;
  }

  /** Returns the answer with the query's id, and with the name as written in the query. */
  find(question: Buffer, nowMs: number): Buffer | undefined {
    const identity = questionIdentity(question);
    const entry = identity === undefined ? undefined : this.#entries.get(identity.key);
    if (identity === undefined || entry === undefined) return undefined;
    this.#drop(identity.key, entry);
    if (entry.untilMs <= nowMs) return undefined;
    this.#put(identity.key, entry);
    const answer = Buffer.from(entry.answer);
    question.copy(answer, 0, 0, 2);
    question.copy(answer, HEADER_BYTES, HEADER_BYTES, identity.end);
    const age = Math.floor((nowMs - entry.sinceMs) / 1000);
    for (const at of entry.ttlsAt) answer.writeUInt32BE(Math.max(0, answer.readUInt32BE(at) - age), at);
    return answer;
  }

  /** Stores it if it can be cached. */
  store(question: Buffer, answer: Buffer, nowMs: number): void {
    const identity = questionIdentity(question);
    const bounds = readBounds(answer);
    if (identity === undefined || bounds === undefined) return;
    const seconds = Math.min(lifeSeconds(answer, bounds.records), this.#limits.maxSeconds);
    if (seconds <= 0) return;
    const before = this.#entries.get(identity.key);
    if (before !== undefined) this.#drop(identity.key, before);
    const entry = {
      answer: unsharedCopy(answer.subarray(0, bounds.end)),
      ttlsAt: bounds.records.filter(({ type }) => type !== OPT).map(({ ttlAt }) => ttlAt),
      sinceMs: nowMs,
      untilMs: nowMs + seconds * 1000,
    };
    this.#put(identity.key, entry);
    for (const [key, oldest] of this.#entries) {
      if (this.#entries.size <= this.#limits.maxEntries && this.#bytes <= this.#limits.maxBytes) break;
      this.#drop(key, oldest);
    }
  }

  #put(key: string, entry: Entry): void {
    this.#entries.set(key, entry);
    this.#bytes += costOf(key, entry);
  }

  #drop(key: string, entry: Entry): void {
    this.#entries.delete(key);
    this.#bytes -= costOf(key, entry);
  }
}

const costOf = (key: string, { answer, ttlsAt }: Entry): number =>
  ENTRY_BYTES + key.length + answer.length + 8 * ttlsAt.length;

/** Returns how long an answer is valid; 0 means that it is not cached. */
function lifeSeconds(answer: Buffer, records: readonly RecordBounds[]): number {
  const flags = answer.readUInt16BE(2);
  const code = flags & 0xf;
  if ((flags & TRUNCATED) !== 0 || (code !== 0 && code !== NO_SUCH_NAME)) return 0;
  const timed = records.filter(({ type }) => type !== OPT);
  const shortest = Math.min(...timed.map(({ ttlAt }) => answer.readUInt32BE(ttlAt)));
  if (code === 0 && timed.some(({ section }) => section === 0)) return shortest;
  // A negative answer is valid for the time in the zone's SOA record.
  const soa = timed.find(({ section, type }) => section === 1 && type === SOA);
  return soa === undefined || soa.dataEnd - soa.ttlAt < 4 + 2 + 22
    ? 0
    : Math.min(shortest, answer.readUInt32BE(soa.dataEnd - 4));
}
