import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeLogFiles } from '../../ports/testing/fake-log-files.ts';
import { readTerminationMessage } from './termination-message.ts';

const MESSAGE = '/root/pods/u/containers/main/1';
const LOG = '/logs/main/0.log';

async function read(
  host: { message?: string; log?: string },
  changes: Partial<ContainerRuntimeStatus> & { policy?: string } = {},
): Promise<string> {
  const files = new FakeHostFiles(new FakeClock());
  await files.makeDirectory('/root/pods/u/containers/main', 0o755);
  await files.makeDirectory('/logs/main', 0o755);
  if (host.message !== undefined) await files.writeFile(MESSAGE, host.message, 0o666);
  if (host.log !== undefined) await files.writeFile(LOG, host.log, 0o640);
  const logFiles = new FakeLogFiles(files);
  const status = {
    state: 'exited',
    exitCode: 1,
    message: '',
    logPath: LOG,
    annotations: {
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': changes.policy ?? 'File',
    },
    mounts: [{ containerPath: '/dev/termination-log', hostPath: MESSAGE, readOnly: false }],
    ...changes,
  } as ContainerRuntimeStatus;
  const message = await readTerminationMessage({ logFiles, rootDir: '/root', podLogsDir: '/logs' }, status);
  assert.equal(logFiles.openCount, 0);
  return message;
}
const line = (text: string, tag = 'F', stream = 'stdout'): string =>
  `2026-01-02T03:04:05.123456789Z ${stream} ${tag} ${text}\n`;

test('the message is what the container wrote into its file, and at most the last 4096 bytes of it', async () => {
  assert.equal(await read({ message: 'the end' }), 'the end');
  assert.equal(await read({ message: `x${'y'.repeat(4096)}` }), 'y'.repeat(4096));
});

test("it follows the runtime's own message, and a running container has none", async () => {
  assert.equal(await read({ message: 'b' }, { message: 'a' }), 'a: b');
  assert.equal(await read({ message: 'b' }, { state: 'running' }), '');
});

test('the log is used for a container that asks for it, failed and wrote no message', async () => {
  const log = line('first') + line('out', 'P') + line('put', 'F') + line('bad', 'F', 'stderr');
  const policy = 'FallbackToLogsOnError';
  assert.equal(await read({ message: '', log }, { policy }), 'first\noutput\nbad\n');
  assert.equal(await read({ message: 'file', log }, { policy }), 'file');
  assert.equal(await read({ message: '', log }, { policy, exitCode: 0 }), '');
  assert.equal(await read({ message: '', log }), '');
});

test('of a long log it is the last 80 lines and the last 2048 bytes', async () => {
  const policy = 'FallbackToLogsOnError';
  const many = Array.from({ length: 500 }, (_, index) => line(`n${index}`)).join('');
  assert.equal(
    await read({ log: many }, { policy }),
    Array.from({ length: 80 }, (_, index) => `n${index + 420}\n`).join(''),
  );
  const wide = Array.from({ length: 100 }, () => line('w'.repeat(100))).join('');
  assert.equal((await read({ log: wide }, { policy })).length, 2048);
});

test('a missing file is no message; one elsewhere, or no file at all, is replaced by an error', async () => {
  assert.equal(await read({}), '');
  const elsewhere = [{ containerPath: '/dev/termination-log', hostPath: '/etc/shadow', readOnly: false }];
  assert.match(await read({}, { mounts: elsewhere }), /^Error on reading termination log \/etc\/shadow: /);
});
