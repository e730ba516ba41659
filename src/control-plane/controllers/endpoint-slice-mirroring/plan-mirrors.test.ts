import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Endpoints, EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { computeMirrors, isMirrored, planMirrors } from './plan-mirrors.ts';
import type { Mirror } from './plan-mirrors.ts';

const metadata = { name: 'web', namespace: 'default', uid: 'web' };
const endpoints = (subsets?: EndpointSubset[], more: object = {}): Endpoints => ({
  metadata: { ...metadata, ...more },
  ...(subsets !== undefined && { subsets }),
});
const service = (selector?: Record<string, string>): Service => ({
  metadata,
  spec: { type: 'ClusterIP', ...(selector !== undefined && { selector }) },
});
const TCP = { protocol: 'TCP' as const };
const mirrors = (...subsets: EndpointSubset[]): string[] =>
  computeMirrors(endpoints(subsets)).map(
    ({ addressType, ports, endpoints: found }) =>
      `${addressType} ${ports.map(({ name, port, protocol }) => `${name}=${port}/${protocol}`).join()}: ${found
        .map(({ addresses: [ip], conditions }) => `${ip}${conditions?.ready === true ? '' : '!'}`)
        .join(' ')}`,
  );

describe('Endpoints are mirrored', () => {
  const mirrored = (more: object, of: Service | undefined = service()): boolean => isMirrored(endpoints([], more), of);

  it('if a user wrote them for a service without a selector', () => {
    assert.equal(mirrored({}), true);
    assert.equal(mirrored({}, service({ app: 'web' })), false);
    assert.equal(isMirrored(endpoints([]), undefined), false);
    assert.equal(isMirrored(undefined, service()), false);
  });

  it('unless they are being deleted, have the skip label, or belong to a leader election', () => {
    assert.equal(mirrored({ deletionTimestamp: '2026-01-01T00:00:00Z' }), false);
    assert.equal(mirrored({ labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), false);
    assert.equal(mirrored({ labels: { 'endpointslice.kubernetes.io/skip-mirror': 'false' } }), true);
    assert.equal(mirrored({ annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }), false);
    assert.equal(mirrored({ annotations: { own: 'x' } }), true);
  });
});

describe('the mirror of Endpoints', () => {
  it('has one slice for each set of ports and family', () => {
    const http = [{ name: 'http', port: 80, ...TCP }];
    assert.deepEqual(
      mirrors(
        { addresses: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }], ports: http },
        { addresses: [{ ip: '10.0.0.2' }], ports: [{ port: 90 }] },
        { notReadyAddresses: [{ ip: '10.0.0.3' }], ports: http },
      ),
      ['IPv4 http=80/TCP: 10.0.0.1 10.0.0.3!', 'IPv6 http=80/TCP: fd00::1', 'IPv4 =90/TCP: 10.0.0.2'],
    );
    assert.deepEqual(mirrors({ addresses: [], ports: http }), []);
    assert.deepEqual(computeMirrors(endpoints()), []);
  });

  it('does not depend on the order of ports', () => {
    const [a, b, c] = [
      { name: 'a', port: 2, ...TCP },
      { name: 'b', port: 1, ...TCP },
      { name: 'b', port: 3, ...TCP },
    ];
    assert.deepEqual(
      mirrors(
        { addresses: [{ ip: '10.0.0.1' }], ports: [c, b, a] },
        { addresses: [{ ip: '10.0.0.2' }], ports: [a, b, c] },
      ),
      ['IPv4 a=2/TCP,b=1/TCP,b=3/TCP: 10.0.0.1 10.0.0.2'],
    );
    assert.deepEqual(mirrors({ addresses: [{ ip: '10.0.0.1' }] }), ['IPv4 : 10.0.0.1']);
  });

  it('has an address once, and as not ready if it is listed as both', () => {
    assert.deepEqual(mirrors({ addresses: [{ ip: '10.0.0.1' }], notReadyAddresses: [{ ip: '10.0.0.1' }] }), [
      'IPv4 : 10.0.0.1!',
    ]);
    const targetRef = (uid: string): object => ({ kind: 'Pod', name: uid, uid });
    assert.deepEqual(
      mirrors({
        addresses: [
          { ip: '10.0.0.1', targetRef: targetRef('a') },
          { ip: '10.0.0.1', targetRef: targetRef('b') },
        ],
      }),
      ['IPv4 : 10.0.0.1 10.0.0.1'],
    );
  });

  it('has addresses in canonical form, without invalid ones', () => {
    assert.deepEqual(mirrors({ addresses: [{ ip: 'FD00:0::1' }, { ip: 'web' }] }), ['IPv6 : fd00::1']);
  });

  it('has at most a thousand addresses for a set of ports', () => {
    const addresses = Array.from({ length: 1_001 }, (_, index) => ({ ip: `10.0.${index >> 8}.${index & 255}` }));
    assert.equal(computeMirrors(endpoints([{ addresses }]))[0]?.endpoints.length, 1_000);
  });

  it('keeps all fields of addresses and ports', () => {
    const targetRef = { kind: 'Pod', name: 'p', uid: 'p' };
    const ports = [{ name: 'http', port: 80, protocol: 'UDP' as const, appProtocol: 'h2c' }];
    const full = { ip: '10.0.0.1', hostname: 'h', nodeName: 'n1', targetRef };
    const [mirror] = computeMirrors(endpoints([{ addresses: [full, { ip: '10.0.0.2', hostname: '' }], ports }]));
    assert.deepEqual(mirror?.endpoints, [
      { addresses: ['10.0.0.1'], conditions: { ready: true }, hostname: 'h', targetRef, nodeName: 'n1' },
      { addresses: ['10.0.0.2'], conditions: { ready: true } },
    ]);
    assert.deepEqual(mirror?.ports, ports);
    const [plain] = computeMirrors(endpoints([{ addresses: [full], ports: [{ port: 80 }] }]));
    assert.deepEqual(plain?.ports, [{ name: '', port: 80, protocol: 'TCP' }]);
  });

  it('has the labels and annotations of the Endpoints, except those of tools', () => {
    const annotations = {
      own: 'x',
      'endpoints.kubernetes.io/last-change-trigger-time': 'y',
      'kubectl.kubernetes.io/last-applied-configuration': 'z',
    };
    const [mirror] = computeMirrors(
      endpoints([{ addresses: [{ ip: '10.0.0.1' }] }], { labels: { own: 'l' }, annotations }),
    );
    assert.deepEqual(mirror?.annotations, { own: 'x' });
    assert.deepEqual(mirror?.labels, {
      own: 'l',
      'kubernetes.io/service-name': 'web',
      'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
    });
  });
});

