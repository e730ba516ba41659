import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ControllerRevision } from '../../api/apps/controller-revision.ts';
import { createInformers } from '../../api/client/informer.ts';
import { keyOf } from '../../api/client/resource-type.ts';
import { controllerRevisions } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { UnseenObjects } from './unseen-objects.ts';

const owner = { metadata: { name: 'agent', namespace: 'default', uid: 'owner' } };
const other = { metadata: { name: 'other', namespace: 'default', uid: 'other' } };
const revision: ControllerRevision = {
  metadata: { name: 'agent-1', namespace: 'default', uid: 'rev-1' },
  data: {},
  revision: 1,
};

async function setUp(lagMs = 0) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, random: seededRandom(1), watchLagMs: () => lagMs });
  const informers = createInformers({ client: api, clock, random: seededRandom(2), log: silentLogger });
  const informer = informers.for(controllerRevisions);
  const unseen = new UnseenObjects(informer, clock);
  const end = unseen.observe();
  informers.start();
  await clock.advance(10);
  return {
    clock,
    api,
    unseen,
    stop: async () => {
      end();
      await informers.stop();
    },
  };
}

describe('what was made and is not seen yet', () => {
  it('an unobserved object is there for its owner only, until the informer shows it', async () => {
    const { clock, api, unseen, stop } = await setUp(1_000);
    const made = api.seed(controllerRevisions, revision);
    unseen.made(owner, made);
    assert.deepEqual(unseen.with(owner, []), [made]);
    assert.deepEqual(unseen.with(other, []), []);
    await clock.advance(1_500);
    assert.deepEqual(unseen.with(owner, []), []);
    await stop();
  });

  it('an unobserved object is not kept when the informer shows it already', async () => {
    const { clock, api, unseen, stop } = await setUp();
    const made = api.seed(controllerRevisions, revision);
    await clock.advance(10);
    unseen.made(owner, made);
    assert.deepEqual(unseen.with(owner, []), []);
    await stop();
  });

  it('an unobserved object is gone once the informer shows its end', async () => {
    const { clock, api, unseen, stop } = await setUp(1_000);
    const made = api.seed(controllerRevisions, revision);
    unseen.made(owner, made);
    api.remove(controllerRevisions, keyOf(revision));
    await clock.advance(3_000);
    assert.deepEqual(unseen.with(owner, []), []);
    await stop();
  });

  it('an unobserved object is taken for gone after five minutes', async () => {
    const { clock, unseen, stop } = await setUp();
    unseen.made(owner, revision);
    await clock.advance(299_999);
    assert.deepEqual(unseen.with(owner, []), [revision]);
    await clock.advance(1);
    assert.deepEqual(unseen.with(owner, []), []);
    await stop();
  });
});
