import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../../api/core/node.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { NodeWatch } from './node-watch.ts';
import { createNodeWatch } from './node-watch.ts';

const build = (name: string): Node => ({ metadata: { name, namespace: '', uid: '' } });

function setUp(): { clock: FakeClock; api: FakeApiClient; watch: NodeWatch } {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  return {
    clock,
    api,
    watch: createNodeWatch({ client: api, clock, random: seededRandom(1), log: silentLogger, nodeName: 'n1' }),
  };
}

describe('the node object', () => {
  it('is this node and no other, and each version of it is reported', async () => {
    const { clock, api, watch } = setUp();
    const notified: (string | undefined)[] = [];
    watch.onChange((node) =>
      notified.push(node === undefined ? undefined : `${node.metadata.name} ${node.spec?.unschedulable ?? false}`),
    );
    api.seed(nodes, build('n2'));
    watch.start();
    await clock.settle();
    assert.deepEqual([watch.hasSynced(), watch.current()], [true, undefined]);
    api.seed(nodes, build('n1'));
    await clock.settle();
    api.change(nodes, { namespace: '', name: 'n1' }, (node) => ({ ...node, spec: { unschedulable: true } }));
    api.change(nodes, { namespace: '', name: 'n2' }, (node) => ({ ...node, spec: { unschedulable: true } }));
    api.remove(nodes, { namespace: '', name: 'n1' });
    await clock.settle();
    assert.deepEqual(notified, ['n1 false', 'n1 true', undefined]);
    assert.equal(watch.current(), undefined);
    await watch.stop();
  });

  it('is unknown before the API server has answered', async () => {
    const { clock, api, watch } = setUp();
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    let known = false;
    void watch.whenSynced().then(() => (known = true));
    watch.start();
    await clock.advance(3_600_000);
    assert.deepEqual([watch.hasSynced(), known], [false, false]);
    end();
    assert.equal(await clock.advanceUntil(() => known, 60_000), true);
    await watch.stop();
  });
});
