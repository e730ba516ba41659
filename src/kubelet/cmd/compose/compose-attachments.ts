import { ApiAttachments } from '../../features/csi/api-attachments.ts';
import { standaloneAttachments, type Attachments } from '../../features/csi/csi-lookup.ts';
import { AttachGate } from '../../features/volumes/attach-gate.ts';
import type { VolumeManager } from '../../features/volumes/volume-manager.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { NodeParts } from './compose-node.ts';
import type { World } from './world.ts';

/** What CSI drivers attached to this node. `exhausted` names a driver that found no room. */
export function composeAttachments({ cluster, log, machine }: World, exhausted: (driver: string) => void): Attachments {
  return cluster === undefined
    ? standaloneAttachments(log)
    : new ApiAttachments({ client: cluster.objects, nodeName: machine.nodeName, onExhausted: exhausted });
}

/** Volumes are named in the node's status before they are used, and used when it names them as attached. `manager` is the one that waits. */
export function composeAttachGate(
  { cluster }: World,
  { volumes }: Pick<KubeletConfig, 'volumes'>,
  { seats, watch }: NodeParts,
  manager: () => VolumeManager,
): { attachGate?: AttachGate; onInUseChanged?: () => void } {
  if (cluster === undefined) return {};
  const attachGate = new AttachGate({
    byController: volumes.controllerAttaches,
    onChange: () => manager().attachmentsChanged(),
  });
  seats.volumesReported = (names) => attachGate.reported(names);
  seats.volumesInUse = () => manager().volumesInUse();
  watch.onChange((node) => attachGate.attached((node?.status?.volumesAttached ?? []).map(({ name }) => name)));
  return { attachGate, onInUseChanged: () => seats.changed() };
}
