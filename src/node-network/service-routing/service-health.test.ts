import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { computeHealthChecks, healthAnswer } from './service-health.ts';

const service = (spec: Partial<Service['spec']>): Service => ({
  metadata: { name: 'web', namespace: 'shop', uid: 'w' },
  spec: { type: 'LoadBalancer', externalTrafficPolicy: 'Local', healthCheckNodePort: 31_000, ...spec },
});
const slice = (endpoints: EndpointSlice['endpoints']): EndpointSlice => ({
  metadata: { name: 'web-1', namespace: 'shop', uid: 's' },
  addressType: 'IPv4',
  endpoints,
  ports: [{ name: '', port: 80, protocol: 'TCP' }],
});
const count = (...endpoints: EndpointSlice['endpoints'][]): number | undefined =>
  computeHealthChecks([service({})], () => endpoints.map(slice), 'here').get(31_000)?.localEndpoints;

describe('health checks of services', () => {
  it('count ready endpoints of this node, each address once', () => {
    const [a, b] = [
      { addresses: ['10.0.0.1'], nodeName: 'here' },
      { addresses: ['10.0.0.2'], nodeName: 'here', conditions: { ready: false, serving: true, terminating: true } },
    ];
    assert.equal(count([a, b, { addresses: ['10.0.0.3'], nodeName: 'there' }], [a]), 1);
    assert.equal(count(), 0);
  });

  it('are only for load balancers whose traffic stays on its node', () => {
    for (const spec of [
      { type: 'NodePort' },
      { externalTrafficPolicy: 'Cluster' },
      { healthCheckNodePort: undefined },
      { healthCheckNodePort: 70_000 },
    ] as Partial<Service['spec']>[])
      assert.equal(computeHealthChecks([service(spec)], () => [], 'here').size, 0, JSON.stringify(spec));
  });

  it('answer 200 with a local endpoint and rules in force, else 503; load balancers read the weight', () => {
    const check = { port: 31_000, namespace: 'shop', name: 'web', localEndpoints: 2 };
    const { status, headers, body } = healthAnswer(check, true);
    assert.deepEqual([status, headers['X-Load-Balancing-Endpoint-Weight']], [200, '2']);
    assert.deepEqual(JSON.parse(body), {
      service: { namespace: 'shop', name: 'web' },
      localEndpoints: 2,
      serviceProxyHealthy: true,
    });
    assert.equal(healthAnswer(check, false).status, 503);
    assert.equal(healthAnswer({ ...check, localEndpoints: 0 }, true).status, 503);
  });
});
