import type {
  CustomResourceDefinition,
  CustomResourceDefinitionNames,
} from '../../api/apiextensions/custom-resource-definition.ts';
import { isLaterVersion } from '../../api/resource-version.ts';

export interface AcceptedNames {
  readonly names: CustomResourceDefinitionNames;
  /** The reason why not all wanted names are accepted. */
  readonly conflict?: { readonly reason: string; readonly message: string };
}

type Names = Partial<CustomResourceDefinitionNames>;

/**
 * Accepts the names that no other definition of the group uses; for the others the old names stay (upstream:
 * controller/status naming_controller.go). A definition does not get names that one of an older version wants. The
 * result is written on the condition that its definition has not changed, and every cache that has this definition has
 * the older version or its result. So two definitions never have the same name accepted, even if several servers
 * compute them concurrently, which upstream does not exclude.
 */
export function acceptNames(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
): AcceptedNames {
  const wanted = definition.spec.names;
  const old: Names = definition.status?.acceptedNames ?? {};
  const used = others.flatMap((other) => usedBy(other, definition));
  const resources = new Set(used.flatMap(({ plural, singular, shortNames = [] }) => [plural, singular, ...shortNames]));
  const kinds = new Set(used.flatMap(({ kind, listKind }) => [kind, listKind]));
  const inUse = (name: string): string => `${JSON.stringify(name)} is already in use`;
  let conflict: AcceptedNames['conflict'];
  const pick = (field: 'plural' | 'singular' | 'kind' | 'listKind', reason: string): string => {
    const set = field === 'plural' || field === 'singular' ? resources : kinds;
    const name = wanted[field] ?? '';
    if (name === '' || name === old[field] || !set.has(name)) return name;
    conflict = { reason, message: inUse(name) };
    return old[field] ?? '';
  };
  const plural = pick('plural', 'PluralConflict');
  const singular = pick('singular', 'SingularConflict');
  const taken = (wanted.shortNames ?? []).filter(
    (name) => old.shortNames?.includes(name) !== true && resources.has(name),
  );
  if (taken.length > 0) {
    const texts = taken.map(inUse);
    conflict = {
      reason: 'ShortNamesConflict',
      message: texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`,
    };
  }
  const shortNames = taken.length > 0 ? old.shortNames : wanted.shortNames;
  const kind = pick('kind', 'KindConflict');
  const listKind = pick('listKind', 'ListKindConflict');
  return {
    names: {
      plural,
      ...(singular !== '' && { singular }),
      ...(shortNames !== undefined && { shortNames }),
      kind,
      ...(listKind !== '' && { listKind }),
      ...(wanted.categories !== undefined && { categories: wanted.categories }),
    },
    ...(conflict !== undefined && { conflict }),
  };
}

/** Returns the names that a definition has and those that it will get. A deleted one gets none. */
function usedBy(
  { metadata, spec, status }: CustomResourceDefinition,
  { metadata: own }: CustomResourceDefinition,
): readonly Names[] {
  const accepted: Names = status?.acceptedNames ?? {};
  const isOlder = isLaterVersion(own.resourceVersion ?? '', metadata.resourceVersion ?? '');
  return isOlder && metadata.deletionTimestamp === undefined ? [accepted, spec.names] : [accepted];
}
