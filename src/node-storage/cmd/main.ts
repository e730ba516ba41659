/** `bin/kubelet-node-storage`: volumes on the disk of one node. */
import { createInformers } from '../../api/client/informer.ts';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { runToEnd, watchFaults } from '../../base/process-faults.ts';
import type { Program } from '../../base/process-faults.ts';
import { systemRandom } from '../../base/random.ts';
import { runProgram } from '../../base/run-program.ts';
import type { ProgramResult } from '../../base/run-program.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { Controller } from '../../control-plane/controller-runtime/controller.ts';
import { openDirectoryDisk } from '../adapters/directory-disk.ts';
import { createProjectQuota } from '../adapters/project-quota.ts';
import { createNodeDiskProvisioner } from '../provisioner/node-disk-provisioner.ts';
import type { NodeStorageOptions } from './node-storage-flags.ts';
import { parseNodeStorage, USAGE } from './node-storage-flags.ts';

/** The exit code of a wrong command line. */
const MISUSED = 2;
/** A directory with millions of files is removed in minutes. */
const COMMAND_TIMEOUT_MS = 3_600_000;
const COMMAND_OUTPUT_BYTES = 64 * 1024;

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseNodeStorage(args);
  if (parsed.kind === 'error') {
    process.stderr.write(`${parsed.error}\nkubelet-node-storage --help lists the flags\n`);
    return MISUSED;
  }
  if (parsed.kind === 'help') {
    process.stdout.write(USAGE);
    return 0;
  }
  const log = createPinoLog({
    format: 'text',
    verbosity: 0,
    write: (line) => void process.stderr.write(line),
    nowMs: () => Date.now(),
    pid: process.pid,
    program: 'node-storage',
  });
  const faults = watchFaults(process, log);
  return runToEnd(createNodeStorage(parsed.options, log), {
    faults,
    asked: () =>
      new Promise((resolve) => {
        for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
      }),
    exit: (code) => process.exit(code),
    clock: systemClock,
    log,
  });
}

/** Volumes and their data stay when it stops. */
function createNodeStorage({ kubeconfig, nodeName, root }: NodeStorageOptions, log: Logger): Program {
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-node-storage', maxSockets: 4 });
  const client = new HttpApiClient(transport);
  const parts = { client, clock: systemClock, random: systemRandom, log };
  const informers = createInformers(parts);
  let provisioner: Controller | undefined;
  return {
    start: async () => {
      const disk = await openDirectoryDisk({ root, quota: createProjectQuota({ run, log }), run, log });
      provisioner = createNodeDiskProvisioner({ ...parts, informers, nodeName, disk });
      provisioner.start();
      informers.start();
      void informers.whenSynced().then(() => log.info('serving', { root }));
    },
    stop: async () => {
      await Promise.all([provisioner?.stop(), informers.stop()]);
      transport.close();
    },
  };
}

const run = (program: string, args: readonly string[]): Promise<ProgramResult> =>
  runProgram(program, args, {
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C.UTF-8' },
    timeoutMs: COMMAND_TIMEOUT_MS,
    outputLimitBytes: COMMAND_OUTPUT_BYTES,
  });

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exit(1);
  },
);
