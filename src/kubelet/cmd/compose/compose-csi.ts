import { ApiClaimTeller } from '../../features/csi/claim-resize.ts';
import { CsiLookup } from '../../features/csi/csi-lookup.ts';
import { CsiPaths } from '../../features/csi/csi-names.ts';
import { CsiPlugin } from '../../features/csi/csi-plugin.ts';
import { DriverRegistry } from '../../features/csi/driver-registry.ts';
import { NodeInfoKeeper } from '../../features/csi/node-info-keeper.ts';
import { PluginManager } from '../../features/plugin-manager/plugin-manager.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { PodTokens } from '../../ports/tokens.ts';
import type { VolumePlugin } from '../../ports/volume-plugin.ts';
import { composeAttachments } from './compose-attachments.ts';
import type { NodeParts } from './compose-node.ts';
import type { World } from './world.ts';

/** CSI on this node: who is registered, what registers them, and the kind of volume they serve. */
export interface CsiParts {
  drivers: DriverRegistry;
  plugins: PluginManager;
  volumes: VolumePlugin;
  /** Tells the cluster of the drivers; undefined on a node of its own. */
  nodeInfo: NodeInfoKeeper | undefined;
}

export interface CsiNeeds {
  rootDir: string;
  objects: ClusterObjects;
  tokens: PodTokens;
  recorder: EventRecorder;
  node: NodeParts;
}

export function composeCsi(world: World, needs: CsiNeeds): CsiParts {
  const { clock, random, log, files, mounts, machine, csiDrivers, pluginDial } = world;
  const { objects, tokens, recorder } = needs;
  const rootDir = needs.rootDir.replace(/\/+$/, '');
  const drivers = new DriverRegistry({ drivers: csiDrivers, clock, log });
  const nodeInfo = composeNodeInfo(world, needs, drivers);
  const context = {
    registry: drivers,
    lookup: new CsiLookup({ objects, tokens }),
    attachments: composeAttachments(world, (driver) => void nodeInfo?.refresh(driver)),
    paths: new CsiPaths(rootDir),
    files,
    mounts,
    clock,
    log,
    recorder,
    nodeName: machine.nodeName,
    claims: world.cluster === undefined ? undefined : new ApiClaimTeller({ client: world.cluster.objects, clock, log }),
  };
  return {
    drivers,
    nodeInfo,
    plugins: new PluginManager({
      folder: `${rootDir}/plugins_registry`,
      files,
      dial: pluginDial,
      handlers: new Map([['CSIPlugin', drivers]]),
      clock,
      random,
      log,
    }),
    volumes: new CsiPlugin(context),
  };
}

/** The node is not called ready before the cluster can know its drivers (upstream: initializeCSINode). */
function composeNodeInfo(
  { cluster, clock, random, log, machine }: World,
  { objects, node }: CsiNeeds,
  registry: DriverRegistry,
): NodeInfoKeeper | undefined {
  if (cluster === undefined) return undefined;
  const { seats, watch } = node;
  const keeper = new NodeInfoKeeper({
    client: cluster.objects,
    nodeName: machine.nodeName,
    node: watch,
    registry,
    objects,
    clock,
    random,
    log,
    onChange: () => seats.changed(),
  });
  seats.storageProblem = () => keeper.problem();
  return keeper;
}
