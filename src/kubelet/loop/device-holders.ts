import type { Pod } from '../../api/core/pod.ts';
import type { AdmissionState } from '../features/admission/admission-state.ts';
import type { PodIdentity } from '../features/pleg/runtime-cache.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';

interface DeviceHoldersParts {
  readonly directory: { live(): Pod[] };
  readonly sourcesReady: () => boolean;
  readonly admission: () => { state(uid: PodUid): AdmissionState | undefined };
  readonly runtime: { all(): Iterable<PodRuntimeStatus>; unread(): Iterable<PodIdentity> };
}

/**
 * Returns the pods that may hold devices. These are the wanted pods that have not ended and were not rejected, pods
 * that are being admitted, and removed pods of which a container may still run. Upstream frees the devices of a removed
 * pod while its containers are still being stopped; here they stay allocated until the containers have stopped. Returns
 * undefined before all sources have reported, because until then an unknown pod may still be wanted.
 */
export function deviceHolders(parts: DeviceHoldersParts): () => ReadonlySet<PodUid> | undefined {
  const { directory, sourcesReady, runtime } = parts;
  return () => {
    if (!sourcesReady()) return undefined;
    const admission = parts.admission();
    const holders = new Set<PodUid>();
    for (const { metadata } of directory.live()) {
      const uid = podUid(metadata.uid);
      if (admission.state(uid)?.kind !== 'rejected') holders.add(uid);
    }
    for (const { uid, containers } of runtime.all())
      if (containers.some(({ state }) => state === 'running')) holders.add(uid);
    for (const { uid } of runtime.unread()) holders.add(uid);
    return holders;
  };
}
