import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { CsiDrivers } from '../../ports/csi-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { PodTokens } from '../../ports/tokens.ts';
import { ApiAttachments } from './api-attachments.ts';
import { ApiClaimReporter } from './claim-resize.ts';
import { CsiLookup, standaloneAttachments } from './csi-lookup.ts';
import { CsiPaths } from './csi-names.ts';
import { CsiPlugin } from './csi-plugin.ts';
import { DriverRegistry } from './driver-registry.ts';
import type { NodeInfoKeeperOptions } from './node-info-keeper.ts';
import { NodeInfoKeeper } from './node-info-keeper.ts';

export interface CreateCsiParts {
  /** The path has no final slash. */
  readonly rootDir: string;
  readonly nodeName: string;
  /** The API; absent on a standalone node. */
  readonly cluster: Pick<ClusterApi, 'objects'> | undefined;
  readonly nodeWatch: NodeInfoKeeperOptions['node'];
  /** Called when the published data of the drivers becomes complete or incomplete. */
  readonly onNodeInfoChange: () => void;
  readonly csiDrivers: CsiDrivers;
  readonly objects: ClusterObjects;
  readonly tokens: PodTokens;
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly recorder: EventRecorder;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the CSI plugin: the registered drivers, their volumes, and what is published about them in the cluster. */
export function createCsi(parts: CreateCsiParts): {
  drivers: DriverRegistry;
  volumes: CsiPlugin;
  nodeInfo: NodeInfoKeeper | undefined;
} {
  const { rootDir, nodeName, cluster, objects, tokens, files, mounts, recorder, clock, random, log } = parts;
  const drivers = new DriverRegistry({ drivers: parts.csiDrivers, clock, log });
  const nodeInfo =
    cluster === undefined
      ? undefined
      : new NodeInfoKeeper({
          client: cluster.objects,
          nodeName,
          node: parts.nodeWatch,
          registry: drivers,
          objects,
          clock,
          random,
          log,
          onChange: parts.onNodeInfoChange,
        });
  const attachments =
    cluster === undefined
      ? standaloneAttachments(log)
      : new ApiAttachments({
          client: cluster.objects,
          nodeName,
          // A driver without room for a volume is queried for its current limit.
          onExhausted: (driver) => void nodeInfo?.refresh(driver),
        });
  const volumes = new CsiPlugin({
    registry: drivers,
    lookup: new CsiLookup({ objects, tokens }),
    attachments,
    paths: new CsiPaths(rootDir),
    files,
    mounts,
    clock,
    log,
    recorder,
    nodeName,
    claims: cluster === undefined ? undefined : new ApiClaimReporter({ client: cluster.objects, clock, log }),
  });
  return { drivers, volumes, nodeInfo };
}
