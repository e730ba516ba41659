import assert from 'node:assert/strict';
import { it } from 'node:test';
import { deployments, namespaces, services } from '../../../api/client/resource-types.ts';
import { noOtherApis } from '../../controller-runtime/other-apis.ts';
import type { OtherApis } from '../../controller-runtime/other-apis.ts';
import { createServedMetrics } from './served-metrics.ts';

/** Creates servers that always return this response, and records the requests. */
function servers(answer: unknown, served: readonly string[] = ['custom.metrics.k8s.io/v1beta1']) {
  const asked: string[] = [];
  const others: OtherApis = {
    ...noOtherApis,
    versionOf: (group, versions) => versions.find((version) => served.includes(`${group}/${version}`)),
    get: (_api, path) => {
      asked.push(path);
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  };
  return { asked, metrics: createServedMetrics(others, () => [deployments, services, namespaces]) };
}
const selector = { matchLabels: { verb: 'GET' } };
const EXTERNAL = ['external.metrics.k8s.io/v1beta1'];

it('pod metrics are requested by label selector, and keep the timestamp and window of the server', async () => {
  const item = (name: string, more: object) => ({ describedObject: { kind: 'Pod', name }, value: '1500m', ...more });
  const { asked, metrics } = servers({
    kind: 'MetricValueList',
    items: [item('a', { metricName: 'hits', timestamp: '2026-01-01T00:00:01Z', windowSeconds: 30 }), item('b', {})],
  });
  assert.deepEqual(
    [...(await metrics.pods('shop', 'app=web', { name: 'hits', selector }))],
    [
      ['a', { milliValue: 1500n, atMs: Date.parse('2026-01-01T00:00:01Z'), windowMs: 30_000 }],
      ['b', { milliValue: 1500n, atMs: 0, windowMs: 60_000 }],
    ],
  );
  assert.deepEqual(asked, [
    '/apis/custom.metrics.k8s.io/v1beta1/namespaces/shop/pods/*/hits?labelSelector=app%3Dweb&metricLabelSelector=verb%3DGET',
  ]);
});

it('an object metric is requested by resource, a namespace metric by the namespace itself', async () => {
  const { asked, metrics } = servers({ items: [{ describedObject: { name: 'x' }, value: '7' }] }, [
    'custom.metrics.k8s.io/v1beta1',
    'custom.metrics.k8s.io/v1beta2',
  ]);
  const metric = { name: 'hits' };
  assert.equal(await metrics.object('shop', { kind: 'Service', name: 'front' }, metric), 7000n);
  await metrics.object('shop', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'a/b' }, metric);
  await metrics.object('shop', { apiVersion: 'v1', kind: 'Namespace', name: 'other' }, metric);
  const base = '/apis/custom.metrics.k8s.io/v1beta2/namespaces';
  assert.deepEqual(asked, [
    `${base}/shop/services/front/hits`,
    `${base}/shop/deployments.apps/a%2Fb/hits`,
    `${base}/other/metrics/hits`,
  ]);
  await assert.rejects(metrics.object('shop', { kind: 'Thing', name: 'x' }, metric), /no matches for kind "Thing"/);
});

it('an external metric has a value for each of its series, even beyond the precision of a number', async () => {
  const { asked, metrics } = servers({ items: [{ value: '3' }, { value: '9007199254740993' }] }, EXTERNAL);
  assert.deepEqual(await metrics.external('shop', { name: 'queue', selector }), [3000n, 9007199254740993000n]);
  assert.deepEqual(asked, ['/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue?labelSelector=verb%3DGET']);
});

it('missing metrics give upstream’s messages, and invalid responses are rejected', async () => {
  const custom = 'unable to fetch metrics from custom metrics API: ';
  const pods = (answer: unknown, served?: readonly string[]): Promise<unknown> =>
    servers(answer, served).metrics.pods('shop', '', { name: 'hits' });
  await assert.rejects(pods({}, []), {
    message: `${custom}no custom metrics API (custom.metrics.k8s.io) registered`,
  });
  await assert.rejects(pods({ items: [] }), { message: 'no metrics returned from custom metrics API' });
  await assert.rejects(pods(new Error('no such metric')), { message: `${custom}no such metric` });
  await assert.rejects(pods({ items: [{ describedObject: {}, value: 'many' }] }), /the answer is no MetricValueList: /);
  await assert.rejects(servers({ items: [] }, EXTERNAL).metrics.external('shop', { name: 'queue' }), {
    message: 'no metrics returned from external metrics API',
  });
  await assert.rejects(servers({}, []).metrics.external('shop', { name: 'queue' }), {
    message:
      'unable to fetch metrics from external metrics API: the server could not find the requested resource (get queue.external.metrics.k8s.io)',
  });
});
