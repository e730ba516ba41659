import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { quantityValue } from '../../../api/quantity.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ClusterObjects } from '../../ports/cluster-objects.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { Processes } from '../../ports/processes.ts';
import type { PodCertificates, TrustAnchors } from '../../ports/pod-credentials.ts';
import type { EventRecorder, NodeEventRecorder } from '../../ports/recorder.ts';
import type { PodTokens } from '../../ports/tokens.ts';
import type { VolumePlugin } from '../../ports/volume-plugin.ts';
import type { VolumeAttachWaiter } from './volume-attach-waiter.ts';
import { AtomicWriter } from './objects/atomic-writer.ts';
import { DiskMounter } from './disks/disk-mounter.ts';
import { EmptyDirPlugin } from './kinds/empty-dir.ts';
import { FibreChannelDisks } from './disks/fc.ts';
import { FlexVolumePlugin } from './kinds/flex-volume.ts';
import { HostPathPlugin } from './kinds/host-path.ts';
import { HugePages } from './kinds/huge-pages.ts';
import { IscsiDisks } from './disks/iscsi.ts';
import { LocalVolumePlugin } from './disks/local-volume.ts';
import { NfsPlugin } from './kinds/nfs.ts';
import { ImageVolumePlugin } from './kinds/image-volume.ts';
import type { NodeIdentity } from './node-affinity.ts';
import { ConfigMapPlugin, SecretPlugin } from './objects/object-volumes.ts';
import { PodFolders } from './pod-folders.ts';
import { DownwardApiPlugin, ProjectedPlugin } from './objects/projected.ts';
import { StagedDiskPlugin } from './disks/staged-disk.ts';
import { StagingArea } from './staging-area.ts';
import { Tmpfs } from './kinds/tmpfs.ts';
import { VolumeManager } from './volume-manager.ts';
import type { VolumeOperation } from './volume-operations.ts';
import { applyFsGroup } from './volume-ownership.ts';

export interface VolumeManagerPorts {
  /** The root directory (`--root-dir`). */
  readonly rootDir: string;
  /** Accesses the agent's own folders. */
  readonly files: HostFiles;
  /** Accesses paths of other users. A stat of them must not hang the agent. */
  readonly guardedFiles: HostFiles;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly objects: ClusterObjects;
  readonly tokens: PodTokens;
  /**
   * The sources of projected volumes from certificates.k8s.io. Parts are undefined while their feature gates are off.
   */
  readonly credentials?: {
    readonly trust: TrustAnchors | undefined;
    readonly certificates: PodCertificates | undefined;
  };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder & NodeEventRecorder;
  /** The folder of flexVolume drivers (`volumePluginDir`). */
  readonly driverDir: string;
  /** Waits for volumes that the control plane attaches; undefined on a standalone node. */
  readonly attachWaiter?: VolumeAttachWaiter | undefined;
  /** Called when the result of the manager's `volumesInUse` changed. */
  readonly onInUseChanged?: (() => void) | undefined;
  readonly onOperation?: (operation: VolumeOperation) => void;
  /** Whether the node has no API server. Manifests then define which claims are bound. */
  readonly standalone: boolean;
  readonly node: () => NodeIdentity;
  /** Returns the limits shown in a file for a container without limits. The memory is also the maximum of a tmpfs. */
  readonly nodeAllocatable: () => ResourceList;
  /** The plugins of other features: CSI. */
  readonly morePlugins?: readonly VolumePlugin[];
}

/** Creates the volume manager with every kind this agent supports. It starts nothing. */
export function createVolumeManager(ports: VolumeManagerPorts): VolumeManager {
  const { files, clock, log, recorder, objects, standalone, node } = ports;
  const manager = new VolumeManager({
    folders: new PodFolders(ports),
    makeDirectory: (path, mode) => files.makeDirectory(path, mode),
    plugins: [...(ports.morePlugins ?? []), ...ownPlugins(ports)],
    staging: new StagingArea(ports),
    attachWaiter: ports.attachWaiter,
    applyFsGroup: (pod, path) => applyFsGroup({ files: ports.guardedFiles, clock, log, recorder }, pod, path),
    objects,
    standalone,
    node,
    clock,
    log,
    recorder,
    onOperation: ports.onOperation,
  });
  ports.attachWaiter?.onChange(() => manager.attachmentsChanged());
  return manager;
}

function ownPlugins(ports: VolumeManagerPorts): VolumePlugin[] {
  const { rootDir, files, mounts, objects, guardedFiles, recorder, nodeAllocatable, tokens } = ports;
  const disks = new DiskMounter(ports);
  const tmpfs = new Tmpfs({
    ...ports,
    nodeAllocatableMemoryBytes: () => quantityValue(nodeAllocatable()['memory'] ?? '0'),
  });
  const shared = { files, objects, tmpfs, nodeAllocatable, writer: new AtomicWriter(ports) };
  return [
    new EmptyDirPlugin({ files, tmpfs, hugePages: new HugePages(mounts) }),
    new HostPathPlugin(guardedFiles),
    new ConfigMapPlugin(shared),
    new SecretPlugin(shared),
    new ProjectedPlugin({ ...shared, tokens, ...ports.credentials }),
    new DownwardApiPlugin(shared),
    new LocalVolumePlugin({ rootDir, files, guardedFiles, mounts, recorder, disks }),
    new NfsPlugin({ files, mounts }),
    new ImageVolumePlugin(),
    new StagedDiskPlugin({ rootDir, files, mounts, disks }, new IscsiDisks(ports)),
    new StagedDiskPlugin({ rootDir, files, mounts, disks }, new FibreChannelDisks(ports)),
    new FlexVolumePlugin({ ...ports, disks, nodeName: () => ports.node().name }),
  ];
}
