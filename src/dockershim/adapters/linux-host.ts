import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, readdir, stat, statfs } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, errorMessage, KubeletError } from '../../base/errors.ts';
import { programEnvironment } from '../../base/program-environment.ts';
import { runProgram } from '../../base/run-program.ts';
import type { ConfigFile } from '../cni/network-config.ts';
import type { CniHost } from '../cni/cni-host.ts';
import { readPodUsage } from './pod-usage-files.ts';
import type { ShimHost } from '../shim/shim-ports.ts';

const MOST_PROFILE_BYTES = 1024 * 1024;
const MOST_CONFIG_BYTES = 1024 * 1024;
const MOST_CONFIG_FILES = 100;
const MOST_PLUGIN_OUTPUT_BYTES = 1024 * 1024;
/** The same limit as for calls of the CRI: the agent gives a sandbox four minutes. */
const PLUGIN_TIMEOUT_MS = 220_000;

/** The Linux machine that the shim runs on. */
export const linuxShimHost: ShimHost = {
  ensureDirectory: async (directory) => {
    try {
      await mkdir(directory, { recursive: true });
    } catch (error) {
      // An existing file, socket or device is mounted as it is.
      if (errnoOf(error) === 'EEXIST') return;
      throw failure(error, `the source ${directory} of a mount cannot be made`);
    }
  },
  readProfile: async (file) => {
    try {
      return await readBounded(file, MOST_PROFILE_BYTES);
    } catch (error) {
      throw failure(error, `the seccomp profile ${file} cannot be read`);
    }
  },
  overwriteFile: async (file, text) => {
    const handle = await open(file, 'r+');
    try {
      await handle.truncate(0);
      await handle.write(text, 0);
    } finally {
      await handle.close();
    }
  },
  isProcessOf,
  killProcess: (pid, containerId) => {
    // Checked and killed in the same turn of the event loop, so that no other process gets this process id in between.
    if (!isProcessOf(pid, containerId)) return;
    try {
      process.kill(pid, 'SIGKILL');
    } catch (error) {
      if (errnoOf(error) !== 'ESRCH') throw failure(error, `process ${pid} cannot be killed`);
    }
  },
  podUsage: readPodUsage,
  diskUsage: async (directory) => {
    try {
      const { blocks, bfree, bsize, files, ffree } = await statfs(directory);
      return { usedBytes: (blocks - bfree) * bsize, inodesUsed: files - ffree };
    } catch (error) {
      throw failure(error, `the file system of ${directory} cannot be read`);
    }
  },
};

/**
 * Docker names a container's cgroup after the container, with either cgroup driver: `.../<id>` or
 * `.../docker-<id>.scope`.
 */
function isProcessOf(pid: number, containerId: string): boolean {
  if (!/^[0-9a-f]{64}$/.test(containerId)) return false;
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8').includes(containerId);
  } catch {
    return false;
  }
}

/**
 * The CNI plugins and configurations of this machine. A plugin is taken from the first of `pluginFolders` that contains
 * it.
 */
export function createCniHost(folders: {
  readonly configFolder: string;
  readonly pluginFolders: readonly string[];
}): CniHost {
  const { configFolder, pluginFolders } = folders;
  return {
    pluginPath: pluginFolders.join(':'),
    readConfigs: () => readConfigs(configFolder),
    run: async ({ program, environment, input }) => {
      const file = await findPlugin(program, pluginFolders);
      return runProgram(file, [], {
        stdin: input,
        env: programEnvironment(process.env, environment),
        timeoutMs: PLUGIN_TIMEOUT_MS,
        outputLimitBytes: MOST_PLUGIN_OUTPUT_BYTES,
      });
    },
  };
}

async function readConfigs(folder: string): Promise<readonly ConfigFile[]> {
  let names: readonly string[];
  try {
    names = await readdir(folder);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return [];
    throw failure(error, `the network configurations in ${folder} cannot be read`);
  }
  const files = await Promise.all(
    names
      .toSorted()
      .slice(0, MOST_CONFIG_FILES)
      .map(async (name): Promise<ConfigFile | undefined> => {
        try {
          return { name, text: await readBounded(path.join(folder, name), MOST_CONFIG_BYTES) };
        } catch {
          // A folder, or a file that was removed meanwhile. A file that cannot be read is treated as missing.
          return undefined;
        }
      }),
  );
  return files.filter((each) => each !== undefined);
}

async function findPlugin(name: string, folders: readonly string[]): Promise<string> {
  for (const folder of folders) {
    const file = path.join(folder, name);
    try {
      if ((await stat(file)).isFile()) return file;
    } catch {
      continue; // The next folder may contain it.
    }
  }
  throw new KubeletError('NotFound', `failed to find plugin "${name}" in path [${folders.join(' ')}]`, { op: 'CNI' });
}

async function readBounded(file: string, limitBytes: number): Promise<string> {
  const { size } = await stat(file);
  if (size > limitBytes) throw new KubeletError('Invalid', `${file} has more than ${limitBytes} bytes`);
  return readFile(file, 'utf8');
}

function failure(error: unknown, what: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const kind = errnoOf(error) === 'ENOENT' ? 'NotFound' : 'Internal';
  return new KubeletError(kind, `${what}: ${errorMessage(error)}`, { cause: error });
}
