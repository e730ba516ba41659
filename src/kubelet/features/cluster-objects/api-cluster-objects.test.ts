import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import {
  configMaps,
  persistentVolumeClaims,
  persistentVolumes,
  runtimeClasses,
  secrets,
  services,
} from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { ApiClusterObjects } from './api-cluster-objects.ts';
import { KeptObjects } from './kept-objects.ts';

const at = (name: string) => ({ namespace: 'default', name });
const meta = (name: string, namespace = 'default') => ({ name, namespace, uid: '' });
const away = new ApiStatusError('ServiceUnavailable', 'connect ECONNREFUSED');

function setUp({ strategy = 'Watch' as 'Watch' | 'Cache' | 'Get', disk = new Map<string, ApiObject>() } = {}) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const folder = {
    put: (key: string, value: unknown) => void disk.set(key, value as ApiObject),
    drop: (key: string) => void disk.delete(key),
  };
  const kept = new KeptObjects(folder, new Map(disk));
  const objects = new ApiClusterObjects({
    client: api,
    strategy,
    kept,
    clock,
    random: seededRandom(1),
    log: recordingLog(),
  });
  const changes: string[] = [];
  objects.onChange(({ kind, namespace, name }) => changes.push(`${kind} ${namespace}/${name}`));
  objects.start();
  const asked = (verb: string, plural: string): number =>
    api.calls.filter((call) => call.verb === verb && call.plural === plural).length;
  return { clock, api, disk, objects, changes, asked };
}

function podWith(uid: string, volumes: readonly object[], spec: object = {}): Pod {
  const pod = buildPod({ 'metadata.uid': uid, 'metadata.name': uid });
  return { ...pod, spec: { ...pod.spec, volumes, ...spec } } as Pod;
}

const showing = (uid: string, secret: string): Pod => podWith(uid, [{ name: 'v', secret: { secretName: secret } }]);
const naming = (uid: string, configMap: string): Pod =>
  podWith(uid, [], { containers: [{ name: 'main', image: 'x', envFrom: [{ configMapRef: { name: configMap } }] }] });
const valueOf = (object: unknown): unknown => (object as { data?: Record<string, string> } | undefined)?.data?.['key'];

