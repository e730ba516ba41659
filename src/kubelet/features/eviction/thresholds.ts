import { ownValue } from '../../../base/lookup.ts';
import { quantityOf, tryParseQuantity } from '../../../api/quantity.ts';
import type { EvictionConfig } from '../../model/config/kubelet-config.ts';
import type { EvictionSignal, Observation } from './signals.ts';
import { evictionSignals, isEvictionSignal, signalFacts } from './signals.ts';

/** A quantity, or a fraction (0 to 1) of the capacity. */
export type ThresholdValue =
  | { readonly kind: 'amount'; readonly amount: number; readonly text: string }
  | { readonly kind: 'share'; readonly share: number };

/** A threshold. The node is short of a resource when less than `value` of it is available. */
export interface Threshold {
  readonly signal: EvictionSignal;
  readonly value: ThresholdValue;
  /** How long a shortage must last before pods are evicted; 0 for a hard threshold. */
  readonly graceMs: number;
  /** The additional amount that must be available before the shortage ends. */
  readonly minimumReclaim: ThresholdValue | undefined;
}

export function isHard({ graceMs }: Threshold): boolean {
  return graceMs === 0;
}

/** Returns the key of a configured threshold. There is one of each kind per signal. */
export function thresholdKey({ signal, graceMs }: Threshold): string {
  return `${signal}/${graceMs === 0 ? 'hard' : 'soft'}`;
}

/**
 * Parses the thresholds of a configuration, hard ones first (upstream: eviction/helpers.go ParseThresholdConfig). The
 * hard threshold for memory also applies to the memory that pods may use together, if `enforcesPods` is set.
 */
export function parseThresholds(
  config: Pick<EvictionConfig, 'hard' | 'soft' | 'softGraceMs' | 'minimumReclaim'>,
  enforcesPods: boolean,
): Threshold[] {
  const reclaimOf = (signal: EvictionSignal): ThresholdValue | undefined => {
    const text = ownValue(config.minimumReclaim, signal);
    return text === undefined ? undefined : parseValue(text);
  };
  const of = (texts: Readonly<Record<string, string>>, graceOf: (signal: EvictionSignal) => number): Threshold[] =>
    evictionSignals.flatMap((signal) => {
      const text = ownValue(texts, signal);
      const value = text === undefined || isOff(text) ? undefined : parseValue(text);
      return value === undefined
        ? []
        : [{ signal, value, graceMs: graceOf(signal), minimumReclaim: reclaimOf(signal) }];
    });
  const hard = of(config.hard, () => 0);
  const soft = of(config.soft, (signal) => ownValue(config.softGraceMs, signal) ?? 0);
  const memory = enforcesPods ? hard.find(({ signal }) => signal === 'memory.available') : undefined;
  const allocatable: Threshold[] =
    memory === undefined || hard.some(({ signal }) => signal === 'allocatableMemory.available')
      ? []
      : [{ ...memory, signal: 'allocatableMemory.available' }];
  return [...hard, ...allocatable, ...soft];
}

/** Whether the threshold is off: 0 % and 100 % turn it off (upstream: parseThresholdStatement). */
const isOff = (text: string): boolean => text === '0%' || text === '100%';

/** Parses a value. Returns undefined for invalid text, which validation has rejected before. */
function parseValue(text: string): ThresholdValue | undefined {
  if (text.endsWith('%')) {
    const share = Math.fround(Math.fround(Number(text.slice(0, -1))) / 100);
    return Number.isFinite(share) ? { kind: 'share', share } : undefined;
  }
  const parsed = tryParseQuantity(text);
  return typeof parsed === 'string' ? undefined : { kind: 'amount', amount: Number(parsed.nanos) / 1e9, text };
}

/** Returns the amount in the unit of the signal. */
export function amountOf(value: ThresholdValue, capacity: number): number {
  return value.kind === 'amount' ? value.amount : Math.trunc(capacity * value.share);
}

/** Formats a threshold as in upstream's messages: a quantity as configured, a percentage converted to a quantity. */
export function thresholdText(value: ThresholdValue, capacity: number): string {
  return value.kind === 'amount' ? value.text : quantityOf(amountOf(value, capacity), 'BinarySI');
}

export function observedText(signal: EvictionSignal, amount: number): string {
  return quantityOf(amount, signalFacts[signal].format);
}

/** Whether less is available than the threshold; with `untilReclaimed` the minimum reclaim is added to it. */
export function isMet(threshold: Threshold, { available, capacity }: Observation, untilReclaimed: boolean): boolean {
  const { value, minimumReclaim } = threshold;
  const more = untilReclaimed && minimumReclaim !== undefined ? amountOf(minimumReclaim, capacity) : 0;
  return available < amountOf(value, capacity) + more;
}

/**
 * Adds the thresholds of the containers' file system. They are those of the file system on which it is (upstream:
 * UpdateContainerFsThresholds): `nodefs`, or `imagefs` if images and containers have a separate one.
 */
export function withContainerFs(thresholds: readonly Threshold[], on: 'nodefs' | 'imagefs'): Threshold[] {
  const others = thresholds.filter(({ signal }) => signalFacts[signal].source !== 'containerfs');
  const derived = others.flatMap((threshold) => {
    if (signalFacts[threshold.signal].source !== on) return [];
    const signal = threshold.signal.replace(on, 'containerfs');
    return isEvictionSignal(signal) ? [{ ...threshold, signal }] : [];
  });
  return [...others, ...derived];
}
