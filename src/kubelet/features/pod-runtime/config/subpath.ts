import { errorMessage, KubeletError } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { BindBeneathResult, Mounts } from '../../../ports/mounts.ts';

export interface SubPathRequest {
  /** `<root>/pods/<uid>`. */
  readonly podDir: string;
  readonly container: string;
  /** The index of the mount in the container's list. */
  readonly index: number;
  readonly volume: string;
  /** Where the volume is on the host. */
  readonly volumePath: string;
  /** Relative, without `..`. */
  readonly subPath: string;
  /** For the log, where `subPath` may not be shown. */
  readonly shownSubPath?: string;
}

/** Upstream's layout (subpath_linux.go); what is mounted here is removed with the pod's folder. */
function subPathTarget({
  podDir,
  volume,
  container,
  index,
}: Pick<SubPathRequest, 'podDir' | 'volume' | 'container' | 'index'>): string {
  return `${podDir}/volume-subpaths/${volume}/${container}/${index}`;
}

/**
 * The host path that a container's mount binds when it names a part of its volume: a mount of the agent's own of
 * exactly that part. A container that starts again reuses the mount of its last start if it still shows the target of
 * the path. Rejects with messages for users, which reveal nothing of the host's file system; the cause is in the log.
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
