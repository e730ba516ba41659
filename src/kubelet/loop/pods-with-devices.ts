import type { Pod } from '../../api/core/pod.ts';
import type { AdmissionState } from '../features/admission/admission-state.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';

/**
 * The pods that may have devices: wanted, not ended, and not rejected. A pod that is being admitted counts. The result
 * is undefined before all sources have reported: until then, an unknown pod may still be wanted.
 */
export function podsWithDevices({
  directory,
  sourcesReady,
  admission,
}: {
  directory: { live(): Pod[] };
  sourcesReady: () => boolean;
  admission: () => { state(uid: PodUid): AdmissionState | undefined };
}): () => readonly Pod[] | undefined {
  return () => {
    if (!sourcesReady()) return undefined;
    const { state } = bound(admission());
    return directory.live().filter(({ metadata }) => state(podUid(metadata.uid))?.kind !== 'rejected');
  };
}

function bound(admission: { state(uid: PodUid): AdmissionState | undefined }): {
  state: (uid: PodUid) => AdmissionState | undefined;
} {
  return { state: (uid) => admission.state(uid) };
}
