import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { seededRandom } from '../../../src/base/random.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { errorKind } from '../../../src/base/errors.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { GuardedFiles } from '../../../src/kubelet/adapters/files/linux-files-guarded.ts';
import { LinuxFiles } from '../../../src/kubelet/adapters/files/linux-files.ts';
import { LinuxMounts } from '../../../src/kubelet/adapters/files/linux-mounts.ts';
import { linuxProcesses } from '../../../src/kubelet/adapters/process/linux-processes.ts';
import { createVolumeManager } from '../../../src/kubelet/features/volumes/create-volume-manager.ts';
import { podUid } from '../../../src/kubelet/model/ids.ts';
import { mountsContract } from '../../../src/kubelet/ports/testing/mounts-contract.ts';

const mounts = new LinuxMounts();
const files = new LinuxFiles();

async function cleanUp(folder: string): Promise<void> {
  for (const { path: at } of (await mounts.listBelow(folder)).reverse()) await mounts.unmount(at);
  await rm(folder, { recursive: true, force: true });
}

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(path.join(tmpdir(), 'kubelet-mounts-'));
  try {
    await body(folder);
  } finally {
    await cleanUp(folder);
  }
}

mountsContract('the kernel of this machine', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'kubelet-mounts-'));
  return { mounts, files, root, end: () => cleanUp(root) };
});

test('a root directory that is a symlink hides no mount: nothing mounted is ever removed into, and all of it is unmounted', async () => {
  await inFolder(async (folder) => {
    await mkdir(`${folder}/disk/pods/u/v`, { recursive: true });
    await mkdir(`${folder}/precious`);
    await writeFile(`${folder}/precious/data`, 'kept');
    await symlink('disk', `${folder}/kubelet`);
    const volume = `${folder}/kubelet/pods/u/v`;
    await mounts.bind(`${folder}/precious`, volume, { readOnly: false });
    assert.deepEqual(
      (await mounts.listBelow(`${folder}/kubelet`)).map(({ path: at }) => at),
      [volume],
    );
    for (const at of [volume, `${folder}/kubelet/pods/u`])
      await assert.rejects(files.removeTree(at), (error) => errorKind(error) === 'Unavailable', at);
    assert.deepEqual(
      await mounts.bindBeneath({ root: volume, subPath: 'data', target: `${folder}/kubelet/pods/u/sub/0` }),
      { kind: 'mounted', reused: false },
    );
    assert.deepEqual(
      await mounts.bindBeneath({ root: volume, subPath: 'data', target: `${folder}/kubelet/pods/u/sub/0` }),
      { kind: 'mounted', reused: true },
    );
    await mounts.unmount(`${folder}/kubelet/pods/u/sub/0`);
    await mounts.unmount(volume);
    assert.deepEqual(await mounts.listBelow(folder), []);
    await files.removeTree(`${folder}/kubelet/pods/u`);
    assert.equal(await files.readText(`${folder}/precious/data`), 'kept');
  });
});

test('a full file system is Unavailable with a clear text, and an atomic write on it leaves the old content', async () => {
  await inFolder(async (folder) => {
    await mounts.mountTmpfs(folder, { sizeBytes: 64 * 1024 });
    await files.writeFileAtomic(`${folder}/state`, 'old', 0o600);
    await assert.rejects(
      files.writeFileAtomic(`${folder}/state`, 'x'.repeat(256 * 1024), 0o600),
      (error) => errorKind(error) === 'Unavailable' && /no space left on device/.test((error as Error).message),
    );
    assert.deepEqual([await files.readText(`${folder}/state`), await files.list(folder)], ['old', ['state']]);
  });
});

test('a file system that became read-only is Unavailable with a clear text', async () => {
  await inFolder(async (folder) => {
    await mounts.mountTmpfs(folder, {});
    execFileSync('mount', ['-o', 'remount,ro', folder]);
    await assert.rejects(
      files.writeFile(`${folder}/a`, 'x', 0o600),
      (error) => errorKind(error) === 'Unavailable' && /read-only file system/.test((error as Error).message),
    );
  });
});

