import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Mounts } from '../../ports/mounts.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import { AtomicWriter } from './atomic-writer.ts';
import { EmptyDirPlugin } from './empty-dir.ts';
import { HostPathPlugin } from './host-path.ts';
import { ConfigMapPlugin, SecretPlugin } from './object-volumes.ts';
import { PodFolders } from './pod-folders.ts';
import { DownwardApiPlugin, ProjectedPlugin } from './projected.ts';
import { Tmpfs } from './tmpfs.ts';
import { VolumeManager } from './volume-manager.ts';
import type { ObjectLookup } from './volume-plugin.ts';

export interface VolumeManagerPorts {
  /** `--root-dir`. */
  rootDir: string;
  /** For the agent's own folders. */
  files: HostFiles;
  /** For paths that others chose: its stat must not be able to hang the agent. */
  guardedFiles: HostFiles;
  mounts: Mounts;
  objects: ObjectLookup;
  clock: Clock;
  random: Random;
  log: Logger;
  recorder: EventRecorder;
  /** 0 when unknown. */
  nodeAllocatableMemoryBytes: () => number;
  /** For downwardAPI files; memory alone when not given. */
  nodeAllocatable?: () => ResourceList;
}

/** The volume manager with every kind this agent honours. Starts nothing. */
export function createVolumeManager(ports: VolumeManagerPorts): VolumeManager {
  const { files, objects, clock, log, recorder } = ports;
  const tmpfs = new Tmpfs(ports);
  const nodeAllocatable = ports.nodeAllocatable ?? ((): ResourceList => ({ memory: String(ports.nodeAllocatableMemoryBytes()) }));
  const shared = { files, objects, tmpfs, nodeAllocatable, writer: new AtomicWriter(ports) };
  return new VolumeManager({
    folders: new PodFolders(ports),
    makeDirectory: (path, mode) => files.makeDirectory(path, mode),
    plugins: [new EmptyDirPlugin(files, tmpfs), new HostPathPlugin(ports.guardedFiles), new ConfigMapPlugin(shared), new SecretPlugin(shared), new ProjectedPlugin(shared), new DownwardApiPlugin(shared)],
    clock,
    log,
    recorder,
  });
}
