import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeKernelLog } from '../../ports/testing/fake-kernel-log.ts';
import { NodeProblems } from './node-problems.ts';

const readOnly = 'EXT4-fs (sda1): Remounting filesystem read-only';
const broken = 'Buffer I/O error on dev sdb, logical block 0, async page read';

function world(kernelLog = new FakeKernelLog()) {
  const clock = new FakeClock();
  const log = recordingLog();
  const events: string[] = [];
  let changes = 0;
  const problems = new NodeProblems({
    kernelLog,
    recorder: { nodeEvent: (type, reason, message) => void events.push(`${type} ${reason} ${message}`) },
    onChange: () => (changes += 1),
    clock,
    log,
  });
  const truths = (): readonly string[] =>
    problems.conditions.filter(({ status }) => status === 'True').map(({ type }) => type);
  return { kernelLog, clock, log, events, problems, truths, changes: () => changes };
}

describe('problems that the kernel logs', () => {
  test('are conditions and events of the node', () => {
    const { kernelLog, problems, events, truths, changes } = world();
    problems.start();
    assert.deepEqual(
      problems.conditions.map(({ type, status }) => `${type} ${status}`),
      ['KernelDeadlock False', 'ReadonlyFilesystem False', 'XfsShutdown False'],
    );
    kernelLog.write('usb 1-1: new device', readOnly, broken);
    assert.deepEqual([truths(), changes()], [['ReadonlyFilesystem'], 1]);
    assert.deepEqual(events, [`Warning FilesystemIsReadOnly ${readOnly}`, `Warning IOError ${broken}`]);
  });

  test('from before the start of the agent are conditions still, and no events again', () => {
    const { kernelLog, problems, events, truths } = world();
    kernelLog.write(readOnly, broken);
    problems.start();
    assert.deepEqual([truths(), events], [['ReadonlyFilesystem'], []]);
  });

  test('that programs write into the log do not count', () => {
    const { kernelLog, problems, events, truths } = world();
    problems.start();
    kernelLog.writeAsProgram(readOnly);
    assert.deepEqual([truths(), events], [[], []]);
  });

  test('of one kind are one event a minute', async () => {
    const { kernelLog, problems, events, clock } = world();
    problems.start();
    kernelLog.write(broken, broken, broken);
    await clock.advance(60_000);
    kernelLog.write(broken);
    assert.equal(events.length, 2);
  });

  test('are found after the log could not be followed, each once', async () => {
    const kernelLog = new FakeKernelLog();
    kernelLog.refusals = 1;
    const { problems, events, truths, clock, changes } = world(kernelLog);
    problems.start();
    kernelLog.write(readOnly);
    await clock.advance(60_000);
    assert.deepEqual(truths(), ['ReadonlyFilesystem']);
    kernelLog.write(broken);
    kernelLog.end('scripted');
    await clock.advance(60_000);
    assert.deepEqual([events.length, changes(), kernelLog.follows], [1, 1, 3]);
    problems.stop();
    assert.equal(kernelLog.isFollowed, false);
  });
});
