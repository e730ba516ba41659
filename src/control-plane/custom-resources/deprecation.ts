import { compareVersions } from '../../api/compare-versions.ts';
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from '../../api/apiextensions/custom-resource-definition.ts';

/** Returns the warning for every response of a deprecated version; undefined for other versions. */
export function deprecationOf(
  { spec: { group, names, versions } }: CustomResourceDefinition,
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
): string | undefined {
  if (deprecated !== true) return undefined;
  if (deprecationWarning !== undefined) return deprecationWarning;
  // Only a newer version is a way out.
  const [newest] = versions
    .filter((each) => each.served && each.deprecated !== true && compareVersions(each.name, name) < 0)
    .sort((left, right) => compareVersions(left.name, right.name));
  const instead = newest === undefined ? '' : `; use ${group}/${newest.name} ${names.kind}`;
  return `${group}/${name} ${names.kind} is deprecated${instead}`;
}
