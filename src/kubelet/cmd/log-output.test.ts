import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogOutput } from './log-output.ts';

function world(config: { splitStream: boolean; infoBufferBytes: number }) {
  const written: string[] = [];
  const due: [run: () => void, delayMs: number][] = [];
  const output = createLogOutput({
    config: { ...config, flushPeriodMs: 5000 },
    out: (text) => void written.push(`out ${text}`),
    err: (text) => void written.push(`err ${text}`),
    later: (run, delayMs) => void due.push([run, delayMs]),
  });
  return { output, written, due };
}

test('one stream: every line goes to stderr at once', () => {
  const { output, written } = world({ splitStream: false, infoBufferBytes: 100 });
  output.write('a\n', false);
  output.write('b\n', true);
  assert.deepEqual(written, ['err a\n', 'err b\n']);
});

test('split streams: errors go to stderr and the rest to stdout, at once without a buffer', () => {
  const { output, written, due } = world({ splitStream: true, infoBufferBytes: 0 });
  output.write('a\n', false);
  output.write('b\n', true);
  assert.deepEqual([written, due.length], [['out a\n', 'err b\n'], 0]);
});

test('a buffer of lines is written in one piece when it is full, when it is due and at the end', () => {
  const { output, written, due } = world({ splitStream: true, infoBufferBytes: 7 });
  for (const line of ['one\n', 'x\n', 'two\n', 'a line longer than the buffer\n']) output.write(line, false);
  assert.deepEqual(written, ['out one\nx\n', 'out two\n', 'out a line longer than the buffer\n']);
  output.write('é\n', false);
  output.write('bad\n', true);
  due.at(-1)?.[0]();
  assert.deepEqual(
    [written.slice(3), due.map(([, delayMs]) => delayMs)],
    [
      ['err bad\n', 'out é\n'],
      [5000, 5000, 5000],
    ],
  );
  output.write('end\n', false);
  output.flush();
  output.flush();
  assert.deepEqual(written.slice(5), ['out end\n']);
});
