import { errorMessage } from '../../../base/errors.ts';
import { decode } from '../../../api/schema/decode.ts';
import type { FieldErrors } from '../../../api/validation/field-error.ts';
import { adaptModule } from '../modules/adapt-module.ts';
import type { AdaptedModule } from '../modules/adapt-module.ts';
import type { ModulePlugin, PluginFactory } from '../modules/plugin-module.ts';
import { SchedulerConfigurationSchema } from './config-schema.ts';
import type { ProfileSource } from './config-schema.ts';
import { isPluginName } from './plugin-points.ts';

/** The default exports of the configured modules, by the path or name in the configuration. */
export interface LoadedModules {
  readonly factories: ReadonlyMap<string, unknown>;
  readonly log: (plugin: string, message: string) => void;
}

export const noModules: LoadedModules = { factories: new Map(), log: () => {} };

/**
 * Returns the modules that must be loaded before the configuration can be read. The list is empty if the configuration
 * cannot be decoded.
 */
export function modulesNamedIn(input: unknown): readonly string[] {
  const { value } = decode(SchedulerConfigurationSchema, input, { mode: 'lenient' });
  const named = (value.profiles ?? []).flatMap(({ pluginConfig = [] }) =>
    pluginConfig.flatMap(({ name, args }) => (isPluginName(name) ? [] : (moduleOf(args) ?? []))),
  );
  return [...new Set(named)];
}

/** Adapts the plugins of a profile that come from modules. */
export function adaptModules(
  errors: FieldErrors,
  path: string,
  { pluginConfig = [] }: ProfileSource,
  { factories, log }: LoadedModules,
): ReadonlyMap<string, AdaptedModule> {
  const adapted = new Map<string, AdaptedModule>();
  for (const [index, { name, args }] of pluginConfig.entries()) {
    const module = moduleOf(args);
    if (isPluginName(name) || module === undefined || !factories.has(module)) continue;
    const at = `${path}.pluginConfig[${index}].args.module`;
    const factory = factories.get(module);
    if (typeof factory !== 'function') {
      errors.invalid(at, module, 'the default export of the module must be a function that returns the plugin');
      continue;
    }
    try {
      const { module: _, ...rest } = args as Readonly<Record<string, unknown>>;
      const plugin: unknown = (factory as PluginFactory)(rest, { log: (message) => log(name, String(message)) });
      if (typeof plugin !== 'object' || plugin === null)
        throw new Error('the function of the module returned no object');
      const made = adaptModule(name, plugin as ModulePlugin, (message) => log(name, message));
      if (made.points.length === 0)
        throw new Error('the plugin has no method that is named as an extension point, such as filter or score');
      adapted.set(name, made);
    } catch (error) {
      errors.invalid(at, module, `the plugin cannot be made: ${errorMessage(error)}`);
    }
  }
  return adapted;
}

function moduleOf(args: unknown): string | undefined {
  if (typeof args !== 'object' || args === null) return undefined;
  const { module } = args as { readonly module?: unknown };
  return typeof module === 'string' && module !== '' ? module : undefined;
}
