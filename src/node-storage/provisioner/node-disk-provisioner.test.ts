import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { storageAnnotations } from '../../api/annotations.ts';
import { persistentVolumeClaims, persistentVolumes, storageClasses } from '../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import { silentLogger } from '../../base/log.ts';
import { createVolumeBinder } from '../../control-plane/controllers/persistent-volume/testing/volume-binder.ts';
import { ControllerWorld } from '../../control-plane/controller-runtime/testing/controller-world.ts';
import { createNodeDiskProvisioner } from './node-disk-provisioner.ts';
import { VOLUME_FINALIZER } from './plan-claim.ts';
import { claimOf, CLASS, NODE, UID } from './testing/builders.ts';
import { createFakeVolumeDisk } from './testing/fake-volume-disk.ts';
import type { FakeVolumeDisk } from './testing/fake-volume-disk.ts';

const NAME = `pvc-${UID}`;
const data = { namespace: 'default', name: 'data' };
const GIB = 2 ** 30;

interface Setting {
  readonly world: ControllerWorld;
  readonly disk: FakeVolumeDisk;
  readonly warnings: string[];
}

/** The provisioner beside the binder of the control plane, with a class and one node. */
function settingOf({ seed = 1, lagMs = 0 } = {}): Setting {
  const disk = createFakeVolumeDisk();
  const warnings: string[] = [];
  const log = { ...silentLogger, warn: (message: string) => void warnings.push(message) };
  const world = new ControllerWorld({
    seed,
    lagMs,
    log,
    make: (each) => [createVolumeBinder(each), createNodeDiskProvisioner({ ...each, nodeName: NODE, disk })],
  });
  world.addNode(NODE);
  world.api.seed(storageClasses, CLASS);
  return { world, disk, warnings };
}

const claimIn = ({ world }: Setting): PersistentVolumeClaim | undefined =>
  world.api.all(persistentVolumeClaims).find(({ metadata }) => metadata.name === 'data');

