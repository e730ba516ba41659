/** Starts `bin/kubelet` for an instance. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import {
  chmodSync,
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { machineEnvironment } from './commands.ts';
import type { Instance } from './instance.ts';
import type { ClusterFacts } from './kubelet-config.ts';
import { PINNED_IMAGES, renderKubeletConfig } from './kubelet-config.ts';
import { repositoryRoot } from './places.ts';
import { writeProcessFile } from './processes.ts';
import { podNames } from './progress.ts';
import type { CgroupDriver } from './runtime-config.ts';
import { kubeletPidFile } from './teardown.ts';

/**
 * The project's own programs. Tests replace them: `KUBELET_TS_BIN` names their folder, `KUBELET_TS_PROGRAM` the agent.
 */
export const programPath = (name: string): string =>
  join(process.env['KUBELET_TS_BIN'] ?? join(repositoryRoot, 'bin'), name);
export const kubeletProgram = process.env['KUBELET_TS_PROGRAM'] ?? programPath('kubelet');
const exampleFolder = join(repositoryRoot, 'src', 'up', 'manifests');
/** A pod cannot use systemd-resolved's stub (127.0.0.53). This file of systemd-resolved lists the real servers. */
export const RESOLVED_CONF = '/run/systemd/resolve/resolv.conf';
const KUBELET_PORT = 10250;
const HEALTHZ_PORT = 10248;

export interface AgentOptions {
  readonly runtimeEndpoint: string;
  /** Added after our own arguments. */
  readonly extraArgs: readonly string[];
}

/**
 * Copies the examples if the folder does not exist. Files that a user changed or deleted in it are not written again.
 */
export function ensureManifests(instance: Instance): void {
  if (existsSync(instance.manifestsDir)) return;
  mkdirSync(dirname(instance.manifestsDir), { recursive: true });
  cpSync(exampleFolder, instance.manifestsDir, { recursive: true });
}

/**
 * The pods that the manifests in the folder define. A file that cannot be parsed defines none; the agent reports it.
 */
export function expectedPods(instance: Instance): string[] {
  const files = readdirSync(instance.manifestsDir)
    .filter((name) => /\.(ya?ml|json)$/.test(name) && !name.startsWith('.'))
    .sort();
  return files.flatMap((name) =>
    podNames(
      parseAllDocuments(readFileSync(join(instance.manifestsDir, name), 'utf8')).map((document) =>
        document.errors.length > 0 ? undefined : document.toJS(),
      ),
    ),
  );
}

export async function writeAgentConfig(
  instance: Instance,
  runtimeEndpoint: string,
  cgroupDriver: CgroupDriver = 'cgroupfs',
  cluster?: ClusterFacts,
): Promise<{ port: number; healthzPort: number }> {
  // In a network namespace of the node, all ports are free, and this process cannot check its addresses.
  const isOwnNetwork = instance.enter.length > 0;
  const ports = isOwnNetwork
    ? { port: KUBELET_PORT, healthzPort: HEALTHZ_PORT }
    : {
        port: await freePort(KUBELET_PORT, cluster === undefined ? undefined : (cluster.address ?? '0.0.0.0')),
        healthzPort: await freePort(HEALTHZ_PORT, cluster === undefined ? undefined : instance.loopback),
      };
  mkdirSync(instance.kubeletRoot, { recursive: true });
  writeFileSync(
    instance.kubeletConfig,
    renderKubeletConfig(instance, {
      runtimeEndpoint,
      cgroupDriver,
      ...ports,
      resolvConf: existsSync(RESOLVED_CONF) ? RESOLVED_CONF : undefined,
      ...(cluster !== undefined && { cluster }),
    }),
    { mode: 0o600 },
  );
  chmodSync(instance.kubeletConfig, 0o600);
  return ports;
}

/** Empty when the node has the machine's name: CIS 4.2.7 requires that the flag is not set. */
export function nodeNameArguments(nodeName: string): string[] {
  return nodeName === hostname().trim().toLowerCase() ? [] : ['--hostname-override', nodeName];
}

/** In its own session, so that Ctrl-C reaches only `up`, which stops its programs in order. */
export function startAgent(instance: Instance, options: AgentOptions): ChildProcess {
  const log = openSync(instance.kubeletLog, 'a');
  const args = [
    '--config',
    instance.kubeletConfig,
    '--root-dir',
    instance.kubeletRoot,
    '--cert-dir',
    join(instance.nodeDir, 'pki'),
    '--pinned-images',
    PINNED_IMAGES,
    ...options.extraArgs,
  ];
  const environment = machineEnvironment();
  const child = spawn(kubeletProgram, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}` },
  });
  closeSync(log);
  if (child.pid !== undefined) writeProcessFile(kubeletPidFile(instance), child.pid);
  return child;
}

/** `wanted` if the port is free, otherwise one that the kernel picks. */
export function freePort(wanted: number, address = '127.0.0.1'): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (wanted !== 0 && error.code === 'EADDRINUSE') resolve(freePort(0, address));
      else reject(error);
    });
    server.listen(wanted, address, () => {
      const bound = server.address();
      const port = typeof bound === 'object' && bound !== null ? bound.port : wanted;
      server.close(() => resolve(port));
    });
  });
}
