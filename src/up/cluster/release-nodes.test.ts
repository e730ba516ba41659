import assert from 'node:assert/strict';
import { it } from 'node:test';
import { nodes, pods } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { releaseNodes } from './release-nodes.ts';

it('nodes that this machine no longer runs are deleted with their pods; other nodes keep theirs', async () => {
  const api = new FakeApiClient({ clock: new FakeClock() });
  for (const name of ['vm', 'elsewhere']) {
    api.seed(nodes, { metadata: { namespace: '', name, uid: `node-${name}` } });
    api.seed(pods, {
      metadata: { namespace: 'default', name: `on-${name}`, uid: `pod-${name}` },
      spec: { nodeName: name, containers: [] },
    });
  }
  await releaseNodes(api, ['vm', 'never-registered']);
  const namesOf = (items: readonly { readonly metadata: { readonly name: string } }[]): string[] =>
    items.map(({ metadata }) => metadata.name);
  assert.deepEqual(namesOf((await api.list(nodes, '')).items), ['elsewhere']);
  assert.deepEqual(namesOf((await api.list(pods, '')).items), ['on-elsewhere']);
});
