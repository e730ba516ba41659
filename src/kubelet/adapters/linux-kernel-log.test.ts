import assert from 'node:assert/strict';
import { closeSync, constants, openSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { isKind } from '../../base/errors.ts';
import { LinuxKernelLog, parseKernelRecord } from './linux-kernel-log.ts';
import { KERNEL_TEXT_LIMIT } from '../ports/kernel-log.ts';
import { kernelLogContract } from '../ports/testing/kernel-log-contract.ts';

test('a record of the kernel log has its text without the dictionary behind it', () => {
  assert.deepEqual(parseKernelRecord('6,1234,567890123,-;eth0: link up\n SUBSYSTEM=net\n DEVICE=n2\n'), {
    sequence: 1234,
    byKernel: true,
    text: 'eth0: link up',
  });
  assert.deepEqual(parseKernelRecord('4,7,1,c,caller=T19;with ; in it\n'), {
    sequence: 7,
    byKernel: true,
    text: 'with ; in it',
  });
});

test('a record of a program is not taken for one of the kernel', () => {
  assert.deepEqual(
    ['12,1,1,-;x', '8,1,1,-;x', '7,1,1,-;x'].map((record) => parseKernelRecord(record)?.byKernel),
    [false, false, true],
  );
});

test('odd records are refused, long ones are cut', () => {
  for (const odd of ['', 'x', '6,1;x', '-1,1,1,-;x', `6,1,1,${'a'.repeat(300)};x`])
    assert.equal(parseKernelRecord(odd), undefined);
  assert.equal(parseKernelRecord(`6,1,1,-;${'a'.repeat(9000)}`)?.text.length, KERNEL_TEXT_LIMIT);
});

test('a log that cannot be opened is Unavailable', () => {
  assert.throws(
    () => new LinuxKernelLog('/nonexistent').follow({ onMessage() {}, onLost() {}, onEnd() {} }),
    (error) => isKind(error, 'Unavailable'),
  );
});

const mayWrite = ((): boolean => {
  try {
    closeSync(openSync('/dev/kmsg', constants.O_RDWR | constants.O_NONBLOCK));
    return true;
  } catch {
    return false;
  }
})();

for (const [how, log] of [
  ['waited for', new LinuxKernelLog()],
  ['read each second where it cannot be waited for', new LinuxKernelLog('/dev/kmsg', () => undefined)],
] as const)
  kernelLogContract(
    `/dev/kmsg, ${how}`,
    // The kernel gives a line to readers when it is complete.
    () => ({ log, write: (line) => writeFileSync('/dev/kmsg', `${line}\n`) }),
    mayWrite ? false : 'needs /dev/kmsg',
  );

test('/dev/kmsg: with sinceBoot, records from before come first and say so', {
  skip: mayWrite ? false : 'needs /dev/kmsg',
}, async () => {
  const mark = `kubelet test ${process.pid} since boot`;
  writeFileSync('/dev/kmsg', `${mark} before\n`);
  const keepAlive = setInterval(() => {}, 1000);
  const seen: string[] = [];
  const stop = await new Promise<() => void>((resolve, reject) => {
    const ends = new LinuxKernelLog().follow(
      {
        onMessage: ({ text, isOld = false }) => {
          if (!text.startsWith(mark)) return;
          seen.push(`${text.slice(mark.length + 1)} ${isOld}`);
          if (text.endsWith('after')) resolve(ends);
        },
        onLost: () => {},
        onEnd: reject,
      },
      { sinceBoot: true },
    );
    writeFileSync('/dev/kmsg', `${mark} after\n`);
  });
  stop();
  clearInterval(keepAlive);
  assert.deepEqual(seen, ['before true', 'after false']);
});
