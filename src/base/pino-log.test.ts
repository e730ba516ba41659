import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
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

it('follows a change of the verbosity, even in loggers created before', () => {
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

describe('a log line with external text', () => {
  const HOSTILE = [
    'a\nE1121 15:04:05.000000 42 kubelet] "forged"',
    'a\r\nb',
    '\u001b[2J\u001b]0;title\u0007',
    '\u009b31m',
    '\u0085next',
    '\u2028line\u2029paragraph',
    '\u202eevil\u2066',
    '\u007f\u0008',
    '"} {"level":"error","msg":"forged"}',
    '\u0000',
    '\ufeff',
    '\ud800',
  ];
  const isTame = (line: string): boolean =>
    /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\ufeff]*\n$/.test(line);

  for (const format of ['text', 'json'] as const) {
    it(`is one line of printable characters, for messages, fields, nested fields, field names and child fields: ${format}`, () => {
      for (const text of HOSTILE) {
        const { lines, log: logger } = log(format);
        logger.error(text);
        logger.info('m', { field: text });
        logger.warn('m', { field: [text] });
        logger.info('m', { [text]: 1 });
        logger.with({ child: text }).debug(1, text);
        assert.equal(lines.length, 5);
        for (const line of lines) assert.ok(isTame(line), JSON.stringify(line));
        if (format === 'text')
          for (const line of lines) assert.match(line, /^[EWI]1121 15:04:05\.007000 {6}42 kubelet\] "/);
      }
    });
  }

  it('JSON output contains the same value', () => {
    const { lines, log: logger } = log('json');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        logger.info('m', { field: text });
        const line = lines.pop() ?? '';
        assert.equal((JSON.parse(line) as { field: string }).field.toWellFormed(), text.toWellFormed());
        assert.ok(isTame(line));
      }),
    );
  });

  it('a field cannot replace the level, the time or the message of its line', () => {
    const { lines, log: logger } = log('text');
    logger.info('true', { level: 'constructor' });
    assert.match(lines[0] ?? '', /^I1121 /);
  });

  it('truncates long text, and shows the omitted length', () => {
    for (const format of ['text', 'json'] as const) {
      const { lines, log: logger } = log(format);
      logger.with({ pod: 'p'.repeat(50_000) }).error('m'.repeat(1_000_000), { output: 'x'.repeat(16_000_000) });
      assert.ok((lines[0] ?? '').length < 60_000, `${lines[0]?.length}`);
      assert.match(lines[0] ?? '', /\(15983616 more characters\)/);
    }
  });
});
