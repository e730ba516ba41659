import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Service } from '../../../../api/core/service.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { computeServiceEnv, loadServices } from './service-env.ts';
import { aPod } from '../testing/builders.ts';

const service = (key: string, spec: Service['spec'] = {}): Service => {
  const [namespace = '', name = ''] = key.split('/');
  return {
    metadata: { namespace, name, uid: '' },
    spec: { clusterIP: '10.0.0.1', ports: [{ port: 80, protocol: 'TCP' }], ...spec },
  };
};
const names = (services: readonly Service[], enableServiceLinks = true, namespace = 'x'): string[] =>
  [...computeServiceEnv(services, { namespace, enableServiceLinks }).keys()].filter((name) =>
    name.endsWith('_SERVICE_HOST'),
  );

test("a service gives upstream's variables, in its order", () => {
  const ports = [
    { name: 'web-ui', port: 80, protocol: 'TCP' as const },
    { name: 'dns', port: 53, protocol: 'UDP' as const },
  ];
  assert.deepEqual(
    [...computeServiceEnv([service('x/my-svc', { ports })], { namespace: 'x', enableServiceLinks: true })],
    [
      ['MY_SVC_SERVICE_HOST', '10.0.0.1'],
      ['MY_SVC_SERVICE_PORT', '80'],
      ['MY_SVC_SERVICE_PORT_WEB_UI', '80'],
      ['MY_SVC_SERVICE_PORT_DNS', '53'],
      ['MY_SVC_PORT', 'tcp://10.0.0.1:80'],
      ['MY_SVC_PORT_80_TCP', 'tcp://10.0.0.1:80'],
      ['MY_SVC_PORT_80_TCP_PROTO', 'tcp'],
      ['MY_SVC_PORT_80_TCP_PORT', '80'],
      ['MY_SVC_PORT_80_TCP_ADDR', '10.0.0.1'],
      ['MY_SVC_PORT_53_UDP', 'udp://10.0.0.1:53'],
      ['MY_SVC_PORT_53_UDP_PROTO', 'udp'],
      ['MY_SVC_PORT_53_UDP_PORT', '53'],
      ['MY_SVC_PORT_53_UDP_ADDR', '10.0.0.1'],
    ],
  );
});

test('an IPv6 address is in brackets before a port', () => {
  const env = computeServiceEnv([service('x/s', { clusterIP: 'fd00::1' })], {
    namespace: 'x',
    enableServiceLinks: true,
  });
  assert.deepEqual([env.get('S_SERVICE_HOST'), env.get('S_PORT')], ['fd00::1', 'tcp://[fd00::1]:80']);
});

test('services of the own namespace and the API server count; those without a cluster IP do not', () => {
  const all = [
    service('default/kubernetes'),
    service('default/other'),
    service('x/own'),
    service('x/headless', { clusterIP: 'None' }),
    service('x/external', { clusterIP: '', type: 'ExternalName' }),
    service('y/foreign'),
  ];
  assert.deepEqual(names(all), ['KUBERNETES_SERVICE_HOST', 'OWN_SERVICE_HOST']);
  assert.deepEqual(names(all, true, 'default'), ['KUBERNETES_SERVICE_HOST', 'OTHER_SERVICE_HOST']);
  assert.deepEqual(names(all, false), ['KUBERNETES_SERVICE_HOST']);
});

test('a service called kubernetes of the own namespace takes precedence over the API server, unless links are off', () => {
  const all = [service('x/kubernetes', { clusterIP: '10.0.0.9' }), service('default/kubernetes')];
  const host = (services: readonly Service[], enableServiceLinks: boolean): string | undefined =>
    computeServiceEnv(services, { namespace: 'x', enableServiceLinks }).get('KUBERNETES_SERVICE_HOST');
  assert.deepEqual(
    [host(all, true), host(all.toReversed(), true), host(all, false)],
    ['10.0.0.9', '10.0.0.9', '10.0.0.1'],
  );
});

test('a pod of the API server waits until services are known, a static one does not', async () => {
  const services = (): never => {
    throw new KubeletError('Unavailable', 'not yet');
  };
  const ofApi = aPod({}, { annotations: { 'kubernetes.io/config.source': 'api' } });
  await assert.rejects(loadServices(ofApi, { services }), {
    kind: 'Unavailable',
    message: 'services have not yet been read at least once, cannot construct envvars',
  });
  assert.deepEqual(
    await loadServices(aPod({}, { annotations: { 'kubernetes.io/config.source': 'file' } }), { services }),
    [],
  );
});
