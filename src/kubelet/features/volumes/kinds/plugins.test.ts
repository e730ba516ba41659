import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorMessage } from '../../../../base/errors.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import type { Volume } from '../../../../api/core/volume.ts';
import { computeTmpfsSizeBytes } from './tmpfs.ts';
import { nestedMountPoints } from '../objects/nested-mounts.ts';
import { configMap, secret, testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

/** The error of the first attempt, undefined when the volume was set up. */
async function firstError(
  world: ReturnType<typeof volumeWorld>,
  volume: Volume,
  spec: Partial<PodSpec> = {},
): Promise<string | undefined> {
  const stop = new AbortController();
  const waiting = world.manager.ensure(testPod('u1', [volume], spec), stop.signal).then(
    () => undefined,
    (error: unknown) => errorMessage(error),
  );
  await world.clock.settle();
  stop.abort();
  await waiting;
  return world.events[0]?.replace(/^.*MountVolume.SetUp failed for volume "[^"]*" : /, '');
}

const MIB = 2 ** 20;

test("hostPath type checks fail with upstream's messages", async () => {
  const cases: [string, string, string | undefined][] = [
    ['Directory', '/file', 'hostPath type check failed: /file is not a directory'],
    ['Directory', '/none', 'hostPath type check failed: /none is not a directory'],
    ['DirectoryOrCreate', '/file', 'hostPath type check failed: /file is not a directory'],
    ['DirectoryOrCreate', '/made/deep', undefined],
    ['File', '/dir', 'hostPath type check failed: /dir is not a file'],
    ['FileOrCreate', '/dir', 'hostPath type check failed: /dir is not a file'],
    ['FileOrCreate', '/dir/made', undefined],
    ['Socket', '/file', 'hostPath type check failed: /file is not a socket file'],
    ['Socket', '/sock', undefined],
    ['CharDevice', '/block', 'hostPath type check failed: /block is not a character device'],
    ['BlockDevice', '/block', undefined],
    ['BlockDevice', '/char', 'hostPath type check failed: /char is not a block device'],
    ['File', '/link', undefined],
    ['', '/none', undefined],
    ['', '/a/../etc', "invalid HostPath `/a/../etc`: must not contain '..'"],
  ];
  for (const [type, path, expected] of cases) {
    const world = volumeWorld();
    world.files.seed({ '/file': 'content', '/dir/x': '' });
    world.files.seed({ '/sock': 'socket', '/char': 'char', '/block': 'block' }, true);
    await world.files.symlink('/file', '/link');
    assert.equal(
      await firstError(world, { name: 'h', hostPath: { path, type: type as 'File' } }),
      expected,
      `${type} ${path}`,
    );
    assert.equal(world.files.peek('/file'), 'content');
  }
});

test('hostPath creates folders with 0755 and files with 0644', async () => {
  const world = volumeWorld();
  world.files.seed({ '/dir/x': '' });
  await world.manager.ensure(
    testPod('u1', [
      { name: 'd', hostPath: { path: '/dir/d', type: 'DirectoryOrCreate' } },
      { name: 'f', hostPath: { path: '/dir/f', type: 'FileOrCreate' } },
    ]),
  );
  assert.deepEqual(
    [
      (await world.files.lstat('/dir/d'))?.mode,
      (await world.files.lstat('/dir/f'))?.mode,
      (await world.files.lstat('/dir/f'))?.type,
    ],
    [0o755, 0o644, 'file'],
  );
});

test('a host path on a dead mount is reported as not responding', async () => {
  const world = volumeWorld();
  world.files.fail('stat', { below: '/nfs', kind: 'Timeout', message: 'no answer within 5000 ms' });
  assert.match(
    (await firstError(world, { name: 'h', hostPath: { path: '/nfs/a', type: 'Directory' } })) ?? '',
    /no answer/,
  );
});

test('the size of a tmpfs is the smallest of node, pod and sizeLimit', () => {
  const limited: Partial<PodSpec> = {
    containers: [
      { name: 'a', image: 'x', resources: { limits: { memory: '64Mi' } } },
      { name: 'b', image: 'x', resources: { limits: { memory: '32Mi' } } },
    ],
  };
  const half: Partial<PodSpec> = {
    containers: [
      { name: 'a', image: 'x', resources: { limits: { memory: '64Mi' } } },
      { name: 'b', image: 'x' },
    ],
  };
  const size = (spec: Partial<PodSpec>, sizeLimit?: string, node = 1024 * MIB): number | undefined => {
    const bytes = computeTmpfsSizeBytes(testPod('u', [], spec), sizeLimit, node);
    return bytes === undefined ? undefined : bytes / MIB;
  };
  assert.deepEqual(
    [
      size({}),
      size(limited),
      size(half),
      size(limited, '10Mi'),
      size(limited, '1Gi'),
      size({}, '2Gi'),
      size({}, '0'),
      size({}, undefined, 0),
    ],
    [1024, 96, 1024, 10, 96, 1024, 1024, undefined],
  );
});

test('medium Memory is kept out of swap, and if that is not possible, it is reported once', async () => {
  const world = volumeWorld();
  await world.manager.ensure(testPod('u1', [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }]));
  assert.deepEqual(
    world.mounts.mounted.map((mount) => mount.options),
    [{ noswap: true, sizeBytes: MIB }],
  );
  assert.deepEqual(world.events, []);
  const swapping = volumeWorld();
  swapping.mounts.noswapSupported = false;
  swapping.files.seed({ '/proc/swaps': 'Filename Type\n/dev/sda2 partition\n' });
  await swapping.manager.ensure(
    testPod('u1', [
      { name: 'm', emptyDir: { medium: 'Memory' } },
      { name: 'n', emptyDir: { medium: 'Memory' } },
    ]),
  );
  await swapping.manager.ensure(testPod('u2', [{ name: 'm', emptyDir: { medium: 'Memory' } }]));
  assert.deepEqual(swapping.events, [
    'node Warning PossibleMemoryBackedVolumesOnDisk The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
  ]);
});

