// A control plane in its own process, started like the real program, with one faulty part: on SIGUSR2 it rejects a
// promise that is not handled, on SIGUSR1 it throws an exception that is not caught.
import { mkdirSync } from 'node:fs';
import { systemClock } from '../../../src/base/clock.ts';
import { createPinoLog } from '../../../src/base/pino-log.ts';
import { runToEnd, watchFaults } from '../../../src/base/process-faults.ts';
import { systemRandom } from '../../../src/base/random.ts';
import { composeControlPlane } from '../../../src/control-plane/cmd/compose/compose-control-plane.ts';
import { parseCommandLine } from '../../../src/control-plane/cmd/flags/parse-command-line.ts';

const parsed = parseCommandLine(process.argv.slice(2));
if (parsed.kind !== 'run') throw new Error(JSON.stringify(parsed));
const log = createPinoLog({
  format: 'json',
  verbosity: 0,
  write: (line) => void process.stderr.write(line),
  nowMs: () => Date.now(),
  pid: process.pid,
  program: 'control-plane',
});
mkdirSync(parsed.line.options.dataDir, { recursive: true });
const faults = watchFaults(process, log);
process.on('SIGUSR2', () => void Promise.reject(new Error('a promise of a test')));
process.on('SIGUSR1', () => {
  throw new TypeError('a handler of a test');
});
const controlPlane = await composeControlPlane(parsed.line.options, {
  clock: systemClock,
  random: systemRandom,
  log,
  faults: faults.counts,
});
const asked = (): Promise<void> => new Promise((resolve) => void process.once('SIGTERM', () => resolve()));
process.exit(
  await runToEnd(controlPlane, { faults, asked, exit: (code) => process.exit(code), clock: systemClock, log }),
);
