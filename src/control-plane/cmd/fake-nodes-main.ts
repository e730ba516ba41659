/** `bin/fake-nodes N`: nodes that only say they run pods, in any cluster a kubeconfig leads to. */
import { parseArgs } from 'node:util';
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { systemRandom } from '../../base/random.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import { createFakeNodes } from '../fake-nodes/fake-nodes.ts';

const usage = `usage: fake-nodes N [--kubeconfig FILE] [--prefix NAME] [--cpu 8] [--memory 32Gi] [--pods 110]
                  [--labels KEY=VALUE,...] [--react-ms 10] [--lease-seconds 10]

Registers N nodes NAME-0, NAME-1, ... that say they run whatever pods are bound to them, until it is stopped. Pods that are not
restarted end by themselves. Annotations of a pod: fake-nodes/run-ms, fake-nodes/exit-code, fake-nodes/ready: "false".
`;

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      kubeconfig: { type: 'string' },
      prefix: { type: 'string', default: 'fake' },
      cpu: { type: 'string', default: '8' },
      memory: { type: 'string', default: '32Gi' },
      pods: { type: 'string', default: '110' },
      labels: { type: 'string', default: '' },
      'react-ms': { type: 'string', default: '10' },
      'lease-seconds': { type: 'string', default: '10' },
      help: { type: 'boolean', default: false },
    },
  });
  const count = Number(positionals[0]);
  if (values.help || !Number.isInteger(count) || count < 1 || count > 5000) {
    process.stdout.write(usage);
    return values.help ? 0 : 2;
  }
  const file = values.kubeconfig ?? process.env['KUBECONFIG'] ?? `${process.env['HOME'] ?? ''}/.kube/config`;
  const transport = new HttpTransport(readKubeconfig(file), { userAgent: 'fake-nodes', maxSockets: 8 });
  const log = createPinoLog({ format: 'text', verbosity: 0, write: (line) => void process.stderr.write(line), nowMs: () => Date.now(), pid: process.pid, program: 'fake-nodes' });
  const labels = Object.fromEntries(values.labels.split(',').filter((pair) => pair.includes('=')).map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]));
  const nodes = createFakeNodes({
    client: new HttpApiClient(transport),
    clock: systemClock,
    random: systemRandom,
    log,
    count,
    prefix: values.prefix,
    shape: { cpu: values.cpu, memory: values.memory, pods: Number(values.pods), labels },
    reactMs: Number(values['react-ms']),
    leaseMs: Number(values['lease-seconds']) * 1000,
  });
  await nodes.start();
  process.stdout.write(`${count} nodes are ready\n`);
  await new Promise<void>((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve());
  });
  await nodes.stop();
  transport.close();
  return 0;
}

main(process.argv.slice(2)).then(
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`${errorMessage(error)}\n`);
    process.exit(1);
  },
);
