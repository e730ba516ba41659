import type {
  CustomResourceDefinition,
  CustomResourceDefinitionVersion,
} from '../../api/apiextensions/custom-resource-definition.ts';

/** The warning with every answer about a deprecated version, if it is one. */
export function deprecationOf(
  { spec: { group, names, versions } }: CustomResourceDefinition,
  { name, deprecated, deprecationWarning }: CustomResourceDefinitionVersion,
): string | undefined {
  if (deprecated !== true) return undefined;
  if (deprecationWarning !== undefined) return deprecationWarning;
  const newer = versions.find((each) => each.served && each.deprecated !== true);
  const instead = newer === undefined ? '' : `; use ${group}/${newer.name} ${names.kind}`;
  return `${group}/${name} ${names.kind} is deprecated${instead}`;
}
