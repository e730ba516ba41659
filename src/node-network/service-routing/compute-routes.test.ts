import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Service } from '../../api/core/service.ts';
import { computeRoutes } from './compute-routes.ts';
import type { ServiceRoute } from './compute-routes.ts';
import { service, slice } from './testing/service-builders.ts';

const routes = (...services: Service[]): ServiceRoute[] =>
  computeRoutes(services, ({ metadata }) => [slice(metadata.name, ['10.84.0.1'])], { nodeName: 'node' });
const names = (...services: Service[]): string =>
  routes(...services)
    .map(({ name, protocol }) => `${name}/${protocol}`)
    .join(' ');
const routeOf = (spec: Partial<Service['spec']>, more: Partial<Service> = {}): ServiceRoute => {
  const [route] = routes({ ...service('web', spec), ...more });
  assert.ok(route !== undefined);
  return route;
};
const TCP = { protocol: 'TCP' as const };

describe('the services that have routes', () => {
  it('have an IPv4 address', () => {
    assert.equal(names(service('web')), 'default/web:80/tcp');
    for (const clusterIP of ['None', '', 'fd00::1', undefined])
      assert.equal(names(service('web', { clusterIP })), '', String(clusterIP));
    assert.equal(routeOf({ clusterIP: 'fd00::1', clusterIPs: ['fd00::1', '10.96.0.7'] }).clusterIp, '10.96.0.7');
    assert.equal(names(service('web', { type: 'ExternalName' })), '');
  });

  it('did not ask for another proxy', () => {
    const other = { 'service.kubernetes.io/service-proxy-name': 'mesh' };
    assert.equal(names({ ...service('web'), metadata: { ...service('web').metadata, labels: other } }), '');
    assert.equal(
      names({ ...service('web'), metadata: { ...service('web').metadata, labels: { app: 'web' } } }),
      'default/web:80/tcp',
    );
  });

  it('have names and ports that a rule can hold', () => {
    assert.equal(names(service('a'.repeat(63))), `default/${'a'.repeat(63)}:80/tcp`);
    for (const name of ['a'.repeat(64), 'a b', 'A', '-a', 'a-', '']) assert.equal(names(service(name)), '', name);
    assert.equal(names({ ...service('web'), metadata: { name: 'web', namespace: 'a b', uid: 'x' } }), '');
    assert.equal(names(service('web', { ports: [{ name: 'a b', port: 80, ...TCP }] })), '');
    assert.equal(names(service('web', { ports: [{ port: 0, ...TCP }] })), '');
    assert.equal(names(service('web', { ports: [{ port: 80, protocol: 'ICMP' as 'TCP' }] })), '');
    assert.equal(names(service('web', { ports: undefined })), '');
  });

  it('have one route for each port, in the order of their names and protocols', () => {
    const dns = service('dns', {
      ports: [
        { name: 'dns', port: 53, protocol: 'UDP' },
        { name: 'dns', port: 53, ...TCP },
        { port: 9, protocol: 'SCTP' },
      ],
    });
    const expected = 'default/dns:9/sctp default/dns:dns/tcp default/dns:dns/udp default/web:80/tcp';
    assert.equal(names(service('web'), dns), expected);
    assert.equal(names(dns, service('web')), expected);
    assert.equal(names(service('web', { ports: [{ port: 80 }] })), 'default/web:80/tcp');
  });
});

