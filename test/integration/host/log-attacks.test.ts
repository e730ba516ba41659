// A pod that may write where logs lie (a hostPath of /var/log), against rotation and clean-up, on the real file system
// (TOB-K8S-026).
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { seededRandom } from '../../../src/base/random.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';
import { LogCleanup } from '../../../src/kubelet/features/container-logs/log-cleanup.ts';
import { LogRotation } from '../../../src/kubelet/features/container-logs/log-rotation.ts';
import { containerId } from '../../../src/kubelet/model/ids.ts';
import { waitUntil } from '../../../src/up/processes.ts';

const files = new LinuxFiles();
let folder: string;
let host: string;
let pods: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kts-logs-'));
  [host, pods] = [join(folder, 'host'), join(folder, 'pods')];
  mkdirSync(host);
  for (const name of ['0.log', '0.log.20250101-000000', 'shadow'])
    writeFileSync(join(host, name), `of the host ${'x'.repeat(500)}`, { mode: 0o600 });
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const podFolder = (uid: string): string => {
  const at = join(pods, `default_web_${uid}`);
  mkdirSync(at, { recursive: true });
  return at;
};

const describeHost = (): string[] =>
  readdirSync(host).map(
    (name) =>
      `${name} ${lstatSync(join(host, name)).ino} ${lstatSync(join(host, name)).mode} ${readFileSync(join(host, name), 'utf8').length}`,
  );

describe('logs that were swapped for links, pipes and folders', () => {
  test('are not rotated, compressed or removed into, and the log beside them is', async () => {
    const before = describeHost();
    const honest = join(podFolder('u0'), 'c');
    mkdirSync(honest);
    writeFileSync(join(honest, '0.log'), 'x'.repeat(500));
    // Names of rotated logs: the next ones to be compressed.
    symlinkSync(join(host, 'shadow'), join(honest, '0.log.20250101-000000'));
    execFileSync('mkfifo', [join(honest, '0.log.20250102-000000')]);
    mkdirSync(join(honest, '0.log.20250103-000000'));
    const linked = join(podFolder('u1'), 'c');
    mkdirSync(linked);
    symlinkSync(join(host, 'shadow'), join(linked, '0.log'));
    const elsewhere = join(podFolder('u2'), 'c');
    symlinkSync(host, elsewhere);
    symlinkSync(folder, join(pods, 'default_web_u3'));
    const log = recordingLog();
    const logPaths = [
      join(linked, '0.log'),
      join(elsewhere, '0.log'),
      join(pods, 'default_web_u3', 'host', '0.log'),
      join(honest, '0.log'),
    ];
    const rotation = new LogRotation({
      runtime: { reopenContainerLog: async (id) => writeFileSync(logPaths[Number(id)] as string, '') },
      files,
      running: () => logPaths.map((logPath, index) => ({ id: containerId(String(index)), logPath })),
      policy: { maxSizeBytes: 100, maxFiles: 5 },
      intervalMs: 10_000,
      workers: 1,
      world: { clock: systemClock, random: seededRandom(1), log },
    });
    rotation.start();
    // The last of the four, so all have been looked at.
    assert.ok(
      await waitUntil(() => existsSync(join(honest, '0.log')) && lstatSync(join(honest, '0.log')).size === 0, 5000, 5),
      'the honest log was not rotated',
    );
    await rotation.stop();
    assert.deepEqual(describeHost(), before);
    assert.equal(log.lines.filter(({ level }) => level === 'error').length, 3, JSON.stringify(log.lines));
    assert.deepEqual(
      readdirSync(honest).filter((name) => name.endsWith('.gz')),
      [],
    );
  });

  test('go with their pod and take nothing of the host with them', async () => {
    const before = describeHost();
    const pod = podFolder('u1');
    symlinkSync(host, join(pod, 'c'));
    mkdirSync(join(pod, 'd'));
    symlinkSync(join(host, 'shadow'), join(pod, 'd', '0.log'));
    symlinkSync(folder, join(pods, 'default_gone_u2'));
    const cleanup = new LogCleanup({
      files,
      log: recordingLog(),
      podLogsDir: pods,
      linksDir: join(folder, 'containers'),
    });
    const names = { namespace: 'default', name: 'web', uid: 'u1' };
    await cleanup.removeContainer(names, { id: 'abc', name: 'c', attempt: 0 });
    await cleanup.removeContainer(names, { id: 'def', name: 'd', attempt: 0 });
    await cleanup.sweepAttempts(names, ['c', 'd'], () => new Set([7, 8, 9]));
    await cleanup.removePod('u1', names, []);
    await cleanup.sweep(
      () => true,
      () => false,
    );
    assert.deepEqual(
      [describeHost(), existsSync(pod), existsSync(join(pods, 'default_gone_u2'))],
      [before, false, false],
    );
  });
});
