import { isRecord } from '../../../base/json-record.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { OtherApis, OtherResource } from '../../controller-runtime/other-apis.ts';

interface Found {
  readonly counts: Map<string, number>;
  readonly finalizers: Map<string, number>;
  readonly failures: string[];
}

/**
 * Deletes the objects of a namespace in other servers, and adds the remaining ones to `found`. Resolves to the group
 * versions whose servers do not respond: their objects are unknown, so the namespace must wait (upstream:
 * namespaced_resources_deleter.go).
 */
export async function emptyOtherApis(apis: OtherApis, namespace: string, found: Found): Promise<readonly string[]> {
  const { namespaced, unavailable } = apis.resources();
  for (const resource of namespaced)
    if (resource.verbs.includes('delete'))
      try {
        await emptyResource(apis, resource, namespace, found);
      } catch (error) {
        found.failures.push(`${resource.plural}.${resource.group}: ${errorMessage(error)}`);
      }
  return unavailable;
}

/** The maximum number of objects of a list; the rest is handled in the next pass. */
const PAGE = 100;

async function emptyResource(
  apis: OtherApis,
  resource: OtherResource,
  namespace: string,
  { counts, finalizers }: Found,
): Promise<void> {
  const { group, version, plural, verbs } = resource;
  const path = `/apis/${group}/${version}/namespaces/${namespace}/${plural}`;
  const canList = verbs.includes('list');
  if (verbs.includes('deletecollection')) await apis.delete(resource, `${path}?propagationPolicy=Background`);
  else if (canList)
    for (const { name } of metadataOf(await apis.get(resource, `${path}?limit=${PAGE}`, 'list of metadata')))
      if (typeof name === 'string')
        await apis.delete(resource, `${path}/${encodeURIComponent(name)}?propagationPolicy=Background`);
  if (!canList) return;
  const left = metadataOf(await apis.get(resource, `${path}?limit=${PAGE}`, 'list of metadata'));
  if (left.length > 0) counts.set(`${plural}.${group}`, left.length);
  for (const { finalizers: held } of left)
    for (const each of Array.isArray(held) ? held : [])
      if (typeof each === 'string') finalizers.set(each, (finalizers.get(each) ?? 0) + 1);
}

/** Returns the metadata of the objects in a list. The server may return any value. */
function metadataOf(list: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (!isRecord(list) || !Array.isArray(list['items'])) throw new Error('the answer is not a list');
  return list['items'].filter(isRecord).map(({ metadata }) => (isRecord(metadata) ? metadata : {}));
}
