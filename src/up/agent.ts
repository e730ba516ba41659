/** Starts `bin/kubelet` for an instance. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, cpSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { machineEnvironment } from './commands.ts';
import type { Instance } from './instance.ts';
import { renderKubeletConfig } from './kubelet-config.ts';
import { writeProcessFile } from './processes.ts';
import { podNames } from './progress.ts';
import type { CgroupDriver } from './runtime-config.ts';
import { kubeletPidFile } from './teardown.ts';

/** `KUBELET_TS_PROGRAM` puts another in its place: tests of `up` use it. */
const kubeletProgram = process.env['KUBELET_TS_PROGRAM'] ?? join(import.meta.dirname, '..', '..', 'bin', 'kubelet');
const exampleFolder = join(import.meta.dirname, 'manifests');
/** systemd-resolved's stub (127.0.0.53) is of no use inside a pod; this file of its own names the real servers. */
const RESOLVED_CONF = '/run/systemd/resolve/resolv.conf';
const KUBELET_PORT = 10250;
const HEALTHZ_PORT = 10248;

export interface AgentOptions {
  runtimeEndpoint: string;
  /** Added behind our own arguments. */
  extraArgs: readonly string[];
}

/** Copies the examples if the folder is not there: what a person changed or deleted in it stays so. */
export function ensureManifests(instance: Instance): void {
  if (existsSync(instance.manifestsDir)) return;
  mkdirSync(dirname(instance.manifestsDir), { recursive: true });
  cpSync(exampleFolder, instance.manifestsDir, { recursive: true });
}

/** The pods the folder announces. A file that cannot be parsed announces none: saying so is the agent's part. */
export function expectedPods(instance: Instance): string[] {
  const files = readdirSync(instance.manifestsDir).filter((name) => /\.(ya?ml|json)$/.test(name) && !name.startsWith('.')).sort();
  return files.flatMap((name) => podNames(parseAllDocuments(readFileSync(join(instance.manifestsDir, name), 'utf8')).map((document) => (document.errors.length > 0 ? undefined : document.toJS()))));
}

export async function writeAgentConfig(instance: Instance, runtimeEndpoint: string, cgroupDriver: CgroupDriver = 'cgroupfs'): Promise<{ port: number; healthzPort: number }> {
  const ports = { port: await freePort(KUBELET_PORT), healthzPort: await freePort(HEALTHZ_PORT) };
  mkdirSync(instance.kubeletRoot, { recursive: true });
  writeFileSync(instance.kubeletConfig, renderKubeletConfig(instance, { runtimeEndpoint, cgroupDriver, ...ports, resolvConf: existsSync(RESOLVED_CONF) ? RESOLVED_CONF : undefined }));
  return ports;
}

/** In a session of its own, so that Ctrl-C reaches only `up`, which takes things down in order. */
export function startAgent(instance: Instance, options: AgentOptions): ChildProcess {
  const log = openSync(instance.kubeletLog, 'a');
  const args = ['--config', instance.kubeletConfig, '--root-dir', instance.kubeletRoot, '--hostname-override', hostname().toLowerCase(), ...options.extraArgs];
  const environment = machineEnvironment();
  const child = spawn(kubeletProgram, args, { detached: true, stdio: ['ignore', log, log], env: { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}` } });
  closeSync(log);
  if (child.pid !== undefined) writeProcessFile(kubeletPidFile(instance), child.pid);
  return child;
}

/** `wanted` if nobody listens there on the loopback address, otherwise one the kernel picks. */
export function freePort(wanted: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (wanted !== 0 && error.code === 'EADDRINUSE') resolve(freePort(0));
      else reject(error);
    });
    server.listen(wanted, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : wanted;
      server.close(() => resolve(port));
    });
  });
}
