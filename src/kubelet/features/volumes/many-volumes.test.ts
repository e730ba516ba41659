import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { configMap, secret, testPod, volumePath, volumeWorld } from './testing/volume-world.ts';

test('among a thousand volumes a changed object is written only to those that show it', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', configMap('common', { k: 'v' }));
  world.objects.set('Secret', secret('own', { p: 'old' }));
  const volumes = Array.from({ length: 50 }, (_, index) => ({
    name: `v${index}`,
    ...(index === 7 ? { secret: { secretName: 'own' } } : { configMap: { name: 'common' } }),
  }));
  const uids = Array.from({ length: 20 }, (_, index) => `u${index}`);
  const ready = await Promise.all(uids.map((uid) => world.manager.ensure(testPod(uid, volumes))));
  assert.equal(
    ready.reduce((sum, one) => sum + one.size, 0),
    1000,
  );
  world.objects.set('Secret', secret('own', { p: 'new' }));
  world.files.calls.length = 0;
  world.manager.objectChanged({ kind: 'Secret', namespace: 'default', name: 'own' });
  await world.clock.settle();
  assert.deepEqual(
    uids.map((uid) => world.files.peek(`${volumePath(uid, 'secret', 'v7')}/p`)),
    uids.map(() => 'new'),
  );
  const written = world.files.calls.filter((call) => call.startsWith('rename '));
  assert.deepEqual([written.length, written.every((call) => call.includes('/kubernetes.io~secret/v7/'))], [20, true]);
  await Promise.all(uids.map((uid) => world.manager.tearDown(podUid(uid))));
  assert.deepEqual([world.mounts.mounted, world.clock.armedTimers], [[], 0]);
});

test('an immutable object is written once, and another source in the same volume is still followed', async () => {
  const world = volumeWorld();
  world.objects.set('ConfigMap', { ...configMap('fixed', { k: 'one' }), immutable: true });
  world.objects.set('Secret', secret('free', { p: 'one' }));
  const sources = [{ configMap: { name: 'fixed' } }, { secret: { name: 'free' } }];
  await world.manager.ensure(
    testPod('u1', [
      { name: 'c', configMap: { name: 'fixed' } },
      { name: 'p', projected: { sources } },
    ]),
  );
  world.objects.set('ConfigMap', { ...configMap('fixed', { k: 'two' }), immutable: true });
  world.manager.objectChanged({ kind: 'ConfigMap', namespace: 'default', name: 'fixed' });
  await world.clock.settle();
  assert.equal(world.files.peek(`${volumePath('u1', 'configmap', 'c')}/k`), 'one');
  world.objects.set('Secret', secret('free', { p: 'two' }));
  world.manager.objectChanged({ kind: 'Secret', namespace: 'default', name: 'free' });
  await world.clock.settle();
  assert.equal(world.files.peek(`${volumePath('u1', 'projected', 'p')}/p`), 'two');
});