test('the guard answers like the plain files on local paths, through symlinks and for what is missing', async () => {
  await inFolder(async (folder) => {
    const guarded = new GuardedFiles();
    await mkdir(`${folder}/d/e`, { recursive: true });
    await writeFile(`${folder}/d/f`, 'abc');
    await symlink('d', `${folder}/relative`);
    await symlink(`${folder}/relative/f`, `${folder}/absolute`);
    for (const name of ['d', 'd/f', 'relative', 'relative/f', 'absolute', 'none', 'none/x', 'd/f/x']) {
      assert.deepEqual(await guarded.stat(`${folder}/${name}`), await files.stat(`${folder}/${name}`), name);
      assert.deepEqual(await guarded.lstat(`${folder}/${name}`), await files.lstat(`${folder}/${name}`), name);
    }
    assert.deepEqual(await guarded.list(`${folder}/relative`), ['e', 'f']);
  });
});

test('volumes on the real host: tmpfs sized, files shown, nothing left after the pod, a second agent remounts nothing', async () => {
  const objects = {
    ConfigMap: { metadata: { name: 'c', namespace: 'n', uid: '' }, data: { key: 'value' } },
    Secret: {
      metadata: { name: 's', namespace: 'n', uid: '' },
      data: { password: Buffer.from('word').toString('base64') },
    },
  };
  await inFolder(async (folder) => {
    const start = () =>
      createVolumeManager({
        rootDir: folder,
        files,
        guardedFiles: new GuardedFiles(),
        mounts,
        objects: {
          get: (kind) => objects[kind === 'Secret' ? 'Secret' : 'ConfigMap'] as never,
          list: () => [],
          onChange: () => () => undefined,
        },
        processes: linuxProcesses,
        tokens: { get: () => assert.fail('no token was asked for'), forget: () => undefined },
        standalone: true,
        driverDir: '/nowhere',
        node: () => ({ name: 'n', labels: {} }),
        clock: systemClock,
        random: seededRandom(1),
        log: silentLogger,
        recorder: {
          event: (_pod, _type, _reason, message) => assert.fail(message),
          nodeEvent: (_type, _reason, message) => assert.fail(message),
        },
        nodeAllocatable: () => ({ memory: '1Gi' }),
      });
    const pod = {
      metadata: { name: 'p', namespace: 'n', uid: 'u1' },
      spec: {
        containers: [
          {
            name: 'm',
            image: 'x',
            volumeMounts: ['e', 'm', 'c', 's', 'h'].map((name) => ({ name, mountPath: `/${name}` })),
          },
        ],
        securityContext: { fsGroup: 1234 },
        volumes: [
          { name: 'e', emptyDir: {} },
          { name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
          { name: 'c', configMap: { name: 'c' } },
          { name: 's', secret: { secretName: 's', defaultMode: 0o400 } },
          { name: 'h', hostPath: { path: '/dev/null', type: 'CharDevice' as const } },
        ],
      },
    };
    const startMs = performance.now();
    const volumes = await start().ensure(pod);
    console.log(`# five volumes in ${(performance.now() - startMs).toFixed(1)} ms`);
    const at = (name: string): string => volumes.get(name)?.hostPath ?? '';
    assert.deepEqual(
      [
        await files.readText(`${at('c')}/key`),
        await files.readText(`${at('s')}/password`),
        (await files.stat(`${at('s')}/password`))?.mode,
      ],
      ['value', 'word', 0o440],
    );
    assert.deepEqual([(await files.stat(at('e')))?.mode, (await files.stat(at('e')))?.gid], [0o2777, 1234]);
    await assert.rejects(
      files.writeFile(`${at('m')}/big`, new Uint8Array(2 ** 21), 0o600),
      (error) => errorKind(error) === 'Unavailable',
    );
    const before = await mounts.listBelow(folder);
    assert.equal(before.length, 2);
    const second = start();
    await second.reconstruct();
    await second.ensure(pod);
    assert.deepEqual(await mounts.listBelow(folder), before);
    await second.tearDown(podUid('u1'));
    assert.deepEqual([await mounts.listBelow(folder), await files.list(`${folder}/pods`)], [[], []]);
  });
});