test('unavailable media are rejected with a clear reason', async () => {
  assert.equal(
    await firstError(volumeWorld(), { name: 'm', emptyDir: { medium: 'HugePages-2Mi' } }),
    'medium HugePages-2Mi: hugePages storage requested, but there is no resource request for huge pages',
  );
  assert.equal(
    await firstError(volumeWorld(), { name: 'm', emptyDir: { medium: 'Floppy' } }),
    'unknown storage medium "Floppy"',
  );
});

test('fsGroup owns an emptyDir, files made in it inherit the group, and later content is not changed', async () => {
  const world = volumeWorld();
  const pod = testPod('u1', [{ name: 'e', emptyDir: {} }], { securityContext: { fsGroup: 1000 } });
  await world.manager.ensure(pod);
  const path = volumePath('u1', 'empty-dir', 'e');
  const { gid, mode } = (await world.files.lstat(path)) ?? {};
  assert.deepEqual([gid, mode], [1000, 0o2777]);
  await world.files.writeFile(`${path}/private`, 'x', 0o600);
  await world.restart().ensure(pod);
  assert.equal((await world.files.lstat(`${path}/private`))?.mode, 0o600);
});

test('items select keys, paths and modes; defaultMode applies to the rest', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', { ...configMap('c', { a: '1', b: '2' }), binaryData: { z: 'AAH/' } });
  await world.manager.ensure(
    testPod('u1', [
      {
        name: 'c',
        configMap: {
          name: 'c',
          defaultMode: 0o440,
          items: [
            { key: 'a', path: 'x/y' },
            { key: 'z', path: 'z', mode: 0o400 },
          ],
        },
      },
    ]),
  );
  const path = volumePath('u1', 'configmap', 'c');
  assert.deepEqual(
    [
      world.files.peek(`${path}/x/y`),
      (await world.files.stat(`${path}/x/y`))?.mode,
      [...(await world.files.readBytes(`${path}/z`))],
      (await world.files.stat(`${path}/z`))?.mode,
      await world.files.lstat(`${path}/b`),
    ],
    ['1', 0o440, [0, 1, 255], 0o400, undefined],
  );
});

test("missing keys and objects fail unless optional, in upstream's words", async () => {
  const withObjects = (): ReturnType<typeof volumeWorld> => {
    const world = volumeWorld();
    world.objects.set('ConfigMap', configMap('c', { a: '1' }));
    world.objects.set('Secret', secret('s', { a: '1' }));
    return world;
  };
  const items = [{ key: 'none', path: 'p' }];
  assert.equal(
    await firstError(withObjects(), { name: 'v', configMap: { name: 'c', items } }),
    'configmap references non-existent config key: none',
  );
  assert.equal(
    await firstError(withObjects(), { name: 'v', secret: { secretName: 's', items } }),
    'references non-existent secret key: none',
  );
  assert.equal(
    await firstError(withObjects(), { name: 'v', secret: { secretName: 'none' } }),
    'secret "none" not found',
  );
  assert.equal(
    await firstError(withObjects(), { name: 'v', configMap: { name: 'c', items, optional: true } }),
    undefined,
  );
  assert.equal(
    await firstError(withObjects(), { name: 'v', secret: { secretName: 'none', optional: true } }),
    undefined,
  );
});

test('a malicious item path is rejected', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { a: '1' }));
  assert.equal(
    await firstError(world, {
      name: 'v',
      configMap: { name: 'c', items: [{ key: 'a', path: '../../../../etc/cron.d/x' }] },
    }),
    "invalid path: must not contain '..': ../../../../etc/cron.d/x",
  );
});

test("projected volumes merge their sources; downwardAPI files follow the pod's labels", async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { a: '1' }));
  world.objects.set('Secret', secret('s', { p: 'w' }));
  const sources = [
    { configMap: { name: 'c' } },
    { secret: { name: 's', items: [{ key: 'p', path: 'sec/p' }] } },
    {
      downwardAPI: {
        items: [
          { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
          { path: 'app', fieldRef: { fieldPath: "metadata.labels['app']" } },
        ],
      },
    },
  ];
  const pod = testPod('u1', [{ name: 'all', projected: { sources } }]);
  const labelled = (labels: Record<string, string>) => ({ ...pod, metadata: { ...pod.metadata, labels } });
  await world.manager.ensure(labelled({ b: '2', app: 'web' }));
  const path = volumePath('u1', 'projected', 'all');
  assert.deepEqual(
    ['a', 'sec/p', 'labels', 'app'].map((name) => world.files.peek(`${path}/${name}`)),
    ['1', 'w', 'app="web"\nb="2"', 'web'],
  );
  await world.manager.ensure(labelled({ app: 'api' }));
  await world.clock.settle();
  assert.equal(world.files.peek(`${path}/app`), 'api');
});

test('a volume mounted inside a read-only one gets its mount point created', () => {
  const pod = testPod('u', [], {
    containers: [
      {
        name: 'm',
        image: 'x',
        volumeMounts: [
          { name: 'c', mountPath: '/etc/app/' },
          { name: 'e', mountPath: '/etc/app/cache/deep' },
          { name: 'f', mountPath: '/etc/application' },
        ],
      },
    ],
  });
  assert.deepEqual(nestedMountPoints(pod, 'c'), ['cache/deep']);
  assert.deepEqual(nestedMountPoints(pod, 'e'), []);
});
