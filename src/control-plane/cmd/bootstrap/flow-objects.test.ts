import assert from 'node:assert/strict';
import test from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { flowSchemas, priorityLevelConfigurations } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { PriorityLevelConfiguration } from '../../../api/flowcontrol/priority-level-configuration.ts';
import { standardPriorityLevels } from '../../../api/flowcontrol/standard-objects.ts';
import { ensureFlowObjects } from './flow-objects.ts';

const newApi = (): FakeApiClient => new FakeApiClient({ clock: new FakeClock(), random: seededRandom(1) });
const key = (name: string): { namespace: string; name: string } => ({ namespace: '', name });
const specOf = (name: string) => standardPriorityLevels.find((each) => each.name === name)?.spec;
const changed: PriorityLevelConfiguration['spec'] = {
  type: 'Limited',
  limited: { nominalConcurrencyShares: 7, limitResponse: { type: 'Reject' } },
};

test('all standard objects are made, and those that are deleted come back', async () => {
  const api = newApi();
  await ensureFlowObjects(api);
  assert.deepEqual([api.all(priorityLevelConfigurations).length, api.all(flowSchemas).length], [8, 11]);
  await api.delete(flowSchemas, key('probes'), {});
  await ensureFlowObjects(api);
  assert.equal(api.all(flowSchemas).length, 11);
});

test('a changed object is restored unless an administrator owns it', async () => {
  const api = newApi();
  await ensureFlowObjects(api);
  const change = async (name: string, annotation: string): Promise<void> => {
    const found = await api.get(priorityLevelConfigurations, key(name));
    const annotations = { 'apf.kubernetes.io/autoupdate-spec': annotation };
    await api.update(priorityLevelConfigurations, {
      ...found,
      metadata: { ...found.metadata, annotations },
      spec: changed,
    });
  };
  await change('system', 'true');
  await change('node-high', 'false');
  await ensureFlowObjects(api);
  const specNow = async (name: string) => (await api.get(priorityLevelConfigurations, key(name))).spec;
  assert.deepEqual([await specNow('system'), await specNow('node-high')], [specOf('system'), changed]);
});
