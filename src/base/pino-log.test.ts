import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPinoLog } from './pino-log.ts';

function log(format: 'text' | 'json', verbosity = 2) {
  const lines: string[] = [];
  const at = new Date(2026, 10, 21, 15, 4, 5, 7).getTime();
  return {
    lines,
    log: createPinoLog({
      format,
      verbosity,
      write: (line) => lines.push(line),
      nowMs: () => at,
      pid: 42,
      program: 'kubelet',
    }),
  };
}

it('writes klog text lines with quoted values', () => {
  const { lines, log: logger } = log('text');
  logger.with({ pod: 'default/a' }).warn('Probe failed', { count: 3, output: 'say "hi"\nbye', none: undefined });
  assert.deepEqual(lines, [
    'W1121 15:04:05.007000      42 kubelet] "Probe failed" pod="default/a" count=3 output="say \\"hi\\"\\nbye"\n',
  ]);
});

it('writes debug lines only up to the verbosity', () => {
  const { lines, log: logger } = log('json');
  logger.debug(2, 'shown');
  logger.debug(3, 'hidden');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['shown'],
  );
});

it('follows a change of the verbosity, in loggers made before it as well', () => {
  const { lines, log: logger } = log('json');
  const child = logger.with({ pod: 'a' });
  logger.setVerbosity(4);
  child.debug(4, 'shown now');
  logger.setVerbosity(0);
  child.debug(1, 'hidden now');
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['shown now'],
  );
});
