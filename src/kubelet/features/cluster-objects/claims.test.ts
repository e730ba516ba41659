import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { Claims } from './claims.ts';
import { KeptObjects } from './kept-objects.ts';

const KEY = { namespace: 'default', name: 'data' };
const CLAIM_ID = 'PersistentVolumeClaim/default/data';
const VOLUME_ID = 'PersistentVolume//pv';
const claim = (volumeName: string, more: object = {}): PersistentVolumeClaim =>
  ({
    metadata: { name: 'data', namespace: 'default', uid: 'c' },
    spec: { volumeName },
    status: { phase: volumeName === '' ? 'Pending' : 'Bound' },
    ...more,
  }) as PersistentVolumeClaim;
const volumeOf = (storage: string): PersistentVolume =>
  ({
    metadata: { name: 'pv', namespace: '', uid: 'v' },
    spec: { capacity: { storage } },
  }) as unknown as PersistentVolume;

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const disk = new Map<string, ApiObject>();
  const folder = {
    put: (key: string, value: unknown) => void disk.set(key, value as ApiObject),
    drop: (key: string) => void disk.delete(key),
  };
  const changes: string[] = [];
  const claims = new Claims({
    client: api,
    clock,
    random: seededRandom(1),
    log: recordingLog(),
    kept: new KeptObjects(folder, new Map()),
    changed: (kind, { name }) => void changes.push(`${kind} ${name}`),
  });
  claims.start();
  const asked = (): number => api.calls.filter(({ verb }) => verb === 'get').length;
  return { clock, api, disk, claims, changes, asked };
}

/** A claim in use, bound to its volume, both known. */
async function inUse() {
  const world = setUp();
  const { api, claims, clock } = world;
  api.seed(persistentVolumeClaims, claim('pv'));
  api.seed(persistentVolumes, volumeOf('1Gi'));
  claims.use(KEY, 'pod');
  await claims.claim(KEY);
  await claims.volume('pv');
  await clock.advance(2000);
  world.changes.length = 0;
  return world;
}

