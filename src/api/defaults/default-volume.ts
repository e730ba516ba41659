import type { Volume } from '../core/volume.ts';
import type { DownwardAPIVolumeFile, VolumeProjection } from '../core/volume-source.ts';
import { pullPolicyFor } from './default-container.ts';
import { defaultRemoteInPlace } from './default-remote-volume.ts';
import { defaultClaimSpecInPlace } from './default-storage.ts';

const READABLE_BY_ALL = 0o644;
const ONE_HOUR_SECONDS = 3600;

/** Sets the defaults of the API server (upstream: core/v1/defaults.go and its generated callers). Changes `volume`. */
export function defaultVolumeInPlace(volume: Volume): void {
  if (!hasSource(volume)) volume.emptyDir = {};
  if (volume.image !== undefined) volume.image.pullPolicy ||= pullPolicyFor(volume.image.reference ?? '');
  if (volume.hostPath !== undefined) volume.hostPath.type ??= '';
  if (volume.secret !== undefined) volume.secret.defaultMode ??= READABLE_BY_ALL;
  if (volume.configMap !== undefined) volume.configMap.defaultMode ??= READABLE_BY_ALL;
  if (volume.downwardAPI !== undefined) {
    volume.downwardAPI.defaultMode ??= READABLE_BY_ALL;
    defaultFilesInPlace(volume.downwardAPI.items);
  }
  if (volume.projected !== undefined) {
    volume.projected.defaultMode ??= READABLE_BY_ALL;
    for (const source of volume.projected.sources) defaultProjectionInPlace(source);
  }
  defaultRemoteInPlace(volume);
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) defaultClaimSpecInPlace(claim);
}

/** Whether the volume has a source. */
function hasSource(volume: Volume): boolean {
  return Object.entries(volume).some(([key, value]) => key !== 'name' && value !== undefined);
}

function defaultProjectionInPlace(source: VolumeProjection): void {
  defaultFilesInPlace(source.downwardAPI?.items);
  if (source.serviceAccountToken !== undefined) source.serviceAccountToken.expirationSeconds ??= ONE_HOUR_SECONDS;
}

function defaultFilesInPlace(files: readonly DownwardAPIVolumeFile[] | undefined): void {
  for (const file of files ?? []) {
    if (file.fieldRef !== undefined) file.fieldRef.apiVersion ||= 'v1';
    if (file.resourceFieldRef !== undefined) file.resourceFieldRef.divisor ??= '0';
  }
}
