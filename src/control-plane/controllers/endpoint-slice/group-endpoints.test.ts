import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Service } from '../../../api/core/service.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ServiceEndpoint } from '../../controller-runtime/service-endpoints.ts';
import { groupEndpoints } from './group-endpoints.ts';

const service = (spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default', uid: 'web' },
  spec: { type: 'ClusterIP', ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'web' }], ...spec },
});
const node = (labels?: Record<string, string>): Node => ({
  metadata: { name: 'n1', namespace: '', uid: 'n1', ...(labels !== undefined && { labels }) },
});

function endpoint(
  name: string,
  ips: readonly string[],
  changes: Record<string, unknown> = {},
  hostname?: string,
): ServiceEndpoint {
  const pod = buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'status.podIPs': ips.map((ip) => ({ ip })),
    'spec.containers[0].ports': [{ name: 'web', containerPort: 8080, protocol: 'TCP' }],
    ...changes,
  });
  return { pod, ready: false, serving: true, terminating: true, hostname };
}

/** Formats the groups as `IPv4 8080: a b`. */
function grouped(of: Service, ...endpoints: ServiceEndpoint[]): string[] {
  return groupEndpoints(of, endpoints, () => undefined).map(
    ({ addressType, ports, endpoints: found }) =>
      `${addressType} ${ports.map(({ name, port }) => `${name}=${port}`).join()}: ${found.map(({ targetRef }) => targetRef?.name).join(' ')}`,
  );
}

describe('the endpoints of a service', () => {
  const [a, b] = [endpoint('a', ['10.0.0.1', 'fd00::1']), endpoint('b', ['10.0.0.2'])];

  it('are grouped by family; a family without endpoints has an empty group', () => {
    assert.deepEqual(grouped(service({ ipFamilies: ['IPv4', 'IPv6'] }), a, b), [
      'IPv4 http=8080: a b',
      'IPv6 http=8080: a',
    ]);
    assert.deepEqual(grouped(service(), a, b), ['IPv4 http=8080: a b']);
    assert.deepEqual(grouped(service({ ipFamilies: ['IPv6'] }), b), ['IPv6 : ']);
    assert.deepEqual(grouped(service({ ipFamilies: ['IPv4', 'IPv6'] })), ['IPv4 : ', 'IPv6 : ']);
  });

  it('are grouped by ports; a pod without any of them is listed without ports', () => {
    const other = endpoint('c', ['10.0.0.3'], {
      'spec.containers[0].ports': [{ name: 'web', containerPort: 9090, protocol: 'TCP' }],
    });
    const none = endpoint('d', ['10.0.0.4'], { 'spec.containers[0].ports': undefined });
    assert.deepEqual(grouped(service(), a, other, none, b), ['IPv4 http=8080: a b', 'IPv4 http=9090: c', 'IPv4 : d']);
  });

  it('have all addresses of the pod in the family, and are not listed without any', () => {
    const two = endpoint('c', ['10.0.0.3', '10.0.0.4', 'fd00::3']);
    assert.deepEqual(groupEndpoints(service(), [two], () => undefined)[0]?.endpoints[0]?.addresses, [
      '10.0.0.3',
      '10.0.0.4',
    ]);
    assert.deepEqual(grouped(service(), endpoint('d', [], { 'status.podIPs': undefined })), ['IPv4 : ']);
  });

  it('contain the conditions, node and zone of the pod', () => {
    const conditions = { ready: false, serving: true, terminating: true };
    const targetRef = { kind: 'Pod', namespace: 'default', name: 'a', uid: 'a' };
    const of = (each: ServiceEndpoint, at?: Node): unknown =>
      groupEndpoints(service(), [each], (name) => (name === 'n1' ? at : undefined))[0]?.endpoints[0];
    const known = { addresses: ['10.0.0.1'], conditions, targetRef };
    const placed = endpoint('a', ['10.0.0.1'], { 'spec.nodeName': 'n1' }, 'host');
    assert.deepEqual(of(a, node({ 'topology.kubernetes.io/zone': 'z' })), known);
    assert.deepEqual(of(placed, node({ 'topology.kubernetes.io/zone': 'z' })), {
      ...known,
      hostname: 'host',
      nodeName: 'n1',
      zone: 'z',
    });
    assert.deepEqual(of(placed, node()), { ...known, hostname: 'host', nodeName: 'n1' });
    assert.deepEqual(of(placed), { ...known, hostname: 'host', nodeName: 'n1' });
  });

  it('have hints for clients in their zone or on their node, as the service requests', () => {
    const placed = endpoint('a', ['10.0.0.1'], { 'spec.nodeName': 'n1' });
    const hints = (spec: Partial<Service['spec']>, labels?: Record<string, string>, annotations = {}): unknown => {
      const of = service(spec);
      return groupEndpoints({ ...of, metadata: { ...of.metadata, annotations } }, [placed], () => node(labels))[0]
        ?.endpoints[0]?.hints;
    };
    const zone = { 'topology.kubernetes.io/zone': 'z1' };
    for (const trafficDistribution of ['PreferClose', 'PreferSameZone']) {
      assert.deepEqual(hints({ trafficDistribution }, zone), { forZones: [{ name: 'z1' }] });
      assert.equal(hints({ trafficDistribution }), undefined);
    }
    assert.deepEqual(hints({ trafficDistribution: 'PreferSameNode' }, zone), {
      forZones: [{ name: 'z1' }],
      forNodes: [{ name: 'n1' }],
    });
    assert.deepEqual(hints({ trafficDistribution: 'PreferSameNode' }), { forNodes: [{ name: 'n1' }] });
    assert.equal(hints({}, zone), undefined);
    const mode = { 'service.kubernetes.io/topology-mode': 'Auto' };
    assert.equal(hints({ trafficDistribution: 'PreferClose' }, zone, mode), undefined);
  });
});
