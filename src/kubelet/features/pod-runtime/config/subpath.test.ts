import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeMounts } from '../../../ports/testing/fake-mounts.ts';
import { prepareSubPath } from './subpath.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { Harness } from '../testing/harness.ts';

function world() {
  const files = new FakeHostFiles(new FakeClock());
  files.seed({ '/etc/passwd': 'root', '/pods/u/volumes/v/..2026/key': 'value', '/pods/u/volumes/v/dir/file': 'inner' });
  const mounts = new FakeMounts(files);
  const log = recordingLog();
  const prepare = (subPath: string, index = 0): Promise<string> =>
    prepareSubPath(
      { mounts, log },
      { podDir: '/pods/u', container: 'app', index, volume: 'v', volumePath: '/pods/u/volumes/v', subPath },
    );
  return { files, mounts, log, prepare };
}

describe('a part of a volume', () => {
  test('is mounted in the pod’s folder, at the path of upstream, and read from there', async () => {
    const { files, prepare } = world();
    await files.symlink('..2026', '/pods/u/volumes/v/..data');
    await files.symlink('..data/key', '/pods/u/volumes/v/key');
    assert.deepEqual(
      [await prepare('dir', 0), await prepare('key', 2)],
      ['/pods/u/volume-subpaths/v/app/0', '/pods/u/volume-subpaths/v/app/2'],
    );
    assert.deepEqual(
      [files.peek('/pods/u/volume-subpaths/v/app/0/file'), files.peek('/pods/u/volume-subpaths/v/app/2')],
      ['inner', 'value'],
    );
  });

  test('stays when the container starts again, and follows a path that has changed by then', async () => {
    const { files, mounts, prepare } = world();
    await prepare('dir');
    await prepare('dir');
    assert.equal(mounts.mounted.length, 1);
    await files.rename('/pods/u/volumes/v/dir', '/pods/u/volumes/v/was');
    await files.makeDirectory('/pods/u/volumes/v/dir', 0o755);
    await files.writeFile('/pods/u/volumes/v/dir/file', 'second', 0o644);
    await prepare('dir');
    assert.deepEqual([mounts.mounted.length, files.peek('/pods/u/volume-subpaths/v/app/0/file')], [1, 'second']);
  });

  test('that leads to the host, cannot be created or cannot be checked is refused without details of the host', async () => {
    const { files, mounts, log, prepare } = world();
    await files.symlink('/etc', '/pods/u/volumes/v/out');
    await files.symlink('gone', '/pods/u/volumes/v/dangling');
    await assert.rejects(prepare('out/passwd'), {
      kind: 'Invalid',
      message: 'failed to prepare subPath for volumeMount "v" of container "app"',
    });
    await assert.rejects(prepare('dangling'), {
      kind: 'Invalid',
      message: 'failed to create subPath directory for volumeMount "v" of container "app"',
    });
    mounts.fail('bindBeneath', {
      below: '/pods',
      kind: 'Timeout',
      message: 'nfs.example.com does not answer',
      times: 1,
    });
    await assert.rejects(prepare('dir'), {
      kind: 'Invalid',
      message: 'failed to prepare subPath for volumeMount "v" of container "app"',
    });
    assert.deepEqual([log.lines.filter(({ level }) => level === 'error').length, mounts.mounted], [3, []]);
    assert.match(JSON.stringify(log.lines), /nfs\.example\.com does not answer/);
  });

  test('delays its own container, with a reason, until it can be mounted', async () => {
    const harness = new Harness();
    harness.files.seed({ '/vol/f': 'x' });
    await harness.files.symlink('/etc', '/vol/out');
    harness.volumes = async () =>
      new Map([['v', { name: 'v', hostPath: '/vol', readOnly: false, selinuxRelabel: false }]]);
    const pod = aPod({
      containers: [
        aContainer('app', { volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'out' }] }),
        aContainer('log', { volumeMounts: [{ name: 'v', mountPath: '/data', subPath: 'f' }] }),
      ],
      volumes: [{ name: 'v', emptyDir: {} }],
    });
    await harness.sync(pod);
    assert.deepEqual(harness.containers, ['log#0 running']);
    assert.ok(
      harness.events.includes(
        'Warning Failed Error: failed to prepare subPath for volumeMount "v" of container "app" [app]',
      ),
      harness.events.join('\n'),
    );
    await harness.files.remove('/vol/out');
    await harness.files.makeDirectory('/vol/out', 0o755);
    await harness.sync(pod);
    assert.deepEqual(harness.containers.toSorted(), ['app#0 running', 'log#0 running']);
    const mounts = harness.runtime
      .containers()
      .flatMap(({ config }) => config.mounts ?? [])
      .filter(({ containerPath }) => containerPath === '/data')
      .map(({ hostPath }) => hostPath);
    assert.deepEqual(mounts.toSorted(), [
      `/var/lib/kubelet/pods/${pod.metadata.uid}/volume-subpaths/v/app/0`,
      `/var/lib/kubelet/pods/${pod.metadata.uid}/volume-subpaths/v/log/0`,
    ]);
  });
});
