import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPinoLog } from '../../base/pino-log.ts';
import { callerIsVerbose } from './log-callers.ts';
import { computeModuleLevels, frameOf } from './log-modules.ts';

test('the first pattern that matches the name of a file, or with a slash its path, gives the level', () => {
  const vmodule = [
    { filePattern: 'pod_workers', verbosity: 5 },
    { filePattern: 'evict*', verbosity: 4 },
    { filePattern: '*/images/*', verbosity: 3 },
    { filePattern: 'p[kl]e?', verbosity: 2 },
    { filePattern: '*', verbosity: 1 },
  ];
  const level = computeModuleLevels({ vmodule }.vmodule);
  const levels = ['/src/features/pod-workers/pod-workers.ts', '/s/evict-pod.ts', 'a/images/gc.ts', 'pleg.js', 'x.ts'];
  assert.deepEqual(levels.map(level), [5, 4, 3, 2, 1]);
  assert.equal(computeModuleLevels([{ filePattern: 'gc', verbosity: 3 }])('/a/gc-select.ts'), undefined);
});

test('a pattern that is no pattern matches nothing, and long ones cost little', () => {
  for (const filePattern of ['[', '[z-a]', 'a[b', '\\', '(', '']) {
    const level = computeModuleLevels([{ filePattern, verbosity: 9 }]);
    assert.equal(level('/src/pleg.ts'), undefined, filePattern);
  }
  const level = computeModuleLevels([{ filePattern: '*'.repeat(5000), verbosity: 9 }]);
  assert.equal(level(`/${'a'.repeat(5000)}.ts`), 9);
});

test('a frame of a stack names its file', () => {
  assert.deepEqual(frameOf('    at run (file:///srv/a b/loop.ts:10:20)'), {
    file: '/srv/a b/loop.ts',
    line: 10,
    column: 20,
  });
  assert.deepEqual(frameOf('    at file:///srv/loop.ts:1:2'), { file: '/srv/loop.ts', line: 1, column: 2 });
  assert.deepEqual([frameOf('    at node:internal/x:1:2'), frameOf('Error')], [undefined, undefined]);
});

test('a line above the level is written when vmodule sets the file that logs it higher', () => {
  const lines = (filePattern: string): number => {
    const written: string[] = [];
    const log = createPinoLog({
      format: 'text',
      verbosity: 0,
      isVerbose: callerIsVerbose([{ filePattern, verbosity: 4 }]),
      write: (line) => void written.push(line),
      nowMs: () => 0,
      pid: 1,
      program: 'kubelet',
    });
    log.debug(4, 'a');
    log.with({ pod: 'x' }).debug(3, 'b');
    log.debug(5, 'c');
    return written.length;
  };
  assert.deepEqual([lines('log-modules.test'), lines('pleg')], [2, 0]);
});
