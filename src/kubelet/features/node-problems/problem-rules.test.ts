import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addProblem, healthyConditions, readProblem } from './problem-rules.ts';

const hung = (task: string): string => `INFO: task ${task} blocked for more than 120 seconds.`;
const lines: readonly (readonly [line: string, reason: string | undefined, condition?: string])[] = [
  [hung('dockerd:1234'), 'DockerHung', 'KernelDeadlock'],
  [hung('docker:7'), 'DockerHung', 'KernelDeadlock'],
  [hung('containerd:812'), 'RuntimeHung', 'KernelDeadlock'],
  [hung('containerd-shim:9'), 'RuntimeHung', 'KernelDeadlock'],
  [hung('runc:[2:INIT]:4711'), 'TaskHung'],
  [hung('kworker/u8:2:77'), 'TaskHung'],
  ['EXT4-fs (sda1): Remounting filesystem read-only', 'FilesystemIsReadOnly', 'ReadonlyFilesystem'],
  ['XFS (dm-3): Corruption of in-memory data detected. Shutting down filesystem', 'XfsHasShutdown', 'XfsShutdown'],
  ['unregister_netdevice: waiting for lo to become free. Usage count = 1', 'UnregisterNetDevice'],
  ['BUG: kernel NULL pointer dereference, address: 0000000000000008', 'KernelOops'],
  ['BUG: unable to handle kernel NULL pointer dereference at 0000000000000008', 'KernelOops'],
  ['divide error: 0000 [#1] SMP PTI', 'KernelOops'],
  ['EXT4-fs error (device sda1): ext4_lookup:1602: inode #2: comm ls: deleted inode referenced', 'Ext4Error'],
  ['EXT4-fs warning (device sda1): ext4_dx_add_entry: Directory index full!', 'Ext4Warning'],
  ['Buffer I/O error on dev sdb, logical block 0, async page read', 'IOError'],
  ['EDAC MC0: 1 CE memory read error on CPU_SrcID#0', 'MemoryReadError'],
  ['EXT4-fs (sda1): mounted filesystem with ordered data mode', undefined],
  ['Memory cgroup out of memory: Killed process 1 (a) total-vm:1kB', undefined],
  ['', undefined],
];

for (const [line, reason, condition] of lines)
  test(`${JSON.stringify(line)} is ${reason ?? 'no problem'}`, () => {
    const found = readProblem(line);
    assert.deepEqual([found?.reason, found?.condition], [reason, condition]);
  });

test('a condition becomes true with the first report of its problem, and keeps it', () => {
  const first = addProblem(healthyConditions, hung('docker:7'));
  assert.deepEqual(first[0], {
    type: 'KernelDeadlock',
    status: 'True',
    reason: 'DockerHung',
    message: hung('docker:7'),
  });
  assert.deepEqual(first.slice(1), healthyConditions.slice(1));
  assert.equal(addProblem(first, hung('containerd:8')), first);
  assert.equal(addProblem(healthyConditions, hung('bash:8')), healthyConditions);
  assert.equal(addProblem(healthyConditions, 'all is well'), healthyConditions);
});

test('a long line costs little, and is shortened', () => {
  const long = `EXT4-fs: ${'task x:1 '.repeat(450)}Remounting filesystem read-only ${'a'.repeat(4000)}`;
  assert.equal(addProblem(healthyConditions, long)[1]?.message.length, 256);
});
