import type { Volume } from '../../core/volume.ts';
import type { VolumeProjection } from '../../core/volume-source.ts';
import { goQuote } from '../../go-quote.ts';

/** A file of a volume with its source; `source` is empty if the volume has only one. */
interface PathAndSource {
  readonly path: string;
  readonly source: string;
}

/**
 * Files of one volume that hide each other, or of which one would have to be both file and folder. The API server warns
 * of them (upstream: api/pod warnings.go).
 */
export function overlappingPaths(volume: Volume): string[] {
  const { configMap, secret, downwardAPI, projected } = volume;
  const warn = (kind: string, items: readonly { readonly path: string }[]): string[] =>
    overlaps(
      volume.name,
      kind,
      items.map(({ path }) => ({ path, source: '' })),
    );
  if (configMap?.items !== undefined) return warn(`ConfigMap ${goQuote(configMap.name)}`, configMap.items);
  if (secret?.items !== undefined) return warn(`Secret ${goQuote(secret.secretName ?? '')}`, secret.items);
  if (downwardAPI?.items !== undefined) return warn('DownwardAPI', downwardAPI.items);
  if (projected === undefined) return [];
  const sources = projected.sources ?? [];
  const empty = sources.filter((source) => Object.values(source).every((value) => value === undefined));
  return [
    ...empty.map(() => `volume ${goQuote(volume.name)} (Projected) has no sources provided`),
    ...overlaps(volume.name, 'Projected', sources.flatMap(projectedPaths)),
  ];
}

function projectedPaths({
  configMap,
  secret,
  downwardAPI,
  serviceAccountToken,
  clusterTrustBundle,
  podCertificate,
}: VolumeProjection): PathAndSource[] {
  const of = (items: readonly { readonly path: string }[] | undefined, source: string): PathAndSource[] =>
    (items ?? []).map(({ path }) => ({ path, source }));
  if (configMap !== undefined) return of(configMap.items, `ConfigMap ${goQuote(configMap.name)}`);
  if (secret !== undefined) return of(secret.items, `Secret ${goQuote(secret.name)}`);
  if (downwardAPI !== undefined) return of(downwardAPI.items, 'DownwardAPI');
  if (serviceAccountToken !== undefined) return of([serviceAccountToken], 'ServiceAccountToken');
  if (clusterTrustBundle !== undefined)
    return of(
      [clusterTrustBundle],
      `ClusterTrustBundle ${goQuote(clusterTrustBundle.name ?? clusterTrustBundle.signerName ?? '')}`,
    );
  const { certificateChainPath, keyPath, credentialBundlePath } = podCertificate ?? {};
  const named = [
    [certificateChainPath, 'PodCertificate chain'],
    [keyPath, 'PodCertificate key'],
    [credentialBundlePath, 'PodCertificate credential bundle'],
  ] as const;
  return named.flatMap(([path, source]) => (path ? [{ path, source }] : []));
}

/** The maximum number of pairs per volume: any two may overlap, and long lists of warnings are not read. */
const MAX_PAIRS = 100;

/**
 * Pairs in the order of the list. In sorted order, a folder comes right before everything in it, so not all paths must
 * be compared with each other.
 */
function overlaps(volume: string, kind: string, paths: readonly PathAndSource[]): string[] {
  const places = paths
    .map(({ path, source }, index) => ({ index, shown: withoutSlashes(path), source }))
    .filter(({ shown }) => shown !== '');
  const sorted = places
    .map((place) => ({ ...place, folder: `${place.shown}/` }))
    .sort((one, other) => compareTexts(one.folder, other.folder) || one.index - other.index);
  const pairs: { readonly earlier: (typeof sorted)[number]; readonly later: (typeof sorted)[number] }[] = [];
  const around: (typeof sorted)[number][] = [];
  for (const place of sorted) {
    while (around.length > 0 && !place.folder.startsWith(around.at(-1)?.folder ?? '')) around.pop();
    for (const other of around) {
      if (pairs.length === MAX_PAIRS) break;
      pairs.push(other.index < place.index ? { earlier: other, later: place } : { earlier: place, later: other });
    }
    around.push(place);
  }
  pairs.sort((one, other) => one.later.index - other.later.index || one.earlier.index - other.earlier.index);
  return pairs.map(
    ({ earlier, later }) =>
      `volume ${goQuote(volume)} (${kind}): overlapping paths: ${described(later)} with ${described(earlier)}`,
  );
}

const compareTexts = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

function withoutSlashes(path: string): string {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') end--;
  return path.slice(0, end);
}

function described({ shown, source }: { readonly shown: string; readonly source: string }): string {
  return source === '' ? goQuote(shown) : `${goQuote(shown)} (${source})`;
}