describe('slices', () => {
  const mirror = (port: number, more: Partial<Mirror> = {}): Mirror => ({
    ...{ labels: { l: 'x' }, annotations: {}, addressType: 'IPv4', ports: [{ name: '', port, ...TCP }] },
    endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
    ...more,
  });
  const slice = (name: string, port: number, more: Partial<Mirror> = {}): EndpointSlice => {
    const { labels, annotations, addressType, ports, endpoints: found } = mirror(port, more);
    return {
      metadata: { ...metadata, name, labels: { ...labels }, annotations: { ...annotations } },
      ...{ addressType, ports: [...ports], endpoints: [...found] },
    };
  };
  const planned = (existing: EndpointSlice[], ...wanted: Mirror[]): string => {
    const plan = planMirrors(existing, wanted);
    return [
      ...plan.create.map(({ addressType, ports: [port] }) => `create ${addressType} ${port?.port}`),
      ...plan.update.map(
        ({
          slice: { metadata: of },
          mirror: {
            ports: [port],
          },
        }) => `update ${of.name} ${port?.port}`,
      ),
      ...plan.delete.map(({ metadata: of }) => `delete ${of.name}`),
    ].join(', ');
  };

  it('are created, kept and deleted by family and ports', () => {
    assert.equal(planned([], mirror(80)), 'create IPv4 80');
    assert.equal(planned([slice('a', 80), slice('b', 90)], mirror(80), mirror(90)), '');
    assert.equal(planned([slice('a', 80), slice('b', 90)], mirror(90)), 'delete a');
    assert.equal(planned([slice('a', 80)], mirror(80, { addressType: 'IPv6' })), 'create IPv6 80, delete a');
    assert.equal(planned([slice('a', 80), slice('b', 80)], mirror(80)), 'delete b');
    assert.equal(planned([slice('a', 80)], mirror(80), mirror(80)), 'create IPv4 80');
  });

  it('are written if labels, annotations or addresses differ', () => {
    const all = [slice('a', 80)];
    assert.equal(planned(all, mirror(80, { labels: { l: 'y' } })), 'update a 80');
    assert.equal(planned(all, mirror(80, { annotations: { own: 'y' } })), 'update a 80');
    assert.equal(planned(all, mirror(80, { endpoints: [] })), 'update a 80');
  });
});
