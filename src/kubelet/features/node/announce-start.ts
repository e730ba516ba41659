import { nodeEvents } from '../../../api/reasons.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';

/** The warning in upstream's words. */
const CGROUP_V1 =
  'cgroup v1 detected. cgroup v1 support is deprecated and will be removed in a future release. Please migrate to cgroup v2. More information at https://git.k8s.io/enhancements/keps/sig-node/5573-remove-cgroup-v1';

/** Records the first events of the node after a start. */
export function announceStart(recorder: NodeEventRecorder, { version }: Pick<Cgroups, 'version'>): void {
  recorder.nodeEvent('Normal', nodeEvents.starting, 'Starting kubelet.');
  if (version === 1) recorder.nodeEvent('Warning', nodeEvents.cgroupV1, CGROUP_V1);
}
