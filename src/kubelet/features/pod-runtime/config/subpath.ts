import { errorMessage, KubeletError } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { BindBeneathResult, Mounts } from '../../../ports/mounts.ts';

export interface SubPathRequest {
  /** The pod's folder: `<root>/pods/<uid>`. */
  readonly podDir: string;
  readonly container: string;
  /** The index of the mount in the container's list. */
  readonly index: number;
  readonly volume: string;
  /** The path of the volume on the host. */
  readonly volumePath: string;
  /** The part of the volume: a relative path without `..`. */
  readonly subPath: string;
  /** The part of the volume for the log, where `subPath` may not be shown. */
  readonly shownSubPath?: string;
}

/** Returns the mount point in upstream's layout (subpath_linux.go). It is removed with the pod's folder. */
function subPathTarget({
  podDir,
  volume,
  container,
  index,
}: Pick<SubPathRequest, 'podDir' | 'volume' | 'container' | 'index'>): string {
  return `${podDir}/volume-subpaths/${volume}/${container}/${index}`;
}

/**
 * Mounts a part of a volume and returns the host path for the container's mount. A restarted container reuses the mount
 * of its last start if it still shows the target of the path. Rejects with messages for users that reveal nothing of
 * the host's file system; the log contains the cause.
 */
export async function prepareSubPath(
  deps: { mounts: Pick<Mounts, 'bindBeneath'>; log: Logger },
  request: SubPathRequest,
): Promise<string> {
  const { container, volume, volumePath, subPath, shownSubPath = subPath } = request;
  const target = subPathTarget(request);
  const bind = (): Promise<BindBeneathResult> => deps.mounts.bindBeneath({ root: volumePath, subPath, target });
  const result = await bind().catch(
    (error: unknown): BindBeneathResult => ({ kind: 'refused', step: 'open', why: errorMessage(error) }),
  );
  if (result.kind === 'mounted') return target;
  deps.log.error('a part of a volume cannot be mounted', {
    path: target,
    container,
    volume,
    subPath: shownSubPath,
    error: result.why,
  });
  throw new KubeletError(
    'Invalid',
    `failed to ${result.step === 'create' ? 'create subPath directory' : 'prepare subPath'} for volumeMount "${volume}" of container "${container}"`,
    { op: 'prepareSubPath' },
  );
}
