import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import type { PolicyPod } from './policy-pod.ts';
import { isPortNumber, policyPodOf, protocolOf } from './policy-pod.ts';

const base: Pod = {
  metadata: { name: 'p', namespace: 'n', uid: 'u', labels: { app: 'web' }, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { nodeName: 'one', containers: [] },
  status: { podIP: '10.84.0.2', podIPs: [{ ip: '10.84.0.2' }, { ip: 'fd00::2' }] },
};
const shown = (spec: Partial<Pod['spec']>, status: Pod['status'] = base.status): PolicyPod =>
  policyPodOf({ ...base, spec: { ...base.spec, ...spec }, status });

describe('the properties of a pod that policies use', () => {
  it('is where it is, how it is labelled, and what leads to it', () => {
    assert.deepEqual(policyPodOf(base), {
      key: 'n/p',
      namespace: 'n',
      labels: { app: 'web' },
      node: 'one',
      addresses: ['10.84.0.2', 'fd00::2'],
      ports: [],
      since: '2026-01-01T00:00:00Z u',
    });
  });

  it('omits properties that the pod does not have yet', () => {
    const bare = policyPodOf({ metadata: { name: 'p', namespace: 'n', uid: 'u' }, spec: { containers: [] } });
    assert.deepEqual([bare.labels, bare.node, bare.addresses, bare.since], [{}, '', [], ' u']);
  });

  it('has the address of a pod that shows one only, each once', () => {
    assert.deepEqual(shown({}, { podIP: '10.84.0.3' }).addresses, ['10.84.0.3']);
    assert.deepEqual(shown({}, { podIP: '10.84.0.3', podIPs: [{ ip: '10.84.0.3' }] }).addresses, ['10.84.0.3']);
    assert.deepEqual(shown({}, { podIP: '', podIPs: [] }).addresses, []);
  });

  it('has no address on the network of the node, nor after its end', () => {
    assert.deepEqual(shown({ hostNetwork: true }).addresses, []);
    for (const phase of ['Succeeded', 'Failed'] as const)
      assert.deepEqual(shown({}, { ...base.status, phase }).addresses, [], phase);
    assert.equal(shown({}, { ...base.status, phase: 'Running' }).addresses.length, 2);
  });

  it('has no address of loopback, the link, or anything that is none', () => {
    for (const ip of ['127.0.0.1', '169.254.0.1', 'fe80::1', '::1', 'nonsense'])
      assert.deepEqual(shown({}, { podIP: ip }).addresses, [], ip);
  });
});

describe('the named ports of a pod', () => {
  const portsOf = (...ports: NonNullable<Pod['spec']['containers'][number]['ports']>): PolicyPod['ports'] =>
    shown({ containers: [{ name: 'c', ports }] }).ports;

  it('are those with a name, a number and a protocol that policies know', () => {
    const ports = portsOf(
      { name: 'web', containerPort: 80 },
      { name: 'dns', containerPort: 53, protocol: 'UDP' },
      { name: 'call', containerPort: 36, protocol: 'SCTP' },
      { name: 'odd', containerPort: 1, protocol: 'ICMP' as 'TCP' },
      { name: 'none', containerPort: 0 },
      { containerPort: 81 },
    );
    assert.deepEqual(ports, [
      { name: 'web', protocol: 'tcp', port: 80 },
      { name: 'dns', protocol: 'udp', port: 53 },
      { name: 'call', protocol: 'sctp', port: 36 },
    ]);
  });

  it('are those of all containers that stay', () => {
    const container = (name: string, more: object = {}) => ({ name, ports: [{ name, containerPort: 90 }], ...more });
    const { ports } = shown({
      containers: [container('a'), { name: 'bare' }, container('b')],
      initContainers: [container('ends'), container('stays', { restartPolicy: 'Always' })],
    });
    assert.deepEqual(
      ports.map(({ name }) => name),
      ['a', 'b', 'stays'],
    );
  });
});

it('a protocol is TCP unless another is named', () => {
  assert.deepEqual([protocolOf(), protocolOf('UDP'), protocolOf('tcp')], ['tcp', 'udp', undefined]);
});

it('a port number is a whole one from 1 to 65535', () => {
  for (const value of [1, 80, 65_535]) assert.equal(isPortNumber(value), true, String(value));
  for (const value of [0, -1, 65_536, 1.5, Number.NaN, '80', undefined]) assert.equal(isPortNumber(value), false);
});