describe('secrets and config maps that pods use', () => {
  it('secrets and config maps are watched one by one, from the first pod that uses them to the last, and no others', async () => {
    const { api, objects, clock } = setUp();
    api.seed(secrets, { metadata: meta('a'), data: { key: 'MQ==' } });
    api.seed(secrets, { metadata: meta('other') });
    objects.registerPod(showing('one', 'a'));
    objects.registerPod(showing('two', 'a'));
    await clock.settle();
    assert.equal(valueOf(await objects.get('Secret', 'default', 'a')), 'MQ==');
    const watched = (): number => api.openWatches.filter((plural) => plural === 'secrets').length;
    assert.equal(watched(), 1);
    objects.unregisterPod(showing('one', 'a'));
    await clock.settle();
    assert.equal(watched(), 1);
    objects.unregisterPod(showing('two', 'a'));
    await clock.settle();
    assert.equal(watched(), 0);
  });

  it('secrets and config maps report at once when they appear, change and vanish', async () => {
    const { api, objects, changes, clock } = setUp();
    objects.registerPod(showing('one', 'late'));
    await clock.settle();
    assert.deepEqual([await objects.get('Secret', 'default', 'late'), changes], [undefined, []]);
    await api.create(secrets, { metadata: meta('late'), data: { key: 'MQ==' } });
    await clock.settle();
    api.change(secrets, at('late'), (secret) => ({ ...secret, data: { key: 'Mg==' } }));
    await clock.settle();
    assert.equal(valueOf(await objects.get('Secret', 'default', 'late')), 'Mg==');
    await api.delete(secrets, at('late'));
    await clock.settle();
    assert.deepEqual(
      [changes, await objects.get('Secret', 'default', 'late')],
      [['Secret default/late', 'Secret default/late', 'Secret default/late'], undefined],
    );
  });

  it('secrets and config maps lose their watch when they are immutable, and stay known', async () => {
    const { api, objects, clock } = setUp();
    api.seed(secrets, { metadata: meta('fixed'), data: { key: 'MQ==' }, immutable: true });
    objects.registerPod(showing('one', 'fixed'));
    await clock.settle();
    assert.deepEqual(
      [valueOf(await objects.get('Secret', 'default', 'fixed')), api.openWatches.includes('secrets')],
      ['MQ==', false],
    );
    objects.registerPod(showing('two', 'fixed'));
    await clock.settle();
    assert.deepEqual(
      [valueOf(await objects.get('Secret', 'default', 'fixed')), api.openWatches.includes('secrets')],
      ['MQ==', false],
    );
  });

  it('secrets and config maps that only environments name lose their watch when they were not read for five minutes, and are read again on use; files keep theirs', async () => {
    const { api, objects, clock } = setUp();
    api.seed(configMaps, { metadata: meta('env'), data: { key: 'old' } });
    api.seed(secrets, { metadata: meta('file'), data: { key: 'MQ==' } });
    objects.registerPod(naming('one', 'env'));
    objects.registerPod(showing('two', 'file'));
    await objects.get('ConfigMap', 'default', 'env');
    await clock.advance(7 * 60_000);
    assert.deepEqual([api.openWatches.includes('configmaps'), api.openWatches.includes('secrets')], [false, true]);
    api.change(configMaps, at('env'), (configMap) => ({ ...configMap, data: { key: 'new' } }));
    assert.equal(valueOf(await objects.get('ConfigMap', 'default', 'env')), 'new');
  });

  it("secrets and config maps that do not arrive within a second give upstream's message, and a notification later", async () => {
    const { api, objects, changes, clock } = setUp();
    const outage = api.script(() => away);
    objects.registerPod(showing('one', 'a'));
    const asking = assert.rejects(objects.get('Secret', 'default', 'a'), {
      kind: 'Unavailable',
      message: 'failed to sync secret cache: timed out waiting for the condition',
    });
    await clock.advance(1_000);
    await asking;
    outage();
    api.seed(secrets, { metadata: meta('a') });
    changes.length = 0;
    await clock.advance(5_000);
    assert.deepEqual(
      changes.filter((change) => change.startsWith('Secret')),
      ['Secret default/a'],
    );
  });

  it('secrets and config maps that no pod names are read and not followed', async () => {
    const { api, objects, asked } = setUp();
    api.seed(secrets, { metadata: meta('driver'), data: { key: 'MQ==' } });
    assert.deepEqual(
      [valueOf(await objects.get('Secret', 'default', 'driver')), await objects.get('Secret', 'default', 'none')],
      ['MQ==', undefined],
    );
    assert.deepEqual([asked('get', 'secrets'), asked('watch', 'secrets')], [2, 0]);
  });

  it('secrets and config maps carry no managed fields', async () => {
    const { api, objects, clock } = setUp();
    api.seed(secrets, { metadata: { ...meta('a'), managedFields: [{ manager: 'kubectl' }] } } as never);
    objects.registerPod(showing('one', 'a'));
    await clock.settle();
    assert.equal((await objects.get('Secret', 'default', 'a'))?.metadata.managedFields, undefined);
  });
});

describe('the other strategies', () => {
  it('Cache reads once a minute, and again for a new pod', async () => {
    const { api, objects, asked, clock } = setUp({ strategy: 'Cache' });
    api.seed(configMaps, { metadata: meta('env'), data: { key: 'old' } });
    objects.registerPod(naming('one', 'env'));
    await objects.get('ConfigMap', 'default', 'env');
    await objects.get('ConfigMap', 'default', 'env');
    assert.equal(asked('get', 'configmaps'), 1);
    api.change(configMaps, at('env'), (configMap) => ({ ...configMap, data: { key: 'new' } }));
    objects.registerPod(naming('two', 'env'));
    assert.equal(valueOf(await objects.get('ConfigMap', 'default', 'env')), 'new');
    await clock.advance(61_000);
    await objects.get('ConfigMap', 'default', 'env');
    assert.deepEqual([asked('get', 'configmaps'), asked('watch', 'configmaps')], [3, 0]);
  });

  it('Get reads each time, and uses the last answer while the server is unavailable', async () => {
    const { api, objects, asked } = setUp({ strategy: 'Get' });
    api.seed(configMaps, { metadata: meta('env'), data: { key: 'old' } });
    objects.registerPod(naming('one', 'env'));
    await objects.get('ConfigMap', 'default', 'env');
    await objects.get('ConfigMap', 'default', 'env');
    assert.equal(asked('get', 'configmaps'), 2);
    api.script(() => away);
    assert.equal(valueOf(await objects.get('ConfigMap', 'default', 'env')), 'old');
  });

  it('poll what is shown as files, and report changes', async () => {
    const { api, objects, changes, clock } = setUp({ strategy: 'Get' });
    api.seed(secrets, { metadata: meta('a'), data: { key: 'MQ==' } });
    objects.registerPod(showing('one', 'a'));
    await objects.get('Secret', 'default', 'a');
    assert.deepEqual(changes, []);
    api.change(secrets, at('a'), (secret) => ({ ...secret, data: { key: 'Mg==' } }));
    await clock.advance(100_000);
    assert.deepEqual(changes, ['Secret default/a']);
  });
});

