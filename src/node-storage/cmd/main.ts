/** `bin/kubelet-node-storage`: volumes on the disk of one node. */
import { createInformers } from '../../api/client/informer.ts';
import { systemClock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import type { Program } from '../../base/process-faults.ts';
import { systemRandom } from '../../base/random.ts';
import { runMain } from '../../base/run-main.ts';
import { runProgram } from '../../base/run-program.ts';
import type { ProgramResult } from '../../base/run-program.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import type { Controller } from '../../control-plane/controller-runtime/controller.ts';
import { openDirectoryDisk } from '../adapters/directory-disk.ts';
import { createProjectQuota } from '../adapters/project-quota.ts';
import { createCapacityPublisher } from '../provisioner/capacity-publisher.ts';
import { createNodeDiskProvisioner } from '../provisioner/node-disk-provisioner.ts';
import type { NodeStorageOptions } from './node-storage-flags.ts';
import { parseNodeStorage, USAGE } from './node-storage-flags.ts';

/** Removing a directory with millions of files takes minutes. */
const COMMAND_TIMEOUT_MS = 3_600_000;
const COMMAND_OUTPUT_BYTES = 64 * 1024;

/** Volumes and their data remain when the program stops. */
function createNodeStorage({ kubeconfig, nodeName, root }: NodeStorageOptions, log: Logger): Program {
  const transport = new HttpTransport(readKubeconfig(kubeconfig), { userAgent: 'kubelet-node-storage', maxSockets: 4 });
  const client = new HttpApiClient(transport);
  const parts = { client, clock: systemClock, random: systemRandom, log };
  const informers = createInformers(parts);
  let controllers: readonly Controller[] = [];
  return {
    start: async () => {
      const disk = await openDirectoryDisk({ root, quota: createProjectQuota({ run, log }), run, log });
      const options = { ...parts, informers, nodeName, disk };
      controllers = [createNodeDiskProvisioner(options), createCapacityPublisher(options)];
      for (const each of controllers) each.start();
      informers.start();
      void informers.whenSynced().then(() => log.info('serving', { root }));
    },
    stop: async () => {
      await Promise.all([...controllers.map((each) => each.stop()), informers.stop()]);
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

void runMain(process, {
  name: 'kubelet-node-storage',
  logName: 'node-storage',
  usage: USAGE,
  parse: parseNodeStorage,
  create: createNodeStorage,
});
