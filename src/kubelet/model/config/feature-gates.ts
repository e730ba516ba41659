/**
 * Computes which features are enabled. Unknown gates, changed locked gates and unmet dependencies are errors (upstream:
 * component-base/featuregate).
 */
import { lookupTable } from '../../../base/lookup.ts';
import { closestName } from '../../../api/schema/closest-name.ts';
import { gateDependencies, gateGroups } from './feature-gate-table.ts';
import type { GateStage } from './feature-gate-table.ts';

export interface GateSpec {
  readonly name: string;
  readonly stage: GateStage;
  readonly enabled: boolean;
  readonly locked: boolean;
}

/** Every gate by name. */
const knownGates: ReadonlyMap<string, GateSpec> = new Map(
  gateGroups.flatMap(({ stage, enabled, locked, names }) =>
    names
      .trim()
      .split(/\s+/)
      .map((name) => [name, { name, stage, enabled, locked }] as const),
  ),
);

/** `AllAlpha` and `AllBeta` switch a whole stage. A gate that is set by name has precedence. */
const stageSwitches: Readonly<Record<string, GateStage>> = lookupTable({ AllAlpha: 'Alpha', AllBeta: 'Beta' });

export interface FeatureGates {
  /** Whether the feature is enabled; false for an unknown name. */
  enabled(name: string): boolean;
}

/** Returns the value of every gate, with the stage that `kubernetes_feature_enabled` shows, which is empty for GA. */
export function gateStates(gates: FeatureGates): { name: string; stage: string; enabled: boolean }[] {
  return [...knownGates.values()].map(({ name, stage }) => ({
    name,
    stage: stage === 'GA' ? '' : stage.toUpperCase(),
    enabled: gates.enabled(name),
  }));
}

export interface GateProblem {
  readonly gate: string;
  readonly message: string;
}

export interface GateResult {
  readonly gates: FeatureGates;
  readonly errors: readonly GateProblem[];
  readonly warnings: readonly GateProblem[];
}

function unknownGate(name: string): GateProblem {
  const near = closestName(name, [...knownGates.keys(), ...Object.keys(stageSwitches)]);
  return {
    gate: name,
    message: `unrecognized feature gate: ${name}${near === undefined ? '; accepted are the feature gates of Kubernetes 1.36' : ` (did you mean ${near}?)`}`,
  };
}

function stageWarning({ name, stage }: GateSpec, value: boolean): GateProblem[] {
  if (stage !== 'GA' && stage !== 'Deprecated') return [];
  return [
    {
      gate: name,
      message: `Setting ${stage === 'GA' ? 'GA' : 'deprecated'} feature gate ${name}=${value}. It will be removed in a future release.`,
    },
  ];
}

/**
 * Applies the gates of a configuration to the defaults. If there are errors, `gates` is still usable, without the
 * invalid settings.
 */
export function computeFeatureGates(settings: Readonly<Record<string, boolean>>): GateResult {
  const errors: GateProblem[] = [];
  const warnings: GateProblem[] = [];
  const values = new Map<string, boolean>();
  for (const [name, value] of Object.entries(settings)) {
    const stage = stageSwitches[name];
    if (stage === undefined) continue;
    for (const spec of knownGates.values()) if (spec.stage === stage && !spec.locked) values.set(spec.name, value);
  }
  for (const [name, value] of Object.entries(settings)) {
    if (Object.hasOwn(stageSwitches, name)) continue;
    const spec = knownGates.get(name);
    if (spec === undefined) errors.push(unknownGate(name));
    else if (spec.locked && value !== spec.enabled) {
      errors.push({
        gate: name,
        message: `cannot set feature gate ${name} to ${value}, feature is locked to ${spec.enabled}`,
      });
    } else {
      values.set(name, value);
      warnings.push(...stageWarning(spec, value));
    }
  }
  const enabled = (name: string): boolean => values.get(name) ?? knownGates.get(name)?.enabled ?? false;
  for (const [name, needed] of Object.entries(gateDependencies)) {
    const missing = enabled(name) ? needed.filter((dependency) => !enabled(dependency)) : [];
    if (missing.length > 0)
      errors.push({
        gate: name,
        message: `${name} is enabled, but depends on features that are disabled: [${missing.join(' ')}]`,
      });
  }
  return { gates: { enabled }, errors, warnings };
}
