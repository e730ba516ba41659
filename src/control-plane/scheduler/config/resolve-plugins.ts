import type { FieldErrors } from '../../../api/validation/field-error.ts';
import type { ExtensionPoint, PluginSetSource, PluginsSource } from './config-schema.ts';
import { builtinPlugins, isPluginName, pointsOf } from './plugin-points.ts';

export interface EnabledPlugin {
  readonly name: string;
  readonly weight: number;
}

/** The extension points of plugins from modules, by name. */
export type ModulePoints = ReadonlyMap<string, readonly ExtensionPoint[]>;
const noModules: ModulePoints = new Map();

/**
 * Resolves the enabled plugins of each extension point, from the defaults and the settings of a profile (upstream:
 * mergePlugins, expandMultiPointPlugins).
 */
export function resolvePlugins(
  source: PluginsSource = {},
  modules: ModulePoints = noModules,
): (point: ExtensionPoint) => readonly EnabledPlugin[] {
  const known = knownPlugins(modules);
  const everywhere = mergeSet(builtinPlugins, source.multiPoint, known);
  return (point) => {
    const set = source[point] ?? {};
    const disabled = namesOf(set.disabled);
    const own = toEnabled(set.enabled ?? [], known);
    if (disabled.has('*')) return own;
    const ownNames = namesOf(set.enabled);
    const inherited = everywhere.filter(
      ({ name }) => known.pointsOf(name).includes(point) && !disabled.has(name) && !ownNames.has(name),
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

interface KnownPlugins {
  has(name: string): boolean;
  pointsOf(name: string): readonly ExtensionPoint[];
}

const knownPlugins = (modules: ModulePoints): KnownPlugins => ({
  has: (name) => isPluginName(name) || modules.has(name),
  pointsOf: (name) => (isPluginName(name) ? pointsOf(name) : (modules.get(name) ?? [])),
});

/** Reads the enabled plugins. A missing weight, or 0, means 1. */
const toEnabled = (list: readonly PluginReference[], known: KnownPlugins): EnabledPlugin[] =>
  list.flatMap(({ name, weight }) =>
    known.has(name) ? [{ name, weight: weight === undefined || weight === 0 ? 1 : weight }] : [],
  );

/** Merges one plugin set into the defaults. A default plugin that is enabled by name keeps its default position. */
function mergeSet(
  defaults: readonly PluginReference[],
  { enabled = [], disabled = [] }: PluginSetSource = {},
  known: KnownPlugins,
): readonly EnabledPlugin[] {
  const off = namesOf(disabled);
  const kept = off.has('*') ? [] : defaults.filter(({ name }) => !off.has(name));
  const replaced = kept.map((one) => enabled.find(({ name }) => name === one.name) ?? one);
  const added = enabled.filter(({ name }) => !kept.some((one) => one.name === name));
  return toEnabled([...replaced, ...added], known);
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

/** Checks that each name belongs to a built-in plugin or to a module in `pluginConfig`. */
export function validatePlugins(
  errors: FieldErrors,
  path: string,
  source: PluginsSource = {},
  modules: ModulePoints = noModules,
): void {
  const known = knownPlugins(modules);
  for (const point of ['multiPoint', ...allPoints] as const) {
    const seen = new Set<string>();
    for (const [index, { name, weight }] of (source[point]?.enabled ?? []).entries()) {
      const at = `${path}.${point}.enabled[${index}]`;
      if (!known.has(name))
        errors.notFound(at, name, 'no such plugin; one that is not built in needs args.module in pluginConfig');
      else if (point !== 'multiPoint' && !known.pointsOf(name).includes(point))
        errors.invalid(at, name, `plugin does not extend ${point}`);
      if (seen.has(name)) errors.duplicate(at, name);
      seen.add(name);
      if (weight !== undefined && (weight < 0 || weight > 1_000_000))
        errors.invalid(`${at}.weight`, weight, 'must be in the range [0, 1000000]');
    }
  }
  const resolved = resolvePlugins(source, modules);
  if (resolved('queueSort').length !== 1)
    errors.invalid(`${path}.queueSort`, resolved('queueSort').length, 'exactly one queue sort plugin must be enabled');
  if (resolved('bind').length === 0) errors.required(`${path}.bind`, 'at least one bind plugin is needed');
  for (const [before, main] of [
    ['preFilter', 'filter'],
    ['preScore', 'score'],
  ] as const) {
    const prepared = new Set(resolved(before).map(({ name }) => name));
    for (const { name } of resolved(main)) {
      if (isPluginName(name) && pointsOf(name).includes(before) && !prepared.has(name))
        errors.invalid(`${path}.${main}`, name, `needs ${before} of the same plugin, which is disabled`);
    }
  }
}
