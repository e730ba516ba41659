import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { endpointSlices, endpoints, services } from '../../../api/client/resource-types.ts';
import type { EndpointAddress, Endpoints, EndpointSubset } from '../../../api/core/endpoints.ts';
import type { Service } from '../../../api/core/service.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createEndpointSliceMirroringController } from './endpoint-slice-mirroring-controller.ts';

const key = { namespace: 'default', name: 'web' };
const service: Service = { metadata: { ...key, uid: 'svc' }, spec: { ports: [{ port: 80 }] } };

const written = (subsets: EndpointSubset[], metadata: Partial<Endpoints['metadata']> = {}): Endpoints => ({
  metadata: { ...key, uid: 'eps', ...metadata },
  subsets,
});
const at = (...ips: readonly string[]): EndpointAddress[] => ips.map((ip) => ({ ip }));
const port = (number: number, name = ''): { name: string; port: number; protocol: 'TCP' } => ({
  name,
  port: number,
  protocol: 'TCP',
});

async function setUp(
  source: Endpoints,
  options: { readonly lagMs?: number; readonly seed?: number; readonly service?: Service } = {},
): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createEndpointSliceMirroringController(each)],
    ...options,
    owners: [endpoints],
  });
  world.api.seed(services, options.service ?? service);
  world.api.seed(endpoints, source);
  world.start();
  await world.run(3_000);
  return world;
}

/** Formats family, ports and addresses of each slice. An address that is not ready has a minus. */
const slicesOf = (world: ControllerWorld): string[] =>
  world.api
    .all(endpointSlices)
    .map((slice) => {
      const addresses = slice.endpoints.map(
        ({ addresses: [ip = ''], conditions }) => `${conditions?.ready === false ? '-' : ''}${ip}`,
      );
      return `${slice.addressType} ${slice.ports.map((each) => each.port).join(',')}: ${addresses.join(' ')}`;
    })
    .sort();

it('creates a slice for each group of ports and family', async () => {
  const world = await setUp(
    written([
      { addresses: at('192.0.2.1', '2001:DB8::1'), notReadyAddresses: at('192.0.2.2'), ports: [port(80)] },
      { addresses: at('192.0.2.3', 'nonsense'), ports: [port(80)] },
      { addresses: at('192.0.2.1'), ports: [port(443, 'https'), port(80, 'http')] },
    ]),
  );
  assert.deepEqual(slicesOf(world), [
    'IPv4 80,443: 192.0.2.1',
    'IPv4 80: 192.0.2.1 -192.0.2.2 192.0.2.3',
    'IPv6 80: 2001:db8::1',
  ]);
  await world.stop();
});

it('copies labels and annotations, and is owned by the Endpoints', async () => {
  const annotations = { note: 'x', 'endpoints.kubernetes.io/last-change-trigger-time': '2026-01-01T00:00:00Z' };
  const source = written([{ addresses: at('192.0.2.1'), ports: [port(80)] }], { labels: { team: 'a' }, annotations });
  const world = await setUp(source);
  const [slice] = world.api.all(endpointSlices) as readonly EndpointSlice[];
  assert.deepEqual(slice?.metadata.labels, {
    team: 'a',
    'kubernetes.io/service-name': 'web',
    'endpointslice.kubernetes.io/managed-by': 'endpointslicemirroring-controller.k8s.io',
  });
  assert.deepEqual(slice?.metadata.annotations, { note: 'x' });
  assert.deepEqual(
    slice?.metadata.ownerReferences?.map(({ kind, name, controller }) => [kind, name, controller]),
    [['Endpoints', 'web', true]],
  );
  world.api.remove(endpoints, key);
  await world.run(3_000);
  assert.deepEqual(slicesOf(world), []);
  await world.stop();
});

it('ignores Endpoints that were not written manually for a service', async () => {
  const subsets = [{ addresses: at('192.0.2.1'), ports: [port(80)] }];
  const selecting = { ...service, spec: { ...service.spec, selector: { app: 'web' } } };
  for (const [source, of] of [
    [written(subsets), selecting],
    [written(subsets, { labels: { 'endpointslice.kubernetes.io/skip-mirror': 'true' } }), service],
    [written(subsets, { annotations: { 'control-plane.alpha.kubernetes.io/leader': '{}' } }), service],
    [written(subsets, { name: 'other' }), service],
  ] as const) {
    const world = await setUp(source, { service: of });
    assert.deepEqual(slicesOf(world), []);
    await world.stop();
  }
});

it('despite crashes and late events, each address of the Endpoints is in one slice', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.uniqueArray(fc.nat(6), { maxLength: 5 }), fc.nat(2), fc.integer({ min: 1, max: 6 })), {
        minLength: 1,
        maxLength: 10,
      }),
      fc.nat(1_000),
      async (steps, seed) => {
        const world = await setUp(written([]), { seed, lagMs: 600 });
        let expected: string[] = [];
        for (const [numbers, ports, tenths] of steps) {
          const ips = numbers.map((number) => `192.0.2.${number + 1}`);
          world.api.seed(endpoints, written([{ addresses: at(...ips), ports: [port(80 + ports)] }]));
          expected = ips.length === 0 ? [] : [`IPv4 ${80 + ports}: ${ips.join(' ')}`];
          world.restartAtWrite(tenths);
          await world.run(tenths * 100);
        }
        await world.run(320_000);
        assert.deepEqual(slicesOf(world), expected);
        await world.stop();
      },
    ),
    { numRuns: 25 },
  ));
