import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { CsiClient, NodeApi } from '../../../csi/csi-client.ts';
import { createCsiClient } from '../../../csi/csi-client.ts';
import {
  NodeServiceCapability_RPC_Type,
  VolumeCapability_AccessMode_Mode,
  VolumeUsage_Unit,
} from '../../../csi/generated/csi-v1.ts';
import { grpcCodeOf } from '../../../grpc/grpc-status.ts';
import type { DeepPartial } from '../../../grpc/message-fns.ts';
import type { VolumeCapability } from '../../../csi/generated/csi-v1.ts';
import type {
  CsiAnswer,
  CsiDrivers,
  CsiNode,
  CsiNodeCapability,
  CsiStageRequest,
  CsiUsage,
  CsiVolumeCapability,
} from '../../ports/csi-drivers.ts';

type CapabilityName = keyof typeof NodeServiceCapability_RPC_Type;
type UnitName = keyof typeof VolumeUsage_Unit;

const capabilityOf = new Map(
  Object.entries(NodeServiceCapability_RPC_Type).map(([name, number]) => [number, name as CapabilityName]),
);
const unitOf = new Map(Object.entries(VolumeUsage_Unit).map(([name, number]) => [number, name as UnitName]));

/**
 * Calls CSI v1 drivers over gRPC. A connection is used for one call, so that a restarted driver never gets requests of
 * an old connection.
 */
export function createCsiDrivers(clock: Clock): CsiDrivers {
  return { node: (endpoint) => new GrpcCsiNode(() => createCsiClient({ socketPath: endpoint, clock })) };
}

class GrpcCsiNode implements CsiNode {
  readonly #connect: () => CsiClient;

  constructor(connect: () => CsiClient) {
    this.#connect = connect;
  }

  getInfo: CsiNode['getInfo'] = (timeoutMs) =>
    this.#call(async (node) => {
      const { nodeId, maxVolumesPerNode, accessibleTopology } = await node.nodeGetInfo({}, { timeoutMs });
      return { nodeId, maxVolumesPerNode: Number(maxVolumesPerNode), topology: accessibleTopology?.segments ?? {} };
    });

  getCapabilities: CsiNode['getCapabilities'] = (timeoutMs) =>
    this.#call(async (node) => {
      const { capabilities } = await node.nodeGetCapabilities({}, { timeoutMs });
      return capabilities
        .map(({ rpc }) => (rpc === undefined ? undefined : capabilityOf.get(rpc.type)))
        .filter(isKnown);
    });

  stage: CsiNode['stage'] = (request, timeoutMs) =>
    this.#call(async (node) => {
      await node.nodeStageVolume(sharedFields(request), { timeoutMs });
    });

  unstage: CsiNode['unstage'] = ({ volumeId, stagingPath }, timeoutMs) =>
    this.#call(async (node) => {
      await node.nodeUnstageVolume({ volumeId, stagingTargetPath: stagingPath }, { timeoutMs });
    });

  publish: CsiNode['publish'] = (request, timeoutMs) =>
    this.#call(async (node) => {
      await node.nodePublishVolume(
        { ...sharedFields(request), targetPath: request.targetPath, readonly: request.readOnly },
        { timeoutMs },
      );
    });

  unpublish: CsiNode['unpublish'] = ({ volumeId, targetPath }, timeoutMs) =>
    this.#call(async (node) => {
      await node.nodeUnpublishVolume({ volumeId, targetPath }, { timeoutMs });
    });

  expand: CsiNode['expand'] = (request, timeoutMs) =>
    this.#call(async (node) => {
      const { volumeId, volumePath, stagingPath, requiredBytes, capability, secrets } = request;
      const wire = {
        volumeId,
        volumePath,
        stagingTargetPath: stagingPath,
        capacityRange: { requiredBytes },
        volumeCapability: toWire(capability),
        secrets,
      };
      return Number((await node.nodeExpandVolume(wire, { timeoutMs })).capacityBytes);
    });

  stats: CsiNode['stats'] = ({ volumeId, volumePath }, timeoutMs) =>
    this.#call(async (node) => {
      const { usage, volumeCondition } = await node.nodeGetVolumeStats({ volumeId, volumePath }, { timeoutMs });
      const read = usage.map(
        ({ unit, available, total, used }): CsiUsage => ({
          unit: unitOf.get(unit) ?? 'UNKNOWN',
          available: Number(available),
          total: Number(total),
          used: Number(used),
        }),
      );
      return { usage: read, condition: volumeCondition };
    });

  async #call<Value>(work: (node: NodeApi) => Promise<Value>): Promise<CsiAnswer<Value>> {
    const client = this.#connect();
    try {
      return { ok: true, value: await work(client.node) };
    } catch (error) {
      const code = grpcCodeOf(error);
      return { ok: false, code: code === undefined || code === 'OK' ? 'Local' : code, message: errorMessage(error) };
    } finally {
      client.close();
    }
  }
}

function sharedFields({ volumeId, publishContext, stagingPath, capability, secrets, volumeContext }: CsiStageRequest) {
  return {
    volumeId,
    publishContext: { ...publishContext },
    stagingTargetPath: stagingPath,
    volumeCapability: toWire(capability),
    secrets: { ...secrets },
    volumeContext: { ...volumeContext },
  };
}

function toWire({ accessMode, access }: CsiVolumeCapability): DeepPartial<VolumeCapability> {
  const mode = { mode: VolumeCapability_AccessMode_Mode[accessMode] };
  if (access.kind === 'block') return { block: {}, accessMode: mode };
  return {
    mount: { fsType: access.fsType, mountFlags: [...access.mountFlags], volumeMountGroup: access.mountGroup },
    accessMode: mode,
  };
}

function isKnown(name: CapabilityName | undefined): name is CsiNodeCapability {
  return name !== undefined && name !== 'UNKNOWN';
}