describe('the provisioner of the node’s disk', () => {
  it('makes a directory and a volume for a claim, which the binder then binds', async () => {
    const setting = settingOf();
    const { world, disk } = setting;
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(5_000);
    assert.deepEqual([...disk.limits], [[NAME, GIB]]);
    const [volume] = world.api.all(persistentVolumes);
    assert.deepEqual(
      [volume?.metadata.name, volume?.spec.local?.path, volume?.status?.phase, volume?.metadata.finalizers],
      [NAME, `/disk/${NAME}`, 'Bound', [VOLUME_FINALIZER]],
    );
    assert.equal(claimIn(setting)?.status?.phase, 'Bound');
    assert.deepEqual(
      world.events.filter((event) => /^Normal Provisioning/.test(event)),
      [
        'Normal Provisioning External provisioner is provisioning volume for claim "default/data"',
        `Normal ProvisioningSucceeded Successfully provisioned volume ${NAME}`,
      ],
    );
    await world.stop();
  });

  it('leaves claims of other nodes to the provisioners there', async () => {
    const disks = new Map(['node-1', 'node-2'].map((nodeName) => [nodeName, createFakeVolumeDisk()]));
    const world = new ControllerWorld({
      make: (each) => [
        createVolumeBinder(each),
        ...[...disks].map(([nodeName, disk]) => createNodeDiskProvisioner({ ...each, nodeName, disk })),
      ],
    });
    const { allowedTopologies: _, ...everywhere } = CLASS;
    world.api.seed(storageClasses, everywhere);
    const uids = new Map([...disks.keys()].map((nodeName, index) => [nodeName, UID.slice(0, -1) + String(index)]));
    for (const [nodeName, uid] of uids) {
      world.addNode(nodeName);
      world.api.seed(persistentVolumeClaims, claimOf({ name: nodeName, uid, selectedNode: nodeName }));
    }
    world.start();
    await world.run(5_000);
    for (const [nodeName, uid] of uids)
      assert.deepEqual([...(disks.get(nodeName)?.limits.keys() ?? [])], [`pvc-${uid}`]);
    const bound = world.api.all(persistentVolumeClaims).map(({ status }) => status?.phase);
    assert.deepEqual(bound, ['Bound', 'Bound']);
    await world.stop();
  });

  it('provisions a claim that is older than its class', async () => {
    const { world, disk } = settingOf();
    await world.api.delete(storageClasses, { namespace: '', name: CLASS.metadata.name });
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(2_000);
    assert.equal(disk.limits.size, 0);
    world.api.seed(storageClasses, CLASS);
    await world.run(2_000);
    assert.equal(disk.limits.size, 1);
    await world.stop();
  });

  it('reports what is missing when the disk is too full, and gives the claim back to the scheduler', async () => {
    const setting = settingOf();
    const { world, disk } = setting;
    disk.free = GIB / 2;
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(2_000);
    assert.equal(disk.limits.size, 0);
    assert.equal(claimIn(setting)?.metadata.annotations?.[storageAnnotations.selectedNode], undefined);
    assert.ok(
      world.events.includes(
        'Warning ProvisioningFailed failed to provision volume with StorageClass "standard": not enough free space on node node-1: 1Gi requested, 512Mi free',
      ),
      world.events.join('\n'),
    );
    disk.free = GIB;
    // What the scheduler does.
    world.api.change(persistentVolumeClaims, data, ({ metadata, ...claim }) => ({
      ...claim,
      metadata: { ...metadata, annotations: { ...metadata.annotations, [storageAnnotations.selectedNode]: NODE } },
    }));
    await world.run(2_000);
    assert.equal(disk.limits.size, 1);
    await world.stop();
  });

  it('removes directory and volume when the claim is deleted, and keeps both while the directory cannot be removed', async () => {
    const { world, disk } = settingOf();
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(5_000);
    disk.failure = new Error('Device or resource busy');
    await world.api.delete(persistentVolumeClaims, data);
    await world.run(5_000);
    assert.equal(world.api.all(persistentVolumes).length, 1);
    assert.ok(world.events.includes('Warning VolumeFailedDelete Device or resource busy'), world.events.join('\n'));
    disk.failure = undefined;
    await world.run(30_000);
    assert.deepEqual([disk.limits.size, world.api.all(persistentVolumes).length], [0, 0]);
    await world.stop();
  });

  it('keeps the directory of a volume with the policy Retain when claim and volume are deleted', async () => {
    const { world, disk } = settingOf();
    world.api.change(storageClasses, { namespace: '', name: CLASS.metadata.name }, (each) => ({
      ...each,
      reclaimPolicy: 'Retain' as const,
    }));
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(5_000);
    await world.api.delete(persistentVolumeClaims, data);
    await world.run(5_000);
    await world.api.delete(persistentVolumes, { namespace: '', name: NAME });
    await world.run(5_000);
    assert.deepEqual([disk.limits.size, world.api.all(persistentVolumes).length], [1, 0]);
    await world.stop();
  });

  it('expands limit, volume and claim', async () => {
    const setting = settingOf();
    const { world, disk } = setting;
    world.api.seed(persistentVolumeClaims, claimOf());
    world.start();
    await world.run(5_000);
    world.api.change(persistentVolumeClaims, data, (claim) => ({
      ...claim,
      spec: { ...claim.spec, resources: { requests: { storage: '3Gi' } } },
    }));
    await world.run(5_000);
    assert.deepEqual([...disk.limits.values()], [3 * GIB]);
    assert.equal(world.api.all(persistentVolumes)[0]?.spec.capacity?.['storage'], '3Gi');
    assert.equal(claimIn(setting)?.status?.capacity?.['storage'], '3Gi');
    await world.stop();
  });

  it('removes an empty directory without a volume; reports one with data and leaves it', async () => {
    const { world, disk, warnings } = settingOf();
    await disk.create('pvc-99999999-0000-4000-8000-00000000000a');
    await disk.create('pvc-99999999-0000-4000-8000-00000000000b');
    disk.filled.add('pvc-99999999-0000-4000-8000-00000000000b');
    world.start();
    await world.run(2_000);
    assert.deepEqual([disk.limits.size, warnings.length], [1, 1]);
    await world.stop();
  });

  it('ends with one directory per claim and no other, although it is killed at any write and its cache is late', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 4 }),
        async (seed, deaths, isDeleted) => {
          const { world, disk } = settingOf({ seed, lagMs: 2_000 });
          const names = isDeleted.map((_, index) => `claim-${index}`);
          names.forEach((name, index) =>
            world.api.seed(persistentVolumeClaims, claimOf({ name, uid: UID.replace(/.$/, String(index)) })),
          );
          world.start();
          for (const [index, writes] of deaths.entries()) {
            world.restartAtWrite(writes);
            await world.run(3_000);
            const name = names[index];
            if (name !== undefined && isDeleted[index] === true)
              await world.api.delete(persistentVolumeClaims, { namespace: 'default', name }).catch(() => undefined);
          }
          world.restart();
          await world.run(60_000);
          const claims = world.api.all(persistentVolumeClaims);
          const expected = claims.map(({ metadata }) => `pvc-${metadata.uid}`).sort();
          assert.deepEqual([...disk.limits.keys()].sort(), expected);
          assert.deepEqual(
            world.api
              .all(persistentVolumes)
              .map(({ metadata }) => metadata.name)
              .sort(),
            expected,
          );
          assert.ok(claims.every(({ status }) => status?.phase === 'Bound'));
          await world.stop();
        },
      ),
      { numRuns: 25 },
    ));
});