describe('claims and volumes', () => {
  const claimed = podWith('one', [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }]);
  const claim = (volumeName: string): PersistentVolumeClaim =>
    ({
      metadata: meta('data'),
      spec: { volumeName },
      status: { phase: volumeName === '' ? 'Pending' : 'Bound' },
    }) as PersistentVolumeClaim;
  const volume = { metadata: meta('pv', ''), spec: { capacity: { storage: '1Gi' } } } as unknown as PersistentVolume;

  it('are only read, never watched or listed: a node may not do that', async () => {
    const { api, objects, clock } = setUp();
    api.seed(persistentVolumeClaims, claim('pv'));
    api.seed(persistentVolumes, volume);
    objects.registerPod(claimed);
    assert.equal((await objects.get('PersistentVolumeClaim', 'default', 'data'))?.spec.volumeName, 'pv');
    assert.equal((await objects.get('PersistentVolume', '', 'pv'))?.metadata.name, 'pv');
    await clock.advance(300_000);
    assert.deepEqual(
      api.calls.filter(({ plural, verb }) => plural.startsWith('persistentvolume') && verb !== 'get'),
      [],
    );
  });

  it('that are bound are not polled more often because another is not', async () => {
    const { api, objects, clock } = setUp();
    api.seed(persistentVolumes, volume);
    api.seed(persistentVolumeClaims, claim('pv'));
    api.seed(persistentVolumeClaims, { ...claim(''), metadata: meta('late') });
    objects.registerPod(claimed);
    objects.registerPod(podWith('two', [{ name: 'v', persistentVolumeClaim: { claimName: 'late' } }]));
    await clock.advance(1_000);
    for (const name of ['data', 'late']) await objects.get('PersistentVolumeClaim', 'default', name);
    await objects.get('PersistentVolume', '', 'pv');
    await clock.advance(1_000);
    api.calls.length = 0;
    await clock.advance(30_000);
    const asked = (key: string): number => api.calls.filter(({ verb, key: of }) => verb === 'get' && of === key).length;
    assert.deepEqual([asked('default/data'), asked('default/late') >= 15], [0, true]);
  });

  it('that are bound while a pod waits, or grow while one uses them, are reported', async () => {
    const { api, objects, changes, clock, disk } = setUp();
    api.seed(persistentVolumeClaims, claim(''));
    objects.registerPod(claimed);
    await objects.get('PersistentVolumeClaim', 'default', 'data');
    await clock.advance(10_000);
    changes.length = 0;
    api.seed(persistentVolumes, volume);
    api.seed(persistentVolumeClaims, claim('pv'));
    await clock.advance(2_000);
    assert.deepEqual(changes.splice(0), ['PersistentVolumeClaim default/data', 'PersistentVolume /pv']);
    const kept = (): unknown[] => [
      (disk.get('PersistentVolumeClaim/default/data') as PersistentVolumeClaim).spec.volumeName,
      (disk.get('PersistentVolume//pv') as PersistentVolume).spec.capacity?.['storage'],
    ];
    assert.deepEqual(kept(), ['pv', '1Gi'], 'what is found without a question of a pod is kept for a restart, too');
    api.seed(persistentVolumes, { ...volume, spec: { capacity: { storage: '2Gi' } } } as unknown as PersistentVolume);
    await clock.advance(100_000);
    assert.deepEqual([changes, kept()], [['PersistentVolume /pv'], ['pv', '2Gi']]);
  });
});

describe('kinds that are followed as a whole', () => {
  it('kinds without a field selector are listed when they have been read once, and reported when they change', async () => {
    const { api, objects, changes, clock } = setUp();
    api.seed(services, {
      metadata: meta('web'),
      spec: { clusterIP: '10.0.0.1', ports: [{ port: 80 }], selector: { app: 'web' } },
    } as never);
    api.seed(runtimeClasses, { metadata: meta('gvisor', ''), handler: 'runsc' } as never);
    assert.equal((await objects.get('RuntimeClass', '', 'gvisor'))?.handler, 'runsc');
    assert.deepEqual(
      (await objects.list('Service', 'default')).map(({ spec }) => spec),
      [{ clusterIP: '10.0.0.1', ports: [{ name: undefined, protocol: undefined, port: 80 }] }],
    );
    changes.length = 0;
    await api.delete(services, at('web'));
    await clock.settle();
    assert.deepEqual([changes, await objects.list('Service', '')], [['Service default/web'], []]);
  });

  it('kinds without a field selector that were never read do not count as empty', async () => {
    const { api, objects, clock } = setUp();
    api.script(() => away);
    const asking = assert.rejects(async () => objects.list('Service', ''), { kind: 'Unavailable' });
    await clock.advance(1_000);
    await asking;
  });
});

