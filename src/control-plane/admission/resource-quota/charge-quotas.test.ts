import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods, services } from '../../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { evaluatorOf } from '../../../api/quota/evaluators.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { chargeQuotas } from './charge-quotas.ts';
import type { LimitedResource, QuotaRequest } from './charge-quotas.ts';

const c0 = 'spec.containers[0].resources';
const quota = (
  name: string,
  hard: Record<string, string>,
  used: Record<string, string>,
  spec: Partial<ResourceQuota['spec']> = {},
): ResourceQuota => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: { hard, ...spec },
  status: { hard, used },
});
function request<T extends ApiObject>(
  type: ResourceType<T>,
  object: T,
  oldObject?: T,
  more: Partial<QuotaRequest> = {},
): QuotaRequest {
  const evaluator = evaluatorOf(type);
  assert.ok(evaluator !== undefined);
  return { evaluator, object, oldObject, subresource: '', limited: [], limitedScopes: [], ...more };
}
function charge(quotas: readonly ResourceQuota[], asked: QuotaRequest) {
  const result = chargeQuotas(quotas, asked, 0);
  return result.outcome === 'refused' ? result.why : result.quotas.map(({ status }) => status?.used);
}
const asking = (cpu: string, changes: Record<string, unknown> = {}) =>
  buildPod({ [c0]: { requests: { cpu } }, ...changes });
const service = (type: 'ClusterIP' | 'NodePort') => ({
  metadata: { name: 's', namespace: 'default', uid: '' },
  spec: { type, ports: [{ port: 80 }] },
});

describe('charging quotas', () => {
  it('adds the usage of a request to every quota that limits it, and to no other', () => {
    const quotas = [
      quota('a', { 'requests.cpu': '2', pods: '5' }, { 'requests.cpu': '1', pods: '1' }),
      quota('b', { configmaps: '1' }, { configmaps: '1' }),
      quota('c', { pods: '9' }, { pods: '2' }),
    ];
    const result = chargeQuotas(quotas, request(pods, asking('500m')), 0);
    assert.ok(result.outcome === 'charged');
    assert.deepEqual(
      result.quotas.map(({ status }) => status?.used),
      [{ 'requests.cpu': '1500m', pods: '2' }, { configmaps: '1' }, { pods: '3' }],
    );
    assert.equal(result.quotas[1], quotas[1]);
  });

  it('reports what exceeds the quota: requested, used, limited', () => {
    const full = quota(
      'a',
      { 'requests.cpu': '2', pods: '1', 'limits.cpu': '9' },
      { 'requests.cpu': '1500m', pods: '1', 'limits.cpu': '0' },
    );
    const pod = buildPod({ [c0]: { requests: { cpu: '1' }, limits: { cpu: '1' } } });
    assert.equal(
      charge([full], request(pods, pod)),
      'exceeded quota: a, requested: pods=1,requests.cpu=1, used: pods=1,requests.cpu=1500m, limited: pods=1,requests.cpu=2',
    );
  });

  it('requires a known usage, and containers that set all limited resources', () => {
    assert.equal(
      charge([quota('a', { pods: '1', cpu: '1' }, { pods: '0' })], request(pods, asking('1'))),
      'status unknown for quota: a, resources: cpu,pods',
    );
    assert.equal(
      charge([quota('a', { 'limits.cpu': '1' }, { 'limits.cpu': '0' })], request(pods, asking('1'))),
      'failed quota: a: must specify limits.cpu for: main',
    );
  });

  it('charges an update only for the increase; an update without increase passes even if the quota is full', () => {
    const over = quota('a', { 'services.nodeports': '1', services: '1' }, { 'services.nodeports': '1', services: '3' });
    assert.deepEqual(charge([over], request(services, service('ClusterIP'), service('NodePort'))), [over.status?.used]);
    assert.match(
      String(charge([over], request(services, service('NodePort'), service('ClusterIP')))),
      /^exceeded quota: a, requested: services.nodeports=1, used: services.nodeports=1, limited: services.nodeports=1$/,
    );
  });

  it('charges the full usage of an object that enters a scope', () => {
    const scoped = quota('a', { pods: '1' }, { pods: '0' }, { scopes: ['Terminating'] });
    const bounded = buildPod({ 'spec.activeDeadlineSeconds': 9 });
    assert.deepEqual(charge([scoped], request(pods, bounded, buildPod())), [{ pods: '1' }]);
    assert.deepEqual(charge([scoped], request(pods, buildPod())), [{ pods: '0' }]);
  });

  it('does not refuse status updates, which only report facts', () => {
    const full = quota('a', { pods: '1' }, { pods: '1' });
    assert.deepEqual(charge([full], request(pods, buildPod(), undefined, { subresource: 'status' })), [{ pods: '2' }]);
  });

  it('refuses limited resources that no quota covers, by name and by scope', () => {
    const limited: LimitedResource[] = [
      { apiGroup: '', resource: 'pods', matchContains: ['requests.cpu'], matchScopes: [] },
    ];
    assert.equal(
      charge([], request(pods, asking('1'), undefined, { limited })),
      'insufficient quota to consume: requests.cpu',
    );
    assert.deepEqual(
      charge(
        [quota('a', { 'requests.cpu': '1' }, { 'requests.cpu': '0' })],
        request(pods, asking('1'), undefined, { limited }),
      ),
      [{ 'requests.cpu': '1' }],
    );
    const limitedScopes = [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] as const;
    const high = buildPod({ 'spec.priorityClassName': 'high' });
    const asked = request(pods, high, undefined, {
      limitedScopes: [...limitedScopes].map((each) => ({ ...each, values: [...each.values] })),
    });
    assert.equal(charge([], asked), 'insufficient quota to match these scopes: [{PriorityClass In [high]}]');
    assert.deepEqual(
      charge(
        [
          quota(
            'a',
            { pods: '1' },
            { pods: '0' },
            { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In', values: ['high'] }] } },
          ),
        ],
        asked,
      ),
      [{ pods: '1' }],
    );
    assert.deepEqual(charge([], { ...asked, object: buildPod() }), []);
  });
});
