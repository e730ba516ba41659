import type { Definitions } from '../model/definitions.ts';

/** Returns group and version as in OpenAPI 3 paths: `api/v1`, `apis/apps/v1`. */
export const groupVersionName = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** Returns the group versions that have a document, in order. */
export function groupVersionsOf(definitions: Definitions): readonly string[] {
  const served = definitions.all.filter(({ isInternal }) => isInternal !== true);
  return [...new Set(served.map(({ type }) => groupVersionName(type)))].sort();
}
