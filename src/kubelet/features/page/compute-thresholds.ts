import { quantityValue } from '../../../api/quantity.ts';
import { tryParseQuantity } from '../../../api/quantity.ts';
import type { EvictionConfig } from '../../model/config/kubelet-config.ts';
import type { PageThreshold } from './page-state.ts';

/** The capacity of each signal. Thresholds in percent of an unknown capacity are left out. */
export type Capacities = ReadonlyMap<string, number | undefined>;

/** Converts the thresholds of the configuration to amounts. */
export function computeThresholds(
  { hard, soft, softGraceMs }: Pick<EvictionConfig, 'hard' | 'soft' | 'softGraceMs'>,
  capacities: Capacities,
): PageThreshold[] {
  const grace = new Map(Object.entries(softGraceMs));
  const of = (texts: Readonly<Record<string, string>>, kind: PageThreshold['kind']): PageThreshold[] =>
    Object.entries(texts).flatMap(([signal, text]) => {
      const amount = amountOf(text, capacities.get(signal));
      return amount === undefined
        ? []
        : [{ signal, kind, amount, graceMs: kind === 'hard' ? 0 : (grace.get(signal) ?? 0) }];
    });
  return [...of(hard, 'hard'), ...of(soft, 'soft')].filter(({ amount }) => amount > 0);
}

function amountOf(text: string, capacity: number | undefined): number | undefined {
  if (text.endsWith('%')) {
    const share = Number(text.slice(0, -1));
    return capacity === undefined || Number.isNaN(share) ? undefined : (capacity * share) / 100;
  }
  return typeof tryParseQuantity(text) === 'string' ? undefined : quantityValue(text);
}
