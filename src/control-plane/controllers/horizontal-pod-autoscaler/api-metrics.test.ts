import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { createApiMetrics } from './api-metrics.ts';

const query = { namespace: 'shop', podSelector: 'app=web', resource: 'cpu' };
const usage = {
  metadata: { name: 'web-1', namespace: 'shop' },
  timestamp: '2026-01-01T00:00:00Z',
  window: '15s',
  containers: [{ name: 'app', usage: { cpu: '250m' } }],
};

it('reads usage from the server registered for metrics.k8s.io, and rejects other kinds in the response', async () => {
  const asked: string[] = [];
  let answer: unknown = { kind: 'PodMetricsList', items: [usage] };
  const others: OtherApis = {
    ...noOtherApis,
    versionOf: (group, versions) => (group === 'metrics.k8s.io' ? versions[0] : undefined),
    get: (_api, path) => {
      asked.push(path);
      return Promise.resolve(answer);
    },
  };
  const client = new FakeApiClient({ clock: new FakeClock(), random: seededRandom(1) });
  const metrics = createApiMetrics({ client, others, types: () => [] });
  assert.deepEqual(
    [...(await metrics.resource(query))],
    [['web-1', { milliValue: 250n, atMs: Date.parse(usage.timestamp), windowMs: 15_000 }]],
  );
  assert.deepEqual(asked, ['/apis/metrics.k8s.io/v1beta1/namespaces/shop/pods?labelSelector=app%3Dweb']);
  answer = { items: 'many' };
  await assert.rejects(
    metrics.resource(query),
    /unable to fetch metrics from resource metrics API: the answer is no PodMetricsList: /,
  );
});
