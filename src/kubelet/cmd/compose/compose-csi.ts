import { folderPrefix } from '../../../base/folder-path.ts';
import { createCsi } from '../../features/csi/create-csi.ts';
import type { DeviceParts } from '../../features/device-manager/create-device-manager.ts';
import type { DraParts } from '../../features/dra/create-dra.ts';
import type { PluginHandler } from '../../features/plugin-manager/plugin-manager.ts';
import { PluginManager } from '../../features/plugin-manager/plugin-manager.ts';
import type { CsiParts, Given } from './kubelet-parts.ts';
import { VolumeAttachWaiter } from '../../features/volumes/volume-attach-waiter.ts';

export function composeCsi(
  parts: Given<'objects' | 'tokens' | 'recorder' | 'node'>,
  { devices, dra }: { readonly devices: DeviceParts; readonly dra: DraParts },
): CsiParts {
  const { settings, platform, objects, tokens, recorder, node } = parts;
  const { clock, random, log, files, mounts, machine, csiDrivers, pluginDial, cluster } = platform;
  const rootDir = folderPrefix(settings.rootDir);
  const { statusChanges, watch: nodeWatch } = node;
  const { drivers, volumes, nodeInfo } = createCsi({
    rootDir,
    nodeName: machine.nodeName,
    cluster,
    nodeWatch,
    onNodeInfoChange: () => statusChanges.notify(),
    csiDrivers,
    objects,
    tokens,
    files,
    mounts,
    recorder,
    clock,
    random,
    log,
  });
  const plugins = new PluginManager({
    folder: `${rootDir}/plugins_registry`,
    files,
    dial: pluginDial,
    handlers: new Map<string, PluginHandler>([
      ['CSIPlugin', drivers],
      ['DevicePlugin', devices.pluginHandler],
      ['DRAPlugin', dra.registry],
    ]),
    clock,
    random,
    log,
  });
  return { drivers, nodeInfo, plugins, volumes };
}

/**
 * Creates the waiter for attachments. A volume is listed in the node's status before it is used, and is used when the
 * status lists it as attached.
 */
export function composeVolumeAttachWaiter({ settings, platform, node }: Given<'node'>): VolumeAttachWaiter | undefined {
  if (platform.cluster === undefined) return undefined;
  const attachWaiter = new VolumeAttachWaiter({ byController: settings.config.volumes.controllerAttaches });
  node.watch.onChange((seen) => attachWaiter.attached((seen?.status?.volumesAttached ?? []).map(({ name }) => name)));
  return attachWaiter;
}
