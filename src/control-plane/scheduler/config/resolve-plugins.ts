import type { FieldErrors } from '../../../api/validation/field-error.ts';
import type { ExtensionPoint, PluginSetSource, PluginsSource } from './config-schema.ts';
import { builtinPlugins, isPluginName, pointsOf } from './plugin-points.ts';
import type { PluginName } from './plugin-points.ts';

export interface EnabledPlugin {
  readonly name: PluginName;
  readonly weight: number;
}

/**
 * The plugins of one extension point after another, from the defaults and what a profile changes (upstream:
 * mergePlugins, expandMultiPointPlugins).
 */
export function resolvePlugins(source: PluginsSource = {}): (point: ExtensionPoint) => readonly EnabledPlugin[] {
  const everywhere = mergeSet(builtinPlugins, source.multiPoint);
  return (point) => {
    const set = source[point] ?? {};
    const disabled = namesOf(set.disabled);
    const own = toEnabled(set.enabled ?? []);
    if (disabled.has('*')) return own;
    const ownNames = namesOf(set.enabled);
    const inherited = everywhere.filter(
      ({ name }) => pointsOf(name).includes(point) && !disabled.has(name) && !ownNames.has(name),
    );
    const overriding = own.filter(({ name }) => everywhere.some((one) => one.name === name) && !disabled.has(name));
    return [...overriding, ...inherited, ...own.filter((one) => !overriding.includes(one))];
  };
}

interface PluginReference {
  readonly name: string;
  readonly weight?: number;
}

const namesOf = (list: readonly PluginReference[] = []): ReadonlySet<string> => new Set(list.map(({ name }) => name));

/** A weight that is left out, or 0, is 1. */
const toEnabled = (list: readonly PluginReference[]): EnabledPlugin[] =>
  list.flatMap(({ name, weight }) =>
    isPluginName(name) ? [{ name, weight: weight === undefined || weight === 0 ? 1 : weight }] : [],
  );

/** One that is enabled by name keeps the place it has by default. */
function mergeSet(
  defaults: readonly PluginReference[],
  { enabled = [], disabled = [] }: PluginSetSource = {},
): readonly EnabledPlugin[] {
  const off = namesOf(disabled);
  const kept = off.has('*') ? [] : defaults.filter(({ name }) => !off.has(name));
  const replaced = kept.map((one) => enabled.find(({ name }) => name === one.name) ?? one);
  const added = enabled.filter(({ name }) => !kept.some((one) => one.name === name));
  return toEnabled([...replaced, ...added]);
}

const allPoints: readonly ExtensionPoint[] = [
  'preEnqueue',
  'queueSort',
  'preFilter',
  'filter',
  'postFilter',
  'preScore',
  'score',
  'reserve',
  'permit',
  'preBind',
  'bind',
  'postBind',
];

/** Only built-in plugins can be named: this scheduler loads no others. */
export function validatePlugins(errors: FieldErrors, path: string, source: PluginsSource = {}): void {
  for (const point of ['multiPoint', ...allPoints] as const) {
    const seen = new Set<string>();
    for (const [index, { name, weight }] of (source[point]?.enabled ?? []).entries()) {
      const at = `${path}.${point}.enabled[${index}]`;
      if (!isPluginName(name)) errors.notFound(at, name, 'no such plugin');
      else if (point !== 'multiPoint' && !pointsOf(name).includes(point))
        errors.invalid(at, name, `plugin does not extend ${point}`);
      if (seen.has(name)) errors.duplicate(at, name);
      seen.add(name);
      if (weight !== undefined && (weight < 0 || weight > 1_000_000))
        errors.invalid(`${at}.weight`, weight, 'must be in the range [0, 1000000]');
    }
  }
  const resolved = resolvePlugins(source);
  if (resolved('queueSort').length !== 1)
    errors.invalid(`${path}.queueSort`, resolved('queueSort').length, 'exactly one queue sort plugin must be enabled');
  if (resolved('bind').length === 0) errors.required(`${path}.bind`, 'at least one bind plugin is needed');
  for (const [before, main] of [
    ['preFilter', 'filter'],
    ['preScore', 'score'],
  ] as const) {
    const prepared = new Set(resolved(before).map(({ name }) => name));
    for (const { name } of resolved(main)) {
      if (pointsOf(name).includes(before) && !prepared.has(name))
        errors.invalid(`${path}.${main}`, name, `needs ${before} of the same plugin, which is disabled`);
    }
  }
}
