// Modes, item selections and optional sources, for each kind of volume that shows objects or fields of the pod.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Volume } from '../../../../api/core/volume.ts';
import { configMap, secret, testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const objects = (): ReturnType<typeof volumeWorld> => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('c', { a: '1', b: '2' }));
  world.objects.set('Secret', secret('s', { p: 'w', q: 'x' }));
  return world;
};

/** The files of a volume: content and mode by name; undefined where there is none. */
async function shown(
  volume: Volume,
  folder: string,
  names: readonly string[],
  world = objects(),
): Promise<(string | undefined)[]> {
  const pod = testPod('u1', [volume], {
    containers: [
      { name: 'main', image: 'x', resources: { limits: { cpu: '2' } }, volumeMounts: [{ name: 'v', mountPath: '/v' }] },
      { name: 'free', image: 'x' },
    ],
  });
  await world.manager.ensure({ ...pod, metadata: { ...pod.metadata, labels: { app: 'web' } } });
  const at = volumePath('u1', folder, 'v');
  return Promise.all(
    names.map(async (name) =>
      (await world.files.lstat(`${at}/${name}`)) === undefined
        ? undefined
        : `${world.files.peek(`${at}/${name}`)} ${(await world.files.stat(`${at}/${name}`))?.mode.toString(8)}`,
    ),
  );
}

test('a file has the mode of its item, else the default of its volume, else 0644', async () => {
  const labels = { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } };
  const items = [labels, { ...labels, path: 'own', mode: 0o400 }];
  assert.deepEqual(await shown({ name: 'v', configMap: { name: 'c', defaultMode: 0o600 } }, 'configmap', ['a']), [
    '1 600',
  ]);
  assert.deepEqual(
    await shown(
      {
        name: 'v',
        secret: {
          secretName: 's',
          defaultMode: 0o440,
          items: [
            { key: 'p', path: 'p' },
            { key: 'q', path: 'q', mode: 0o404 },
          ],
        },
      },
      'secret',
      ['p', 'q'],
    ),
    ['w 440', 'x 404'],
  );
  assert.deepEqual(
    await shown({ name: 'v', downwardAPI: { items, defaultMode: 0o604 } }, 'downward-api', ['labels', 'own']),
    ['app="web" 604', 'app="web" 400'],
  );
  assert.deepEqual(await shown({ name: 'v', downwardAPI: { items } }, 'downward-api', ['labels']), ['app="web" 644']);
  const sources = [
    {
      configMap: {
        name: 'c',
        items: [
          { key: 'a', path: 'a' },
          { key: 'b', path: 'deep/b', mode: 0o600 },
        ],
      },
    },
    { secret: { name: 's' } },
    { downwardAPI: { items } },
  ];
  assert.deepEqual(
    await shown({ name: 'v', projected: { sources, defaultMode: 0o640 } }, 'projected', [
      'a',
      'b',
      'deep/b',
      'p',
      'labels',
      'own',
    ]),
    ['1 640', undefined, '2 600', 'w 640', 'app="web" 640', 'app="web" 400'],
  );
});

test('a file shows the resources of a container, divided by the divisor', async () => {
  const of = (path: string, resource: string, divisor?: string) => ({
    path,
    resourceFieldRef: { containerName: 'main', resource, ...(divisor === undefined ? {} : { divisor }) },
  });
  assert.deepEqual(
    await shown(
      { name: 'v', downwardAPI: { items: [of('cpus', 'limits.cpu'), of('millis', 'limits.cpu', '1m')] } },
      'downward-api',
      ['cpus', 'millis'],
    ),
    ['2 644', '2000 644'],
  );
});

test('a container without limits sees the allocatable of the node, in a projected volume too', async () => {
  const items = ['cpu', 'memory', 'ephemeral-storage'].map((name) => ({
    path: name,
    resourceFieldRef: {
      containerName: 'free',
      resource: `limits.${name}`,
      ...(name === 'cpu' ? { divisor: '1m' } : { divisor: '1Gi' }),
    },
  }));
  const paths = ['cpu', 'memory', 'ephemeral-storage'];
  assert.deepEqual(await shown({ name: 'v', downwardAPI: { items } }, 'downward-api', paths), [
    '3500 644',
    '8 644',
    '50 644',
  ]);
  assert.deepEqual(
    await shown({ name: 'v', projected: { sources: [{ downwardAPI: { items } }] } }, 'projected', paths),
    ['3500 644', '8 644', '50 644'],
  );
});

test('optional objects and keys may be missing; the rest of the volume is set up', async () => {
  const sources = [
    { configMap: { name: 'none', optional: true } },
    { secret: { name: 'none', optional: true } },
    {
      configMap: {
        name: 'c',
        optional: true,
        items: [
          { key: 'none', path: 'none' },
          { key: 'a', path: 'a' },
        ],
      },
    },
  ];
  assert.deepEqual(await shown({ name: 'v', projected: { sources } }, 'projected', ['a', 'none']), [
    '1 644',
    undefined,
  ]);
  assert.deepEqual(await shown({ name: 'v', configMap: { name: 'none', optional: true } }, 'configmap', ['a']), [
    undefined,
  ]);
  assert.deepEqual(
    await shown(
      {
        name: 'v',
        secret: {
          secretName: 's',
          optional: true,
          items: [
            { key: 'none', path: 'none' },
            { key: 'p', path: 'p' },
          ],
        },
      },
      'secret',
      ['p', 'none'],
    ),
    ['w 644', undefined],
  );
});

test('missing required sources keep the pod waiting, and all of them are reported', async () => {
  const world = objects();
  const sources = [
    { configMap: { name: 'none' } },
    { secret: { name: 'gone', optional: false } },
    { podCertificate: { signerName: 'example.com/s', keyType: 'ED25519', keyPath: 'key' } },
  ];
  void world.manager.ensure(testPod('u1', [{ name: 'v', projected: { sources } }])).catch(() => undefined);
  await world.clock.settle();
  assert.match(
    world.events[0] ?? '',
    /: \[configmap "none" not found, secret "gone" not found, unimplemented: the feature gate PodCertificateRequest is off\]$/,
  );
});
