/** Builds one log line for each changed field and flag whose effect is not yet the same as upstream's. */
import { applyDefaults, applyEvictionDefaults, applyLegacyDefaults } from '../../model/config/defaults.ts';
import type { DefaultedKubeletConfiguration } from '../../model/config/defaults.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { honouredFields, honouredFlags } from '../../model/config/honoured-fields.ts';
import { fieldAt } from './config-merge.ts';

export interface ParityBase {
  /** Whether the defaults are those for a configuration with a file (--config). */
  readonly fromFile: boolean;
  /** The names of the flags on the command line. */
  readonly given: ReadonlySet<string>;
}

const sameValue = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

export function computeParityWarnings(
  config: DefaultedKubeletConfiguration,
  { fromFile, given }: ParityBase,
): string[] {
  const upstream = applyDefaults({}, computeFeatureGates({}).gates.enabled);
  const defaults = fromFile ? applyEvictionDefaults(upstream) : applyLegacyDefaults(upstream);
  const warnings: string[] = [];
  for (const [field, { state, note }] of Object.entries(honouredFields)) {
    if (state === 'honoured' || field === 'kind' || field === 'apiVersion') continue;
    const value = fieldAt(config, field);
    if (value === undefined || sameValue(value, fieldAt(defaults, field))) continue;
    warnings.push(
      `configuration field ${field} is accepted ${state === 'partly' ? 'and only partly honoured' : 'but not honoured yet'}: ${note}`,
    );
  }
  for (const [flag, { state, note }] of Object.entries(honouredFlags)) {
    if (state === 'honoured' || !given.has(flag)) continue;
    warnings.push(
      `flag --${flag} is accepted ${state === 'partly' ? 'and only partly honoured' : 'but not honoured yet'}: ${note}`,
    );
  }
  return warnings;
}
