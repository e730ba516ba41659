// A cluster of many services in an API server in memory.
import { endpointSlices, namespaces, services } from '../../../src/api/client/resource-types.ts';
import { FakeApiClient } from '../../../src/api/client/testing/fake-api-client.ts';
import type { Service } from '../../../src/api/core/service.ts';
import type { EndpointSlice } from '../../../src/api/discovery/endpoint-slice.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { seededRandom } from '../../../src/base/random.ts';

export const POD_RANGE = '10.128.0.0/9';
export const SERVICE_RANGE = '10.96.0.0/12';

const ipOf = (first: number, at: number): string =>
  [24, 16, 8, 0].map((shift) => Math.floor((first + at) / 2 ** shift) % 256).join('.');
export const serviceIp = (at: number): string => ipOf(10 * 2 ** 24 + 96 * 2 ** 16, at + 10);
const podIp = (at: number): string => ipOf(10 * 2 ** 24 + 128 * 2 ** 16, at + 2);

export const serviceOf = (at: number): Service => ({
  metadata: { name: `web-${at}`, namespace: 'default', uid: `s${at}` },
  spec: {
    type: 'ClusterIP',
    clusterIP: serviceIp(at),
    clusterIPs: [serviceIp(at)],
    ports: [{ port: 80, protocol: 'TCP', targetPort: 8080 }],
  },
});

/** `shift` selects other endpoints than before. */
export const sliceOf = (at: number, endpoints: number, shift = 0): EndpointSlice => ({
  metadata: {
    name: `web-${at}-1`,
    namespace: 'default',
    uid: `e${at}`,
    labels: { 'kubernetes.io/service-name': `web-${at}` },
  },
  addressType: 'IPv4',
  endpoints: Array.from({ length: endpoints }, (_, index) => ({
    addresses: [podIp(at * endpoints + index + shift)],
    conditions: { ready: true },
    nodeName: 'other',
  })),
  ports: [{ name: '', port: 8080, protocol: 'TCP' }],
});

export function clusterOf(count: number, endpoints: number): FakeApiClient {
  const api = new FakeApiClient({ clock: systemClock, random: seededRandom(1) });
  api.seed(namespaces, { metadata: { name: 'default', namespace: '', uid: 'd' }, spec: {} });
  for (let at = 0; at < count; at += 1) {
    api.seed(services, serviceOf(at));
    api.seed(endpointSlices, sliceOf(at, endpoints));
  }
  return api;
}
