import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodSecurityContext } from '../../../api/core/security-context.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { HostFiles, OwnershipOutcome } from '../../ports/host-files.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { testPod } from './testing/volume-world.ts';
import { applyFsGroup } from './volume-ownership.ts';

const V = '/pods/u1/volumes/kubernetes.io~csi/v/mount';

function world(securityContext: PodSecurityContext) {
  const clock = new FakeClock();
  const files = new FakeHostFiles(clock);
  files.seed({ [`${V}/dir/file`]: 'x', '/etc/passwd': 'root' });
  const events: string[] = [];
  const log = recordingLog();
  const recorder = {
    event: (_pod: unknown, type: string, reason: string, message: string) =>
      void events.push(`${type} ${reason} ${message}`),
  };
  const pod = testPod('u1', [], { securityContext });
  const apply = (own: Pick<HostFiles, 'lstat' | 'giveToGroup'> = files): Promise<void> =>
    applyFsGroup({ files: own, clock, log, recorder }, pod, V);
  const seen = async (name = ''): Promise<string> => {
    const info = await files.lstat(`${V}${name}`);
    return `${info?.gid} ${info?.mode.toString(8)}`;
  };
  return { clock, files, events, log, apply, seen };
}

test('a volume belongs to the pod’s group with all that is in it; what the agent makes later inherits it', async () => {
  const { files, apply, seen } = world({ fsGroup: 2000 });
  await files.symlink('/etc/passwd', `${V}/link`);
  await apply();
  assert.deepEqual(
    [await seen(), await seen('/dir'), await seen('/dir/file'), (await files.lstat(`${V}/link`))?.gid],
    ['2000 2775', '2000 2775', '2000 664', 2000],
  );
  assert.deepEqual([(await files.lstat('/etc/passwd'))?.gid, (await files.lstat('/etc/passwd'))?.mode], [0, 0o644]);
});

test('without a group nothing is touched', async () => {
  const { files, apply } = world({});
  await apply();
  assert.deepEqual(
    files.calls.filter((call) => call.startsWith('giveToGroup')),
    [],
  );
});

test('OnRootMismatch does not change a volume whose root is right, whatever is below; Always does', async () => {
  const cases: [PodSecurityContext['fsGroupChangePolicy'], string][] = [
    ['OnRootMismatch', '0 600'],
    ['Always', '2000 660'],
    [undefined, '2000 660'],
  ];
  for (const [fsGroupChangePolicy, expected] of cases) {
    const { files, apply, seen } = world({
      fsGroup: 2000,
      ...(fsGroupChangePolicy === undefined ? {} : { fsGroupChangePolicy }),
    });
    await files.chown(V, -1, 2000);
    await files.chmod(V, 0o2770);
    await files.chmod(`${V}/dir/file`, 0o600);
    await apply();
    assert.equal(await seen('/dir/file'), expected, fsGroupChangePolicy ?? 'unset');
  }
});

test('OnRootMismatch works when the root has another group, lacks a bit of the group’s, or is not set-group-id', async () => {
  for (const [gid, mode] of [
    [0, 0o2770],
    [2000, 0o770],
    [2000, 0o2750],
    [2000, 0o2760],
  ] as const) {
    const { files, apply, seen } = world({ fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' });
    await files.chown(V, -1, gid);
    await files.chmod(V, mode);
    await apply();
    assert.equal(await seen('/dir/file'), '2000 664', `${gid} ${mode.toString(8)}`);
  }
});

test('a slow ownership change is reported after 30 s, then each minute with the number of files, until it ends', async () => {
  const { clock, events, apply } = world({ fsGroup: 2000 });
  let finish = (_outcome: OwnershipOutcome): void => undefined;
  const slow = {
    lstat: async () => undefined,
    giveToGroup: (_path: string, _group: unknown, onProgress?: (entries: number) => void) => {
      clock.setTimer(80_000, () => onProgress?.(123_456));
      return new Promise<OwnershipOutcome>((resolve) => (finish = resolve));
    },
  };
  const work = apply(slow);
  await clock.advance(29_999);
  assert.deepEqual(events, []);
  await clock.advance(60_001);
  const shown = 'u1/volumes/kubernetes.io~csi/v/mount';
  assert.deepEqual(events, [
    `Warning VolumePermissionChangeInProgress Setting volume ownership for ${shown} is taking longer than expected, consider using OnRootMismatch - https://kubernetes.io/docs/tasks/configure-pod-container/security-context/#configure-volume-permission-and-ownership-change-policy-for-pods`,
    `Warning VolumePermissionChangeInProgress Setting volume ownership for ${shown}, processed 123456 files.`,
  ]);
  finish({ entries: 200_000, refused: 0 });
  await work;
  await clock.advance(600_000);
  assert.equal(events.length, 2);
});

test('files that cannot be changed are logged, and stop nothing', async () => {
  const { apply, log } = world({ fsGroup: 2000 });
  await apply({
    lstat: async () => undefined,
    giveToGroup: async () => ({ entries: 5, refused: 2, firstError: 'change group: operation not permitted' }),
  });
  assert.deepEqual(
    log.lines.map(({ level, message }) => `${level} ${message}`),
    ['error some files of a volume keep their group or mode'],
  );
});
