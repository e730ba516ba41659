import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { isCrdConditionTrue } from '../../api/apiextensions/custom-resource-definition.ts';
import { customResourceDefinitions } from '../../api/client/resource-types.ts';
import type { DefinitionsTarget } from '../model/definitions.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { customPlace, customVersions } from './define-custom-kind.ts';
import type { CustomKindParts } from './define-custom-kind.ts';

export interface CustomKindsOptions extends CustomKindParts {
  readonly reader: Pick<ObjectReader, 'onChange'>;
  readonly definitions: DefinitionsTarget;
}

interface Known {
  readonly crd: CustomResourceDefinition;
  readonly place: ResourceDefinition;
  readonly versions: readonly ResourceDefinition[];
}

/**
 * Updates the registry of kinds from CustomResourceDefinitions, starting with the first one that the cache reads.
 * Invariants:
 * 1. The storage location of a kind is known from the definition's first event on, before any object can be written
 *    there.
 * 2. Versions are served while the definition is established, under the accepted names.
 * 3. A built-in kind is never replaced.
 */
export function followCustomKinds({ reader, definitions, ...parts }: CustomKindsOptions): void {
  const known = new Map<string, Known>();
  const builtIn = new Set(definitions.all.map(({ type }) => `${type.group}/${type.version}`));
  const serve = (crd: CustomResourceDefinition, place: ResourceDefinition): readonly ResourceDefinition[] =>
    isCrdConditionTrue(crd, 'Established')
      ? customVersions(crd, place, parts).filter(({ type }) => !builtIn.has(`${type.group}/${type.version}`))
      : [];
  reader.onChange(customResourceDefinitions, (before, after) => {
    const name = (after ?? before)?.metadata.name ?? '';
    const was = known.get(name);
    if (after === undefined || (was !== undefined && was.crd.metadata.uid !== after.metadata.uid)) {
      known.delete(name);
      if (was !== undefined) definitions.change({ removed: [...was.versions, was.place], added: [] });
      if (after === undefined) return;
    }
    const current = known.get(name);
    const difference = current === undefined ? 'shown' : compareServed(current.crd, after);
    if (current !== undefined && difference === 'none') {
      known.set(name, { ...current, crd: after });
      return;
    }
    const place = current?.place ?? customPlace(after);
    const versions = serve(after, place);
    known.set(name, { crd: after, place, versions });
    definitions.change({
      removed: current?.versions ?? [],
      added: current === undefined ? [place, ...versions] : versions,
      keepsWatches: difference === 'verbs',
    });
  });
}

/**
 * Compares the served kinds before and after a change of a definition. As in upstream, watches end if the representation
 * of objects changes. A terminating definition only refuses new objects.
 */
function compareServed(before: CustomResourceDefinition, after: CustomResourceDefinition): 'none' | 'verbs' | 'shown' {
  const isSameSpec =
    before.metadata.generation === after.metadata.generation ||
    before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
    JSON.stringify(before.spec) === JSON.stringify(after.spec);
  const isSame =
    isSameSpec &&
    isCrdConditionTrue(before, 'Established') === isCrdConditionTrue(after, 'Established') &&
    JSON.stringify(before.status?.acceptedNames) === JSON.stringify(after.status?.acceptedNames);
  if (!isSame) return 'shown';
  return isCrdConditionTrue(before, 'Terminating') === isCrdConditionTrue(after, 'Terminating') ? 'none' : 'verbs';
}
