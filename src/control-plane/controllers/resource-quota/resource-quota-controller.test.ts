import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, pods, resourceQuotas, services } from '../../../api/client/resource-types.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createResourceQuotaController } from './resource-quota-controller.ts';

const key = { namespace: 'default', name: 'q' };
const quota = (hard: Record<string, string>, more: Partial<ResourceQuota['spec']> = {}): ResourceQuota => ({
  metadata: { ...key, uid: '' },
  spec: { hard, ...more },
});
const configMap = (name: string) => ({ metadata: { name, namespace: 'default', uid: '' } });

async function start(...quotas: ResourceQuota[]) {
  const world = new ControllerWorld({
    make: (options) => [createResourceQuotaController({ ...options, types: [pods, configMaps, services] })],
    outcome: () => 'waiting',
  });
  for (const each of quotas) world.api.seed(resourceQuotas, each);
  world.start();
  await world.run(500);
  const status = (name = 'q') => world.api.all(resourceQuotas).find(({ metadata }) => metadata.name === name)?.status;
  return { world, used: () => status()?.used, status };
}

describe('the resource quota controller', () => {
  it('counts the objects of a namespace when a quota is created, and again when its spec changes', async () => {
    const { world, status } = await start();
    world.api.seed(configMaps, configMap('a'));
    world.api.seed(configMaps, { metadata: { name: 'b', namespace: 'other', uid: '' } });
    world.api.seed(resourceQuotas, quota({ configmaps: '3' }));
    await world.run(500);
    assert.deepEqual(status(), { hard: { configmaps: '3' }, used: { configmaps: '1' } });
    world.api.change(resourceQuotas, key, (object) => ({
      ...object,
      spec: { hard: { 'count/services': '1', 'x.io/y': '1' } },
    }));
    await world.run(500);
    assert.deepEqual(status(), {
      hard: { 'count/services': '1', 'x.io/y': '1' },
      used: { 'count/services': '0', 'x.io/y': '0' },
    });
    await world.stop();
  });

  it('lowers the usage at once when an object is deleted or ends', async () => {
    const { world, used } = await start();
    world.api.seed(configMaps, configMap('a'));
    world.api.seed(
      pods,
      buildPod({ 'spec.nodeName': 'n', 'spec.containers[0].resources': { requests: { cpu: '1' } } }),
    );
    world.api.seed(resourceQuotas, quota({ configmaps: '3', 'requests.cpu': '4' }));
    await world.run(500);
    assert.deepEqual(used(), { configmaps: '1', 'requests.cpu': '1' });
    world.api.remove(configMaps, { namespace: 'default', name: 'a' });
    await world.run(500);
    assert.deepEqual(used(), { configmaps: '0', 'requests.cpu': '1' });
    world.outcome = () => 'succeeded';
    await world.run(1500);
    assert.deepEqual(used(), { configmaps: '0', 'requests.cpu': '0' });
    await world.stop();
  });

  it('does not lower a usage that was just charged, because the object may not be stored yet', async () => {
    const { world, used } = await start(quota({ configmaps: '3' }));
    world.api.change(resourceQuotas, key, (object) => ({
      ...object,
      status: { ...object.status, used: { configmaps: '2' } },
    }));
    world.api.seed(configMaps, configMap('a'));
    world.api.remove(configMaps, { namespace: 'default', name: 'a' });
    await world.clock.advance(150);
    assert.deepEqual(used(), { configmaps: '2' });
    world.api.seed(configMaps, configMap('b'));
    await world.clock.advance(150);
    assert.deepEqual(used(), { configmaps: '1' });
    world.api.change(resourceQuotas, key, (object) => ({
      ...object,
      status: { ...object.status, used: { configmaps: '3' } },
    }));
    await world.clock.advance(9_000);
    assert.deepEqual(used(), { configmaps: '3' });
    await world.clock.advance(2_000);
    assert.deepEqual(used(), { configmaps: '1' }, 'a charge for what was not stored after all');
    await world.stop();
  });

  it('corrects a status that other clients changed, within its period', async () => {
    const { world, used } = await start(quota({ configmaps: '3' }));
    world.restart();
    world.api.change(resourceQuotas, key, (object) => ({
      ...object,
      status: { hard: { configmaps: '3' }, used: { configmaps: '7' } },
    }));
    await world.run(11_000);
    assert.deepEqual(used(), { configmaps: '0' });
    await world.stop();
  });

  it('writes nothing if nothing changed', async () => {
    const { world, status } = await start(quota({ configmaps: '3' }));
    const before = world.api.all(resourceQuotas)[0]?.metadata.resourceVersion;
    world.restart();
    await world.run(10 * 60_000);
    assert.equal(world.api.all(resourceQuotas)[0]?.metadata.resourceVersion, before);
    assert.deepEqual(status()?.used, { configmaps: '0' });
    await world.stop();
  });
});