describe('a route', () => {
  it('leads to the endpoints of the port', () => {
    assert.deepEqual(routeOf({}).all, [{ ip: '10.84.0.1', port: 8080, local: true }]);
    assert.deepEqual(routeOf({ ports: [{ port: 80 }] }).all.length, 1);
    assert.deepEqual(routeOf({ ports: [{ name: 'other', port: 80, ...TCP }] }).all, []);
  });

  it('has the port of the nodes where the type has one', () => {
    const at = (nodePort: number | undefined): Partial<Service['spec']> => ({
      ports: [{ port: 80, ...TCP, nodePort }],
    });
    assert.equal(routeOf({ type: 'NodePort', ...at(30_080) }).nodePort, 30_080);
    assert.equal(routeOf({ type: 'LoadBalancer', ...at(30_080) }).nodePort, 30_080);
    assert.equal(routeOf({ type: 'ClusterIP', ...at(30_080) }).nodePort, undefined);
    assert.equal(routeOf({ type: 'NodePort', ...at(0) }).nodePort, undefined);
    assert.equal(routeOf({ type: 'NodePort', ...at(undefined) }).nodePort, undefined);
  });

  it('keeps a client at its endpoint for three hours, or as long as the service says', () => {
    const seconds = (timeoutSeconds?: number): number | undefined =>
      routeOf({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds } } }).affinitySeconds;
    assert.equal(routeOf({}).affinitySeconds, undefined);
    assert.equal(routeOf({ sessionAffinity: 'None' }).affinitySeconds, undefined);
    assert.equal(routeOf({ sessionAffinity: 'ClientIP' }).affinitySeconds, 10_800);
    assert.equal(routeOf({ sessionAffinity: 'ClientIP', sessionAffinityConfig: {} }).affinitySeconds, 10_800);
    assert.deepEqual([1, 60, 86_400].map(seconds), [1, 60, 86_400]);
    assert.deepEqual([0, 86_401, 1.5, undefined].map(seconds), [10_800, 10_800, 10_800, 10_800]);
  });

  it('stays on the node if the policy of the service is Local', () => {
    assert.deepEqual(
      [routeOf({}).internalLocal, routeOf({ internalTrafficPolicy: 'Cluster' }).internalLocal],
      [false, false],
    );
    assert.equal(routeOf({ internalTrafficPolicy: 'Local' }).internalLocal, true);
    const externalTrafficPolicy = 'Local' as const;
    assert.equal(routeOf({ externalTrafficPolicy }).externalLocal, false);
    assert.equal(routeOf({ externalTrafficPolicy, externalIPs: ['192.0.2.1'] }).externalLocal, true);
    assert.equal(routeOf({ externalTrafficPolicy, type: 'NodePort' }).externalLocal, true);
    assert.equal(routeOf({ externalTrafficPolicy, type: 'LoadBalancer' }).externalLocal, true);
    assert.equal(routeOf({ type: 'NodePort', externalTrafficPolicy: 'Cluster' }).externalLocal, false);
  });
});

describe('external addresses', () => {
  const balanced = (ingress: object[], spec: Partial<Service['spec']> = {}): ServiceRoute['externalIps'] =>
    routeOf({ type: 'LoadBalancer', ...spec }, { status: { loadBalancer: { ingress } } }).externalIps;

  it('are its own, and those of a load balancer that leaves the work to the nodes', () => {
    assert.deepEqual(routeOf({ externalIPs: ['192.0.2.1', 'fd00::1', 'web'] }).externalIps, [{ ip: '192.0.2.1' }]);
    assert.deepEqual(
      balanced([
        { ip: '192.0.2.2' },
        { ip: '192.0.2.3', ipMode: 'Proxy' },
        { ip: '192.0.2.4', ipMode: 'VIP' },
        { hostname: 'x' },
      ]),
      [{ ip: '192.0.2.2' }, { ip: '192.0.2.4' }],
    );
    assert.deepEqual(balanced([{ ip: '192.0.2.2' }], { type: 'NodePort' }), []);
    assert.deepEqual(routeOf({ type: 'LoadBalancer' }, { status: {} }).externalIps, []);
  });

  it('of a load balancer are for the ranges of the service; without a valid one, for no address', () => {
    const ranges = (...loadBalancerSourceRanges: string[]): unknown =>
      balanced([{ ip: '192.0.2.2' }], { loadBalancerSourceRanges })[0];
    assert.deepEqual(ranges(' 198.51.100.0/24 ', 'fd00::/8'), { ip: '192.0.2.2', sourceRanges: ['198.51.100.0/24'] });
    assert.deepEqual(ranges('fd00::/8'), { ip: '192.0.2.2', sourceRanges: [] });
    assert.deepEqual(ranges(), { ip: '192.0.2.2' });
    assert.deepEqual(
      routeOf({ externalIPs: ['192.0.2.1'], loadBalancerSourceRanges: ['198.51.100.0/24'] }).externalIps,
      [{ ip: '192.0.2.1' }],
    );
  });

  it('have the address of the node once, where its load balancer gave it', () => {
    const address = '192.0.2.9';
    const withBalancer = (given: Service, reserved: string[] = []): ServiceRoute['externalIps'] =>
      computeRoutes([given], () => [], {
        nodeName: 'node',
        balancer: { addresses: [address], reserved: new Set(reserved) },
      })[0]?.externalIps ?? [];
    const own = {
      ...service('web', { type: 'LoadBalancer' }),
      status: { loadBalancer: { ingress: [{ ip: address }, { ip: '192.0.2.2' }] } },
    };
    assert.deepEqual(withBalancer(own), [{ ip: '192.0.2.2' }, { ip: address, isNodes: true }]);
    assert.deepEqual(withBalancer(service('web')), []);
    assert.deepEqual(withBalancer(service('web', { type: 'LoadBalancer' }), ['80/tcp']), []);
  });
});
