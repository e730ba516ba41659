import { decode, formatStrictErrors } from '../../../api/schema/decode.ts';
import type { FieldErrors } from '../../../api/validation/field-error.ts';
import { argsSchemas } from './config-schema.ts';
import type { PluginWithArgs, ProfileSource } from './config-schema.ts';
import { readArgs } from './plugin-args.ts';
import type { PluginArgs } from './plugin-args.ts';
import { isPluginName } from './plugin-points.ts';

export const SCHEDULER_CONFIG_API_VERSION = 'kubescheduler.config.k8s.io/v1';

interface OtherParts {
  /** The resources that extenders manage. */
  readonly ignoredResources: readonly string[];
  readonly isModule: (name: string) => boolean;
}

/** Reads the arguments of all built-in plugins from `pluginConfig` and applies the defaults. */
export function readAllArgs(
  errors: FieldErrors,
  path: string,
  { pluginConfig = [] }: ProfileSource,
  { ignoredResources, isModule }: OtherParts,
): PluginArgs {
  const given = new Map<string, Given>();
  for (const [index, { name, args }] of pluginConfig.entries()) {
    const at = `${path}.pluginConfig[${index}]`;
    if (given.has(name)) errors.duplicate(at, name);
    if (isModule(name)) continue;
    if (!isPluginName(name)) errors.notFound(at, name, 'no such plugin; one that is not built in needs args.module');
    else if (args !== undefined && !Object.hasOwn(argsSchemas, name))
      errors.forbidden(`${at}.args`, `plugin ${name} takes no arguments`);
    given.set(name, { at: `${at}.args`, args });
  }
  const read = <Name extends PluginWithArgs>(name: Name): PluginArgs[Name] => readOne(errors, name, given.get(name));
  const fit = read('NodeResourcesFit');
  return {
    DefaultPreemption: read('DefaultPreemption'),
    DynamicResources: read('DynamicResources'),
    InterPodAffinity: read('InterPodAffinity'),
    NodeAffinity: read('NodeAffinity'),
    NodeResourcesBalancedAllocation: read('NodeResourcesBalancedAllocation'),
    NodeResourcesFit: { ...fit, ignoredResources: [...(fit.ignoredResources ?? []), ...ignoredResources] },
    PodTopologySpread: read('PodTopologySpread'),
    VolumeBinding: read('VolumeBinding'),
  };
}

interface Given {
  readonly at: string;
  readonly args: unknown;
}

function readOne<Name extends PluginWithArgs>(
  errors: FieldErrors,
  name: Name,
  given: Given | undefined,
): PluginArgs[Name] {
  const schema = argsSchemas[name];
  const { value, errors: unreadable } = decode(schema, given?.args ?? {}, { mode: 'strict' });
  const at = given?.at ?? name;
  if (unreadable.length > 0)
    errors.invalidHidden(at, `decoding args for plugin ${name}: ${formatStrictErrors(unreadable)}`);
  const { kind, apiVersion } = value as { readonly kind?: string; readonly apiVersion?: string };
  if (
    (kind ?? `${name}Args`) !== `${name}Args` ||
    (apiVersion ?? SCHEDULER_CONFIG_API_VERSION) !== SCHEDULER_CONFIG_API_VERSION
  ) {
    errors.invalidHidden(
      at,
      `args for plugin ${name} were not of type ${name}Args.kubescheduler.config.k8s.io, got ${kind ?? ''} of ${apiVersion ?? ''}`,
    );
  }
  // Schema and reader have the same name, so their types match.
  const reader = readArgs[name] as (errors: FieldErrors, path: string, args: typeof value) => PluginArgs[Name];
  return reader(errors, at, value);
}