describe('a claim and its volume', () => {
  it('are reported when they change, one without the other, and not while they stay', async () => {
    const { api, clock, changes } = await inUse();
    await clock.advance(200_000);
    assert.deepEqual(changes, []);
    api.seed(persistentVolumes, volumeOf('2Gi'));
    await clock.advance(100_000);
    assert.deepEqual(changes.splice(0), ['PersistentVolume pv']);
    api.seed(
      persistentVolumeClaims,
      claim('pv', { metadata: { name: 'data', namespace: 'default', uid: 'c', labels: { a: 'b' } } }),
    );
    await clock.advance(100_000);
    assert.deepEqual(changes, ['PersistentVolumeClaim data']);
  });

  it('are reported once when the claim goes, and then no volume is reported', async () => {
    const { api, clock, changes } = await inUse();
    await api.delete(persistentVolumeClaims, KEY);
    await clock.advance(300_000);
    assert.deepEqual(changes, ['PersistentVolumeClaim data']);
  });

  it('are not reported when the volume alone is gone', async () => {
    const { api, clock, changes } = await inUse();
    await api.delete(persistentVolumes, { namespace: '', name: 'pv' });
    await clock.advance(100_000);
    assert.deepEqual(changes, []);
  });

  it('are kept on the disk as long as a pod uses them', async () => {
    const { claims, disk } = await inUse();
    claims.use(KEY, 'other');
    assert.deepEqual([...disk.keys()].sort(), [VOLUME_ID, CLAIM_ID].sort());
    claims.release(KEY, 'pod');
    claims.release(KEY, 'pod');
    claims.release(KEY, 'stranger');
    assert.equal(disk.size, 2);
    assert.notEqual(claims.peek(KEY), undefined);
    claims.release(KEY, 'other');
    assert.deepEqual([disk.size, claims.peek(KEY), claims.peekVolume('pv')], [0, undefined, undefined]);
    claims.release(KEY, 'other');
  });

  it('are neither reported nor kept when the last pod releases them while they are polled', async () => {
    const { api, claims, clock, changes, disk } = await inUse();
    api.seed(persistentVolumeClaims, claim('pv', { metadata: { name: 'data', namespace: 'default', uid: 'c2' } }));
    api.script(({ plural }) => {
      if (plural === 'persistentvolumes') claims.release(KEY, 'pod');
      return undefined;
    });
    await clock.advance(100_000);
    assert.deepEqual([changes, disk.size, claims.peek(KEY)], [[], 0, undefined]);
  });

  it('are reported also when another claim cannot be read', async () => {
    const { api, claims, clock, changes } = await inUse();
    const denied = { namespace: 'a', name: 'denied' };
    claims.release(KEY, 'pod');
    api.seed(persistentVolumeClaims, { ...claim('pv'), metadata: { ...denied, uid: 'd' } });
    for (const key of [denied, KEY]) {
      claims.use(key, 'pod');
      await claims.claim(key);
    }
    await clock.advance(100_000);
    changes.length = 0;
    api.script((call) => (call.key === 'a/denied' ? new ApiStatusError('Forbidden', 'not yours') : undefined));
    api.seed(persistentVolumeClaims, claim('pv', { metadata: { name: 'data', namespace: 'default', uid: 'c2' } }));
    await clock.advance(100_000);
    assert.deepEqual(changes, ['PersistentVolumeClaim data']);
  });

  it('are polled until they are bound, while others wait for nothing, and then kept on the disk', async () => {
    const { api, claims, clock, disk } = await inUse();
    const late = { namespace: 'default', name: 'late' };
    const lateClaim = (volumeName: string): PersistentVolumeClaim =>
      claim(volumeName, { metadata: { ...late, uid: 'l' } });
    api.seed(persistentVolumeClaims, lateClaim(''));
    claims.use(late, 'pod');
    await claims.claim(late);
    await clock.advance(2000);
    assert.deepEqual([...disk.keys()].sort(), [CLAIM_ID, VOLUME_ID, 'PersistentVolumeClaim/default/late'].sort());
    api.seed(persistentVolumes, { ...volumeOf('1Gi'), metadata: { name: 'pv2', namespace: '', uid: 'v2' } });
    api.seed(persistentVolumeClaims, lateClaim('pv2'));
    await clock.advance(3000);
    assert.equal((disk.get('PersistentVolumeClaim/default/late') as PersistentVolumeClaim).spec.volumeName, 'pv2');
    assert.equal(disk.has('PersistentVolume//pv2'), true);
    assert.deepEqual([claims.peekVolume('pv2')?.metadata.uid, claims.peekVolume('pv')?.metadata.uid], ['v2', 'v']);
    claims.release(late, 'pod');
    assert.deepEqual([...disk.keys()].sort(), [CLAIM_ID, VOLUME_ID].sort(), 'the volume of the other claim stays');
  });

  it('are as last seen while the API server is away', async () => {
    const { api, claims, clock } = await inUse();
    assert.equal(claims.peekVolume('other'), undefined);
    api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    const asking = Promise.all([claims.claim(KEY), claims.volume('pv')]);
    await clock.advance(5000);
    const [known, volume] = await asking;
    assert.deepEqual([known?.spec.volumeName, volume?.metadata.name], ['pv', 'pv']);
  });

  it('are not kept when no pod uses them', async () => {
    const { api, claims, disk } = setUp();
    api.seed(persistentVolumeClaims, claim('pv'));
    api.seed(persistentVolumes, volumeOf('1Gi'));
    assert.equal((await claims.claim(KEY))?.spec.volumeName, 'pv');
    assert.equal((await claims.volume('pv'))?.metadata.name, 'pv');
    assert.deepEqual([disk.size, claims.peek(KEY)], [0, undefined]);
  });

  it('are forgotten on the disk when the claim is found to be gone', async () => {
    const { api, claims, disk } = await inUse();
    await api.delete(persistentVolumeClaims, KEY);
    assert.equal(await claims.claim(KEY), undefined);
    assert.deepEqual([disk.has(CLAIM_ID), claims.peek(KEY)], [false, { claim: undefined, volume: undefined }]);
  });
});

describe('how often a claim is fetched', () => {
  it('is each minute when it is bound and its volume is known, and each second before', async () => {
    const { asked, api, clock, claims } = await inUse();
    const before = asked();
    await clock.advance(30_000);
    assert.equal(asked(), before);
    await clock.advance(90_000);
    assert.ok(asked() >= before + 2 && asked() <= before + 6, `${asked() - before} in two minutes`);
    api.seed(persistentVolumeClaims, claim(''));
    await claims.claim(KEY);
    const unbound = asked();
    await clock.advance(30_000);
    assert.ok(asked() - unbound >= 15, `${asked() - unbound} in half a minute`);
  });

  it('is each second, too, while the phase is not Bound or the claim names no volume', async () => {
    for (const more of [{ status: { phase: 'Lost' } }, { spec: {} }, { status: undefined }]) {
      const { asked, api, clock, claims } = await inUse();
      api.seed(persistentVolumeClaims, claim('pv', more));
      await claims.claim(KEY);
      const before = asked();
      await clock.advance(30_000);
      assert.ok(asked() - before >= 15, JSON.stringify(more));
    }
  });

  it('is never before a pod has needed it', async () => {
    const { asked, claims, clock } = setUp();
    claims.use(KEY, 'pod');
    await clock.advance(300_000);
    assert.equal(asked(), 0);
    await claims.stop();
  });
});
