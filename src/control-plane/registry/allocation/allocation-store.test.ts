import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import type { AllocationStore } from '../../model/resource-definition.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { createAllocationStore } from './allocation-store.ts';
import { startRegistry } from '../testing/registry-fixture.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { RegistryFixture } from '../testing/registry-fixture.ts';

const space = 'serviceips';

describe('allocations of names in the store', () => {
  let fixture: RegistryFixture;
  let claims: AllocationStore;
  let dry: AllocationStore;
  beforeEach(async () => {
    fixture = await startRegistry();
    const objects = new FakeApiClient({ clock: fixture.clock });
    const of = createAllocationStore({
      ...fixture,
      reader: new FakeObjectReader(),
      random: seededRandom(1),
      settings: { serviceCidrs: [], nodePorts: { first: 1, last: 2 } },
      client: () => objects,
    });
    [claims, dry] = [of(false), of(true)];
  });
  afterEach(() => fixture.stop());

  it('a name belongs to its first owner, who may allocate it again', async () => {
    assert.deepEqual(
      [
        await claims.take(space, '10.0.0.1', 'a'),
        await claims.take(space, '10.0.0.1', 'b'),
        await claims.take(space, '10.0.0.1', 'a'),
      ],
      ['taken', 'used', 'taken'],
    );
    assert.equal(await claims.take('nodeports', '10.0.0.1', 'b'), 'taken');
  });

  it('of many concurrent allocations of a name exactly one succeeds', async () => {
    const answers = await Promise.all(['a', 'b', 'c', 'd'].map((owner) => claims.take(space, 'x', owner)));
    assert.equal(answers.filter((answer) => answer === 'taken').length, 1);
  });

  it('only the owner can release a name, and releasing a free name does nothing', async () => {
    await claims.take(space, 'x', 'a');
    await claims.release(space, 'x', 'b');
    assert.equal(await claims.take(space, 'x', 'b'), 'used');
    await claims.release(space, 'x', 'a');
    await claims.release(space, 'x', 'a');
    assert.equal(await claims.take(space, 'x', 'b'), 'taken');
  });

  it('a dry run returns the same result, and neither allocates nor releases', async () => {
    await claims.take(space, 'x', 'a');
    assert.deepEqual(
      [await dry.take(space, 'x', 'a'), await dry.take(space, 'x', 'b'), await dry.take(space, 'y', 'b')],
      ['taken', 'used', 'taken'],
    );
    await dry.release(space, 'x', 'a');
    assert.deepEqual([await claims.take(space, 'x', 'b'), await claims.take(space, 'y', 'c')], ['used', 'taken']);
  });
});
