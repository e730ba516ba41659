/** `bin/fake-nodes N`: nodes that only say they run pods, in any cluster a kubeconfig leads to. */
import { systemClock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
import { createPinoLog } from '../../base/pino-log.ts';
import { systemRandom } from '../../base/random.ts';
import { HttpApiClient } from '../../client/http-api-client.ts';
import { HttpTransport } from '../../client/http-transport.ts';
import { readKubeconfig } from '../../client/kubeconfig.ts';
import { createFakeNodes } from '../fake-nodes/fake-nodes.ts';
import { FAKE_NODES_USAGE, parseFakeNodes } from './fake-nodes-flags.ts';

/** The exit code of who was called wrongly. */
const MISUSED = 2;

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseFakeNodes(args);
  if (parsed.kind === 'error') {
    process.stderr.write(`${parsed.errors.join('\n')}\nfake-nodes --help tells more\n`);
    return MISUSED;
  }
  if (parsed.kind === 'help') {
    process.stdout.write(FAKE_NODES_USAGE);
    return 0;
  }
  const { kubeconfig, ...line } = parsed.line;
  const file = kubeconfig ?? process.env['KUBECONFIG'] ?? `${process.env['HOME'] ?? ''}/.kube/config`;
  const transport = new HttpTransport(readKubeconfig(file), { userAgent: 'fake-nodes', maxSockets: 8 });
  const log = createPinoLog({
    format: 'text',
    verbosity: 0,
    write: (line) => void process.stderr.write(line),
    nowMs: () => Date.now(),
    pid: process.pid,
    program: 'fake-nodes',
  });
  const nodes = createFakeNodes({
    ...line,
    client: new HttpApiClient(transport),
    clock: systemClock,
    random: systemRandom,
    log,
  });
  await nodes.start();
  process.stdout.write(`${line.count} nodes are ready\n`);
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
