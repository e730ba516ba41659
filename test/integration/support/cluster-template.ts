// The folder of a control plane after its first start: certificates, kubeconfigs, and a store with the initial objects.
// Most tests need a cluster without testing its first start, which takes half of the processor time of a start.
import { spawn } from 'node:child_process';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../src/up/agent.ts';
import { machineEnvironment } from '../../../src/up/commands.ts';
import { describeProcess, stopProcess, waitUntil } from '../../../src/up/processes.ts';

const STORE = 'state.db';
const START_MS = 60_000;
const STOP_MS = 15_000;

/** The flags of every control plane that tests start. All kinds are enabled, also those that are off by default. */
export const clusterFlags = (folder: string, port: number): readonly string[] => [
  `--data-dir=${folder}`,
  `--secure-port=${port}`,
  '--bind-address=127.0.0.1',
  '--feature-gates=ClusterTrustBundle=true,PodCertificateRequest=true,StorageVersionMigrator=true',
  '--runtime-config=certificates.k8s.io/v1beta1=true,storagemigration.k8s.io/v1beta1=true,admissionregistration.k8s.io/v1alpha1=true',
];

/** Starts the program once in `folder`, and stops it. */
export async function makeClusterTemplate(program: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const logFile = `${folder}.log`;
  const log = openSync(logFile, 'a');
  const child = spawn(program, clusterFlags(folder, await freePort(0)), {
    stdio: ['ignore', log, log],
    env: machineEnvironment(),
  });
  closeSync(log);
  const serves = (): boolean => readFileSync(logFile, 'utf8').includes('"serving"');
  await waitUntil(() => child.exitCode !== null || serves(), START_MS, 10);
  await stopProcess(describeProcess(child.pid ?? 0), STOP_MS);
  if (!serves()) throw new Error(`the control plane did not start:\n${readFileSync(logFile, 'utf8')}`);
  rmSync(logFile);
}

/**
 * Copies the folder for a server on this port. The server would rewrite each kubeconfig with another port, which takes
 * a seventh of the processor time of its start. The store is copied for a server that uses it; a server with another
 * store or its own flags creates its own.
 */
export function copyClusterTemplate(
  template: string,
  folder: string,
  { port, withStore }: { port: number; withStore: boolean },
): void {
  if (!existsSync(template)) return;
  cpSync(template, folder, {
    recursive: true,
    filter: (source) => withStore || !source.startsWith(join(template, STORE)),
  });
  for (const name of readdirSync(folder).filter((each) => each.endsWith('.conf'))) {
    const file = join(folder, name);
    writeFileSync(file, readFileSync(file, 'utf8').replace(/(server: https:\/\/127\.0\.0\.1):\d+/, `$1:${port}`));
  }
}
