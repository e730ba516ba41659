import type {
  InitializerConfiguration,
  InitializerRule,
} from '../../../api/admissionregistration/initializer-configuration.ts';
import type { ResourceType } from '../../../api/client/resource-type.ts';

/**
 * The names of the initializers for new objects of a type: configurations in the order of their names, and each name
 * once (upstream: findInitializers).
 */
export function findInitializers(
  configurations: readonly InitializerConfiguration[],
  type: Pick<ResourceType, 'group' | 'version' | 'plural'>,
): readonly string[] {
  const sorted = [...configurations].sort((one, other) => (one.metadata.name < other.metadata.name ? -1 : 1));
  const names = sorted
    .flatMap(({ initializers = [] }) => initializers)
    .filter(({ rules = [] }) => rules.some((rule) => matches(rule, type)))
    .map(({ name }) => name);
  return [...new Set(names)];
}

function matches(
  { apiGroups = [], apiVersions = [], resources = [] }: InitializerRule,
  { group, version, plural }: Pick<ResourceType, 'group' | 'version' | 'plural'>,
): boolean {
  const has = (values: readonly string[], value: string): boolean => values.includes('*') || values.includes(value);
  return has(apiGroups, group) && has(apiVersions, version) && has(resources, plural);
}
