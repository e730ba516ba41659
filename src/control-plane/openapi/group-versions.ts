import type { Definitions } from '../model/definitions.ts';

/** Group and version as the paths of version 3 of OpenAPI name them: `api/v1`, `apis/apps/v1`. */
export const groupVersionName = ({ group, version }: { readonly group: string; readonly version: string }): string =>
  group === '' ? `api/${version}` : `apis/${group}/${version}`;

/** Those that have a document, in order. */
export function groupVersionsOf(definitions: Definitions): readonly string[] {
  const served = definitions.all.filter(({ isInternal }) => isInternal !== true);
  return [...new Set(served.map(({ type }) => groupVersionName(type)))].sort();
}
