import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { ServiceEndpoint } from '../../controller-runtime/service-endpoints.ts';
import { AddressGroups, listedAddress, truncateSubsets } from './address-groups.ts';

const service = (spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default', uid: 'web' },
  spec: { type: 'ClusterIP', ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }], ...spec },
});

interface Given extends Partial<Omit<ServiceEndpoint, 'pod'>> {
  readonly ips?: readonly string[];
  readonly pod?: Record<string, unknown>;
}

function endpoint(name: string, { ips = [`10.0.0.${name}`], pod = {}, ...more }: Given = {}): ServiceEndpoint {
  return {
    ...{ ready: true, serving: true, terminating: false, hostname: undefined },
    ...more,
    pod: buildPod({
      'metadata.name': `p${name}`,
      'metadata.uid': `p${name}`,
      'spec.nodeName': 'n1',
      'status.podIPs': ips.map((ip) => ({ ip })),
      ...pod,
    }),
  };
}

/** Formats a subset as `1 2 | 3 @ 8080`: ready, not ready, and ports. */
const shown = ({ addresses = [], notReadyAddresses = [], ports = [] }: EndpointSubset): string =>
  [
    addresses.map(({ ip }) => ip.replace('10.0.0.', '')).join(' '),
    ...(notReadyAddresses.length === 0
      ? []
      : ['|', notReadyAddresses.map(({ ip }) => ip.replace('10.0.0.', '')).join(' ')]),
    ...ports.map(({ name, port, protocol }) => `@ ${name === undefined ? '' : `${name}=`}${port}/${protocol}`),
  ].join(' ');
const grouped = (of: Service, endpoints: readonly ServiceEndpoint[]): EndpointSubset[] => {
  const groups = new AddressGroups();
  for (const listed of endpoints.flatMap((each) => listedAddress(of, each) ?? [])) groups.add(listed);
  return groups.subsets;
};
const subsets = (of: Service, ...endpoints: ServiceEndpoint[]): string[] => grouped(of, endpoints).map(shown);

describe('the subsets of a service', () => {
  it('list ready and other addresses separately, sorted as text', () => {
    const all = [
      endpoint('3'),
      endpoint('1'),
      endpoint('2', { ready: false }),
      endpoint('4', { ready: false }),
      endpoint('10'),
    ];
    assert.deepEqual(subsets(service(), ...all), ['1 10 3 | 2 4 @ 8080/TCP']);
    assert.deepEqual(subsets(service(), ...all.toReversed()), ['1 10 3 | 2 4 @ 8080/TCP']);
    assert.deepEqual(subsets(service(), endpoint('1', { ready: false })), [' | 1 @ 8080/TCP']);
    assert.deepEqual(subsets(service()), []);
  });

  it('omit terminating pods, unless they are published as ready', () => {
    assert.deepEqual(subsets(service(), endpoint('1', { ready: false, terminating: true })), []);
    assert.deepEqual(subsets(service(), endpoint('1', { terminating: true })), ['1 @ 8080/TCP']);
  });

  it('are one for each set of ports, without pods that have none of the ports', () => {
    const named = service({ ports: [{ name: 'http', port: 80, protocol: 'TCP', targetPort: 'web' }] });
    const at = (containerPort: number): Given => ({
      pod: { 'spec.containers[0].ports': [{ name: 'web', containerPort, protocol: 'TCP' }] },
    });
    const all = [endpoint('1', at(8080)), endpoint('2', at(9090)), endpoint('3', at(8080)), endpoint('4')];
    assert.deepEqual(subsets(named, ...all), ['1 3 @ http=8080/TCP', '2 @ http=9090/TCP']);
  });

  it('have no ports for a headless service without ports', () => {
    assert.deepEqual(
      grouped(service({ clusterIP: 'None', ports: [] }), [endpoint('1')]).map((each) => 'ports' in each),
      [false],
    );
  });

  it('have addresses of the first family of the service', () => {
    const both = endpoint('1', { ips: ['10.0.0.1', 'fd00::1'] });
    assert.deepEqual(subsets(service({ ipFamilies: ['IPv6', 'IPv4'] }), both), ['fd00::1 @ 8080/TCP']);
    assert.deepEqual(subsets(service({ ipFamilies: ['IPv4'] }), both), ['1 @ 8080/TCP']);
    assert.deepEqual(subsets(service(), endpoint('1', { ips: ['fd00::1'] })), []);
  });

  it('name the pod, its node and its host name', () => {
    const targetRef = { kind: 'Pod', namespace: 'default', name: 'p1', uid: 'p1' };
    const addressOf = (given: Given): unknown => grouped(service(), [endpoint('1', given)])[0]?.addresses?.[0];
    assert.deepEqual(addressOf({ hostname: 'h' }), { ip: '10.0.0.1', hostname: 'h', nodeName: 'n1', targetRef });
    assert.deepEqual(addressOf({ pod: { 'spec.nodeName': undefined } }), { ip: '10.0.0.1', targetRef });
    assert.deepEqual(grouped(service(), [endpoint('1', { pod: { 'status.podIPs': undefined } })]), []);
  });
});

describe('an Endpoints object', () => {
  const many = (count: number, more: EndpointSubset = {}): EndpointSubset => ({
    addresses: Array.from({ length: count }, (_, index) => ({ ip: `10.0.${index >> 8}.${index & 255}` })),
    ...more,
  });
  const counts = (...given: EndpointSubset[]): [boolean, ...string[]] => {
    const { subsets: kept, truncated } = truncateSubsets(given);
    return [
      truncated,
      ...kept.map(
        ({ addresses, notReadyAddresses }) => `${addresses?.length ?? '-'} ${notReadyAddresses?.length ?? '-'}`,
      ),
    ];
  };

  it('has at most a thousand addresses, and is marked if some are missing', () => {
    assert.deepEqual(counts(many(1_000)), [false, '1000 -']);
    assert.deepEqual(counts(many(1_001)), [true, '1000 -']);
    assert.deepEqual(counts(many(600), many(600)), [true, '600 -', '400 -']);
    assert.deepEqual(counts({}), [false, '- -']);
  });

  it('keeps ready addresses first', () => {
    const notReadyAddresses = many(700).addresses ?? [];
    assert.deepEqual(counts(many(200, { notReadyAddresses }), many(200)), [true, '200 600', '200 -']);
    assert.deepEqual(counts({ notReadyAddresses }, many(1_000)), [true, '1000 -']);
  });

  it('keeps the ports of the remaining addresses', () => {
    const ports = [{ port: 80, protocol: 'TCP' as const }];
    assert.deepEqual(truncateSubsets([many(1_001, { ports })]).subsets[0]?.ports, ports);
    assert.equal('ports' in (truncateSubsets([many(1_001)]).subsets[0] ?? {}), false);
  });
});
