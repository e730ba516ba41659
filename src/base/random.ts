import { randomUUID } from 'node:crypto';

/** The only source of randomness, so that a simulation can replay a run from its seed. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
  /** A version 4 UUID. */
  uuid(): string;
}

export const systemRandom: Random = { next: () => Math.random(), uuid: () => randomUUID() };

/** A small deterministic generator (mulberry32): same seed, same run. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  const hex = (digits: number): string => {
    let text = '';
    while (text.length < digits) text += Math.floor(next() * 16).toString(16);
    return text;
  };
  return { next, uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}` };
}

/** Stretches `baseMs` by a random share of up to `factor`: jitter(60 s, 0.5) is in [60 s, 90 s). */
export function jitter(random: Random, baseMs: number, factor: number): number {
  return baseMs * (1 + random.next() * factor);
}
