/** `bin/fake-nodes N`: nodes that report pods as running without running them, in the cluster of a kubeconfig. */
import { systemClock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Program } from '../../../base/process-faults.ts';
import { systemRandom } from '../../../base/random.ts';
import { runMain } from '../../../base/run-main.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { readKubeconfig } from '../../../client/kubeconfig.ts';
import { createFakeNodes } from '../../fake-nodes/fake-nodes.ts';
import type { FakeNodesOptions } from './fake-nodes-flags.ts';
import { FAKE_NODES_USAGE, parseFakeNodes } from './fake-nodes-flags.ts';

function createProgram({ kubeconfig, ...line }: FakeNodesOptions, log: Logger): Program {
  const file = kubeconfig ?? process.env['KUBECONFIG'] ?? `${process.env['HOME'] ?? ''}/.kube/config`;
  const transport = new HttpTransport(readKubeconfig(file), { userAgent: 'fake-nodes', maxSockets: 8 });
  const nodes = createFakeNodes({
    ...line,
    client: new HttpApiClient(transport),
    clock: systemClock,
    random: systemRandom,
    log,
  });
  return {
    start: async () => {
      await nodes.start();
      process.stdout.write(`${line.count} nodes are ready\n`);
    },
    stop: async () => {
      await nodes.stop();
      transport.close();
    },
  };
}

void runMain(process, {
  name: 'fake-nodes',
  logName: 'fake-nodes',
  usage: FAKE_NODES_USAGE,
  parse: parseFakeNodes,
  create: createProgram,
});
