import { Buffer } from 'node:buffer';
import path from 'node:path/posix';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import type { CheckpointSources, CheckpointUse } from './checkpoint.ts';
import type { ContainerLookup } from './container-lookup.ts';
import { containerNotFound } from './container-lookup.ts';
import type { ContainerTarget } from './pod-routes.ts';

export interface CommandParts {
  readonly lookup: ContainerLookup;
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
}

/**
 * Runs a command to its end and returns its outputs, standard output first. Rejects if the container does not run or
 * the command fails.
 */
export async function runCommand(
  { lookup, runtime }: CommandParts,
  { namespace, pod: name, uid, container }: ContainerTarget & { uid: string },
  command: readonly string[],
): Promise<Uint8Array> {
  const missing = containerNotFound(container);
  const pod = lookup.pod(namespace, name);
  if (pod === undefined || (uid !== '' && !lookup.isUidOf(pod, uid))) throw missing;
  const { exitCode, stdout, stderr } = await runtime.execSync(lookup.running(pod, container, missing).id, command, 0);
  if (exitCode === 0) return Buffer.concat([stdout, stderr]);
  const output = Buffer.from(stderr).toString('utf8');
  throw new KubeletError('Internal', `command '${command.join(' ')}' exited with ${exitCode}: ${output}`);
}

export interface CheckpointFolderParts {
  readonly lookup: ContainerLookup;
  readonly runtime: Pick<ContainerRuntime, 'checkpointContainer'>;
  readonly files: Pick<HostFiles, 'list' | 'lstat' | 'makeDirectory'>;
  readonly disk: { diskUsage(path: string): Promise<{ availableBytes: number; capacityBytes: number }> };
  readonly rootDir: string;
}

/** Creates the checkpoints of containers, each a file in a folder of the agent. */
export function createCheckpointFolder(
  parts: CheckpointFolderParts,
): Pick<CheckpointSources, 'checkpoint' | 'checkpointUse'> {
  const { lookup, runtime, files, rootDir } = parts;
  const folder = path.join(rootDir, 'checkpoints');
  return {
    checkpointUse: () => readUse(parts, folder),
    checkpoint: async ({ pod, container }: { pod: Pod; container: string }, file, timeoutSeconds) => {
      await files.makeDirectory(folder, 0o700);
      const location = path.join(folder, file);
      const missing = new KubeletError('NotFound', `container ${container} not found`);
      const { id } = lookup.running(pod, container, missing);
      await runtime.checkpointContainer(id, location, timeoutSeconds);
      return location;
    },
  };
}

/** A missing folder has no checkpoints. */
async function readUse({ files, disk, rootDir }: CheckpointFolderParts, folder: string): Promise<CheckpointUse> {
  const names = await files.list(folder).catch(() => []);
  const sizes = await Promise.all(
    names.map(async (name) => (await files.lstat(path.join(folder, name)))?.sizeBytes ?? 0),
  );
  const { availableBytes, capacityBytes } = await disk.diskUsage(rootDir);
  return { count: names.length, bytes: sizes.reduce((sum, size) => sum + size, 0), availableBytes, capacityBytes };
}
