import assert from 'node:assert/strict';
import test from 'node:test';
import { endpointLabels } from '../../api/annotations.ts';
import type { APIService } from '../../api/apiregistration/api-service.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { apiServices, endpointSlices, services } from '../../api/client/resource-types.ts';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { silentLogger } from '../../base/log.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { FakeObjectReader } from '../model/testing/fake-object-reader.ts';
import { createAvailabilityController } from './availability-controller.ts';
import { BackendTable } from './backend-table.ts';
import { readOpenApiHash, readResources } from './read-backend.ts';
import { resolveService } from './resolve-service.ts';

const apiService: APIService = {
  metadata: { name: 'v1.a.io', namespace: '', uid: 'u' },
  spec: {
    group: 'a.io',
    version: 'v1',
    service: { namespace: 'n', name: 's', port: 443 },
    groupPriorityMinimum: 1,
    versionPriority: 1,
  },
};
const service: Service = {
  metadata: { name: 's', namespace: 'n', uid: 's' },
  spec: { type: 'ClusterIP', clusterIP: '10.96.0.9', ports: [{ name: 'https', port: 443, targetPort: 8443 }] },
};
const slice = (ready: boolean, portName = 'https'): EndpointSlice => ({
  metadata: { name: 's-1', namespace: 'n', uid: 'e', labels: { [endpointLabels.serviceName]: 's' } },
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.7'], conditions: { ready } }],
  ports: [{ name: portName, port: 8443, protocol: 'TCP' }],
});

interface Fixture {
  readonly reader: FakeObjectReader;
  readonly table: BackendTable;
  readonly clock: FakeClock;
  readonly asked: string[];
  /** The answers of the server by path. It does not answer other paths. */
  readonly answers: Map<string, string>;
  /** Returns `status reason: message` of the condition. */
  shown(): Promise<string>;
}

async function world(): Promise<Fixture> {
  const clock = new FakeClock();
  const reader = new FakeObjectReader();
  const table = new BackendTable(reader);
  const client = new FakeApiClient({ clock });
  const asked: string[] = [];
  const answers = new Map<string, string>();
  const made = await client.create(apiServices, apiService);
  reader.put(apiServices, made);
  const controller = createAvailabilityController({
    reader,
    client,
    table,
    ask: (_, path) => {
      asked.push(path);
      const answer = answers.get(path);
      return answer === undefined ? Promise.reject(new Error(`no answer from ${path}`)) : Promise.resolve(answer);
    },
    clock,
    log: silentLogger,
  });
  controller.start();
  return {
    reader,
    table,
    clock,
    asked,
    answers,
    shown: async () => {
      await clock.settle();
      const found = await client.get(apiServices, { namespace: '', name: 'v1.a.io' });
      reader.put(apiServices, found);
      const { status, reason, message } = found.status?.conditions?.[0] ?? {};
      return `${status} ${reason}: ${message}`;
    },
  };
}

test('what the cluster’s objects say is known without asking, in upstream’s words, as soon as they say it', async () => {
  const { reader, asked, shown } = await world();
  assert.equal(await shown(), 'False ServiceNotFound: service/s in "n" is not present');
  reader.put(services, { ...service, spec: { ...service.spec, ports: [{ port: 80 }] } });
  assert.equal(await shown(), 'False ServicePortError: service/s in "n" is not listening on port 443');
  reader.put(services, service);
  assert.equal(await shown(), 'False EndpointsNotFound: cannot find endpointslices for service/s in "n"');
  reader.put(endpointSlices, slice(false));
  const missing =
    'False MissingEndpoints: endpointslices for service/s in "n" have no addresses with port name "https"';
  assert.equal(await shown(), missing);
  reader.put(endpointSlices, slice(true, 'other'));
  assert.equal(await shown(), missing);
  assert.deepEqual(asked, []);
});

test('a server that answers is available, with what it says of itself; one that stops answering is not', async () => {
  const { reader, answers, clock, table, shown } = await world();
  await shown();
  reader.put(services, service);
  reader.put(endpointSlices, slice(true));
  assert.equal(await shown(), 'False FailedDiscoveryCheck: no answer from /apis/a.io/v1');
  answers.set(
    '/apis/a.io/v1',
    JSON.stringify({ kind: 'APIResourceList', resources: [{ name: 'xs', kind: 'X', verbs: ['get'] }, 7] }),
  );
  answers.set(
    '/openapi/v3',
    JSON.stringify({ paths: { 'apis/a.io/v1': { serverRelativeURL: '/openapi/v3/apis/a.io/v1?hash=AB12' } } }),
  );
  await clock.advance(250);
  assert.equal(await shown(), 'True Passed: all checks passed');
  const backend = table.find('a.io', 'v1');
  assert.deepEqual(
    [backend?.isAvailable, backend?.openApiHash, backend?.resources?.map(({ name }) => name)],
    [true, 'AB12', ['xs']],
  );
  answers.clear();
  await clock.advance(30_000);
  assert.equal(await shown(), 'False FailedDiscoveryCheck: no answer from /apis/a.io/v1');
  assert.deepEqual([table.find('a.io', 'v1')?.isAvailable, table.find('a.io', 'v1')?.resources?.length], [false, 1]);
});

test('an APIService without a Service is this server’s own, and always available', async () => {
  const { reader, table, shown } = await world();
  assert.equal(table.all.length, 1);
  const { service: _, ...spec } = apiService.spec;
  await shown();
  const known = reader.get(apiServices, { namespace: '', name: 'v1.a.io' }) ?? assert.fail();
  reader.put(apiServices, { ...known, spec });
  assert.match(await shown(), /^True Local: Local APIServices are always available/);
  reader.remove(apiServices, { namespace: '', name: 'v1.a.io' });
  assert.equal(table.all.length, 0);
});

test('a Service is reached at its address, or at a pod that is ready', () => {
  const target = { namespace: 'n', name: 's', port: 443 };
  const facts = { service, slices: [slice(true)] };
  const [first, second] = [{ routing: 'service', random: 0 } as const, { routing: 'endpoints', random: 0.99 } as const];
  assert.deepEqual(resolveService(target, facts, first), { host: '10.96.0.9', port: 443 });
  assert.deepEqual(resolveService(target, facts, second), { host: '10.0.0.7', port: 8443 });
  assert.equal(resolveService(target, { service, slices: [] }, second), 'no endpoints available for service "n/s"');
  const headless = { ...service, spec: { ...service.spec, clusterIP: 'None' } };
  assert.deepEqual(resolveService(target, { ...facts, service: headless }, first), { host: '10.0.0.7', port: 8443 });
  const external: Service = { ...service, spec: { type: 'ExternalName', externalName: 'api.example.com' } };
  assert.deepEqual(resolveService(target, { ...facts, service: external }, first), {
    host: 'api.example.com',
    port: 443,
  });
});

test('whatever a server says of itself, it is read or left out', () => {
  for (const text of ['', '[]', '{"kind":"Status"}', '{"kind":"APIResourceList","resources":{}}'])
    assert.equal(readResources(text), undefined);
  for (const text of ['', '{"paths":3}', '{"paths":{"a":{"serverRelativeURL":"/x?hash=%22"}}}'])
    assert.equal(readOpenApiHash(text, 'a'), undefined);
  assert.equal(readOpenApiHash('{"paths":{}}', '__proto__'), undefined);
});
