import type { ResourceType } from '../../api/client/resource-type.ts';
import { formatGroupResource } from '../../api/status/api-status-error.ts';
import type { CustomKind, CustomKinds } from '../controller-runtime/custom-kinds.ts';
import type { Definitions, DefinitionsChange } from '../model/definitions.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

interface Entry {
  readonly type: ResourceType;
  readonly versions: Set<ResourceDefinition>;
}

/** Indexes the custom kinds among the definitions. The cost of an update depends only on the changed kinds. */
export function indexCustomKinds(definitions: Definitions): CustomKinds {
  const entries = new Map<string, Entry>();
  const listeners = new Set<(changed: readonly ResourceType[]) => void>();
  let listed: readonly CustomKind[] | undefined;
  const entryOf = (type: ResourceType | undefined): Entry | undefined => {
    const entry = type && entries.get(formatGroupResource(type));
    // A built-in kind may be stored as another kind too.
    return entry?.type === type ? entry : undefined;
  };
  const apply = ({ removed, added }: DefinitionsChange): void => {
    for (const definition of removed) {
      entryOf(definition.storedAs?.stored)?.versions.delete(definition);
      if (entryOf(definition.type) !== undefined) entries.delete(formatGroupResource(definition.type));
    }
    for (const definition of added) {
      if (definition.isInternal === true)
        entries.set(formatGroupResource(definition.type), { type: definition.type, versions: new Set() });
      entryOf(definition.storedAs?.stored)?.versions.add(definition);
    }
    listed = undefined;
  };
  apply({ removed: [], added: definitions.all });
  definitions.onChange((change) => {
    apply(change);
    const changed = new Map<string, ResourceType>();
    for (const { type, storedAs, isInternal } of [...change.removed, ...change.added]) {
      const place = isInternal === true ? type : storedAs?.stored;
      if (place?.version === '') changed.set(formatGroupResource(place), place);
    }
    if (changed.size > 0) for (const listener of [...listeners]) listener([...changed.values()]);
  });
  return {
    list: () => (listed ??= [...entries.values()].map(shown)),
    find: (type) => {
      const entry = entries.get(formatGroupResource(type));
      return entry && shown(entry);
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Selects a version to show. It prefers the storage version, which needs no conversion. */
function shown({ type, versions }: Entry): CustomKind {
  const [first] = versions;
  const stored = [...versions].find((each) => each.type.version === each.storedAs?.version);
  return { type, served: (stored ?? first)?.type };
}
