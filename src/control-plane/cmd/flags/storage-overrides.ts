import { formatGroupResource } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { StorageOverride } from './control-plane-options.ts';

const FLAG = '--etcd-servers-overrides';

/** `GROUP/RESOURCE#URL;URL` items, in upstream's form. The core group is empty: `/events#http://10.0.0.2:2379`. */
export function parseStorageOverrides(
  items: readonly string[],
  definitions: readonly ResourceDefinition[],
  errors: string[],
): readonly StorageOverride[] {
  const overrides = items.flatMap((item) => {
    const [, group, resource, list] = /^([^/#]*)\/([^/#]+)#(.+)$/.exec(item) ?? [];
    if (group === undefined || resource === undefined || list === undefined) {
      errors.push(`${FLAG}: ${JSON.stringify(item)} is not of the form GROUP/RESOURCE#URL;URL`);
      return [];
    }
    return [{ group, resource, servers: list.split(';') }];
  });
  const seen = new Set<string>();
  for (const override of overrides) {
    const name = formatGroupResource({ group: override.group, plural: override.resource });
    errors.push(...problemsOf(override, definitions).map((problem) => `${FLAG}: ${name}: ${problem}`));
    if (seen.has(name)) errors.push(`${FLAG}: ${name} is named twice`);
    seen.add(name);
  }
  return overrides;
}

function problemsOf(override: StorageOverride, definitions: readonly ResourceDefinition[]): readonly string[] {
  const kinds = kindsOf(override, definitions);
  const problems = override.servers
    .filter((server) => !/^https?:$/.test(URL.parse(server)?.protocol ?? ''))
    .map((server) => `${JSON.stringify(server)} is not a URL of an etcd server, such as http://10.0.0.2:2379`);
  if (kinds.length === 0) return [...problems, 'this server stores no such resource'];
  // CustomResourceDefinitions must be known before their objects are read.
  if (kinds.some(({ type }) => type.kind === 'CustomResourceDefinition'))
    return [...problems, 'definitions stay in the etcd of --etcd-servers, beside the objects of their kinds'];
  return problems;
}

/** All versions of the resource, and resources that share its storage. */
export function kindsOf(
  { group, resource }: Pick<StorageOverride, 'group' | 'resource'>,
  definitions: readonly ResourceDefinition[],
): readonly ResourceDefinition[] {
  const isNamed = ({ type }: Pick<ResourceDefinition, 'type'>): boolean =>
    type.group === group && type.plural === resource;
  const places = new Set(
    definitions.filter((each) => isNamed(each) && each.review === undefined).map((each) => placeOf(each, definitions)),
  );
  places.delete('');
  return definitions.filter((each) => places.has(placeOf(each, definitions)));
}

/** The storage location: kinds with the same location share a store. */
function placeOf({ storedAs, storagePath }: ResourceDefinition, definitions: readonly ResourceDefinition[]): string {
  if (storedAs === undefined) return storagePath;
  const { group, version, plural } = storedAs.stored;
  const stored = definitions.find(
    ({ type }) => type.group === group && type.version === version && type.plural === plural,
  );
  return stored?.storagePath ?? '';
}