describe('a node that starts while the API server is unavailable', () => {
  const pod = podWith(
    'one',
    [
      { name: 'v', secret: { secretName: 'a' } },
      { name: 'd', persistentVolumeClaim: { claimName: 'data' } },
    ],
    { runtimeClassName: 'gvisor' },
  );

  async function earlierRun(): Promise<Map<string, ApiObject>> {
    const { api, objects, disk, clock } = setUp();
    api.seed(secrets, { metadata: meta('a'), data: { key: 'MQ==' } });
    api.seed(secrets, { metadata: meta('unused'), data: { key: 'MQ==' } });
    api.seed(services, { metadata: meta('web'), spec: { clusterIP: '10.0.0.1' } } as never);
    api.seed(services, { metadata: meta('web', 'elsewhere'), spec: { clusterIP: '10.0.0.2' } } as never);
    api.seed(runtimeClasses, { metadata: meta('gvisor', ''), handler: 'runsc' } as never);
    api.seed(persistentVolumeClaims, {
      metadata: meta('data'),
      spec: { volumeName: 'pv' },
      status: { phase: 'Bound' },
    } as never);
    api.seed(persistentVolumes, { metadata: meta('pv', ''), spec: {} } as never);
    objects.registerPod(pod);
    await clock.settle();
    await objects.get('PersistentVolumeClaim', 'default', 'data');
    await objects.get('PersistentVolume', '', 'pv');
    return disk;
  }

  it('uses what its pods used, and nothing else', async () => {
    const disk = await earlierRun();
    assert.deepEqual([...disk.keys()].sort(), [
      'PersistentVolume//pv',
      'PersistentVolumeClaim/default/data',
      'RuntimeClass//gvisor',
      'Secret/default/a',
      'Service/default/web',
    ]);
    const { api, objects, clock } = setUp({ disk });
    api.script(() => away);
    objects.registerPod(pod);
    const asking = Promise.all([
      objects.get('Secret', 'default', 'a'),
      objects.get('RuntimeClass', '', 'gvisor'),
      objects.list('Service', ''),
      objects.get('PersistentVolumeClaim', 'default', 'data'),
      objects.get('PersistentVolume', '', 'pv'),
    ]);
    await clock.advance(1_000);
    const [secret, runtimeClass, all, claim, volume] = await asking;
    assert.deepEqual(
      [valueOf(secret), runtimeClass?.handler, all.length, claim?.spec.volumeName, volume?.metadata.name],
      ['MQ==', 'runsc', 1, 'pv', 'pv'],
    );
    await assert.rejects(objects.get('RuntimeClass', '', 'other'), { kind: 'Unavailable' });
    // And again, without waiting.
    assert.equal(valueOf(await objects.get('Secret', 'default', 'a')), 'MQ==');
  });

  it("uses the API server's answers as soon as it is back, also for deleted objects", async () => {
    const disk = await earlierRun();
    const { api, objects, changes, clock } = setUp({ disk });
    const end = api.script(() => away);
    objects.registerPod(pod);
    const asking = objects.get('Secret', 'default', 'a');
    await clock.advance(1_000);
    await asking;
    changes.length = 0;
    end();
    await clock.advance(10_000);
    assert.ok(changes.includes('Secret default/a'));
    assert.deepEqual([await objects.get('Secret', 'default', 'a'), disk.has('Secret/default/a')], [undefined, false]);
  });

  it('drops with its pods what they used, and what is left of removed pods', async () => {
    const disk = await earlierRun();
    const { objects } = setUp({ disk });
    objects.retain([pod]);
    assert.equal(disk.has('Secret/default/a'), true);
    objects.retain([]);
    assert.deepEqual(
      [...disk.keys()].filter((key) => key.startsWith('Secret')),
      [],
    );
    const again = await earlierRun();
    const first = setUp({ disk: again });
    first.objects.registerPod(pod);
    await first.clock.settle();
    first.objects.unregisterPod(pod);
    assert.equal(again.has('Secret/default/a'), false);
  });
});
