import type { Volume } from '../../core/volume.ts';
import type { VolumeProjection } from '../../core/volume-source.ts';
import { goQuote } from '../../go-quote.ts';

/** A file of a volume and whose it is; `source` is empty where the volume has only one. */
interface PathAndSource {
  readonly path: string;
  readonly source: string;
}

/** Files of one volume of which one hides another, or would have to be a file and a folder at once: the API server warns of them (upstream: api/pod warnings.go). */
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

function overlaps(volume: string, kind: string, paths: readonly PathAndSource[]): string[] {
  const trimmed = paths.map(({ path, source }) => ({ path: path.replace(/\/+$/, ''), source }));
  return trimmed.flatMap((later, index) =>
    trimmed
      .slice(0, index)
      .filter((earlier) => doOverlap(earlier.path, later.path))
      .map(
        (earlier) =>
          `volume ${goQuote(volume)} (${kind}): overlapping paths: ${described(later)} with ${described(earlier)}`,
      ),
  );
}

function doOverlap(left: string, right: string): boolean {
  return left !== '' && right !== '' && (`${left}/`.startsWith(`${right}/`) || `${right}/`.startsWith(`${left}/`));
}

function described({ path, source }: PathAndSource): string {
  return source === '' ? goQuote(path) : `${goQuote(path)} (${source})`;
}
