// Compares where packets may go by a model, which knows only services and endpoints, with what the rules do with them.
// Rules that changed step by step must equal the rules of a fresh start.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { FakeNft } from '../nftables/testing/fake-nft.ts';
import { simulateChain } from '../nftables/testing/simulate-table.ts';
import type { ServiceRoute } from './compute-routes.ts';
import type { IpFamily } from './ip-family.ts';
import type { NftServiceFacts } from './nft-base.ts';
import { NftServices } from './nft-services.ts';
import type { Backend } from './select-backends.ts';

const addresses = {
  IPv4: {
    service: '10.96.0.',
    pod: '10.84.0.',
    node: '192.0.2.1',
    outside: '192.0.2.9',
    external: '203.0.113.',
    far: '10.85.0.',
  },
  IPv6: {
    service: 'fd00:96::',
    pod: 'fd00:84::',
    node: '2001:db8::1',
    outside: '2001:db8::9',
    external: '2001:db8:7::',
    far: 'fd00:85::',
  },
} as const;
const factsOf = (family: IpFamily): NftServiceFacts => ({
  family,
  podCidr: family === 'IPv4' ? '10.84.0.0/24' : 'fd00:84::/64',
  serviceCidr: family === 'IPv4' ? '10.96.0.0/16' : 'fd00:96::/112',
  bridgeNetfilter: true,
  kept: [{ ip: addresses[family].node, protocol: 'tcp', port: 30_003 }],
  loopbackNodePorts: false,
});

const routeOf = (family: IpFamily, index: number): fc.Arbitrary<ServiceRoute> => {
  const of = addresses[family];
  const backend = fc
    .record({ number: fc.integer({ min: 2, max: 6 }), local: fc.boolean(), port: fc.constantFrom(8080, 9090) })
    .map(({ number, local, port }): Backend => ({ ip: `${local ? of.pod : of.far}${number}`, local, port }));
  return fc
    .record({
      protocol: fc.constantFrom('tcp' as const, 'udp' as const),
      all: fc.uniqueArray(backend, { maxLength: 4, selector: ({ ip, port }) => `${ip} ${port}` }),
      nodePort: fc.option(fc.constant(30_000 + index), { nil: undefined }),
      hasExternal: fc.boolean(),
      ranges: fc.constantFrom(undefined, [], ['outside']),
      affinitySeconds: fc.constantFrom(undefined, undefined, 60),
      internalLocal: fc.boolean(),
      externalLocal: fc.boolean(),
    })
    .map(({ hasExternal, ranges, ...rest }) => ({
      ...rest,
      name: `default/s${index}:80`,
      clusterIp: `${of.service}${20 + index}`,
      port: 80,
      local: rest.all.filter(({ local }) => local),
      externalIps: hasExternal
        ? [
            {
              ip: `${of.external}${20 + index}`,
              ...(ranges === undefined
                ? {}
                : { sourceRanges: ranges.map(() => `${of.outside}/${family === 'IPv4' ? 32 : 128}`) }),
            },
          ]
        : [],
    }));
};
const world = (family: IpFamily): fc.Arbitrary<readonly ServiceRoute[]> =>
  fc.tuple(...[0, 1, 2, 3].map((index) => routeOf(family, index)));

interface Where {
  /** The destinations as `IP:PORT`, sorted; none if the packet is left unchanged. */
  readonly to: readonly string[];
  /** Whether it leaves with the address of the node. */
  readonly masked: boolean;
  readonly verdict: 'led' | 'refused' | 'dropped' | 'untouched';
}

const led = (backends: readonly Backend[], masked: boolean): Where => ({
  to: [...new Set(backends.map(({ ip, port }) => `${ip}:${port}`))].sort(),
  masked,
  verdict: 'led',
});
const without = (verdict: Where['verdict']): Where => ({ to: [], masked: false, verdict });

/** The model for one packet to one address of one service (upstream: the documentation of Services). */
function whereTo(
  route: ServiceRoute,
  entrance: 'cluster' | 'external' | 'node',
  from: 'pod' | 'node' | 'outside',
): Where {
  const { all, local, internalLocal, externalLocal } = route;
  const none = without(all.length === 0 ? 'refused' : 'dropped');
  if (entrance === 'cluster') {
    const backends = internalLocal ? local : all;
    return backends.length === 0 ? none : led(backends, from !== 'pod');
  }
  if (all.length === 0) return without('refused');
  const ranges = entrance === 'external' ? route.externalIps[0]?.sourceRanges : undefined;
  if (ranges !== undefined && !(ranges.length > 0 && from === 'outside'))
    return externalLocal && local.length === 0 ? without('dropped') : without('untouched');
  if (!externalLocal) return led(all, true);
  if (from === 'pod') return led(all, false);
  if (from === 'node') return led(all, true);
  return local.length === 0 ? without('dropped') : led(local, false);
}

function simulated(table: NftServices, packet: Parameters<typeof simulateChain>[2]): Where {
  const ends = new Set<string>();
  let mark = 0;
  for (let draw = 0; draw < 12; draw++) {
    const { verdict, mark: marked } = simulateChain(table.draft, 'prerouting', { ...packet, draw });
    if (verdict.kind === 'dnat') ends.add(`${verdict.ip}:${verdict.port}`);
    mark = marked;
  }
  if (ends.size > 0) return { to: [...ends].sort(), masked: (mark & 0x4000) !== 0, verdict: 'led' };
  const { verdict } = simulateChain(table.draft, 'closed-forward', packet);
  return without(verdict.kind === 'reject' ? 'refused' : verdict.kind === 'drop' ? 'dropped' : 'untouched');
}

for (const family of ['IPv4', 'IPv6'] as const) {
  const of = addresses[family];
  const sources = { pod: `${of.pod}9`, node: of.node, outside: of.outside };

  it(`${family}: a packet goes where the model says, from pods, the node and outside`, () => {
    fc.assert(
      fc.property(world(family), (routes) => {
        const table = new NftServices('services', factsOf(family));
        table.setRoutes(routes);
        for (const route of routes)
          for (const from of ['pod', 'node', 'outside'] as const) {
            const tries = [
              ['cluster', route.clusterIp, route.port] as const,
              ...route.externalIps.map(({ ip }) => ['external', ip, route.port] as const),
              ...(route.nodePort === undefined ? [] : [['node', of.node, route.nodePort] as const]),
            ];
            for (const [entrance, daddr, dport] of tries) {
              const packet = {
                saddr: sources[from],
                daddr,
                protocol: route.protocol,
                sport: 40_000,
                dport,
                direction: 'original' as const,
                nodeAddresses: [of.node],
              };
              const isKept = entrance === 'node' && dport === 30_003 && route.protocol === 'tcp';
              const wanted = isKept ? without('untouched') : whereTo(route, entrance, from);
              assert.deepEqual(simulated(table, packet), wanted, `${route.name} ${entrance} from ${from}`);
            }
          }
      }),
      { numRuns: 100 },
    );
  });

  it(`${family}: after any changes the kernel holds what a fresh start would give it`, () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(world(family), fc.nat(15)), { minLength: 2, maxLength: 5 }), (steps) => {
        const grown = new NftServices('services', factsOf(family));
        const kernel = new FakeNft();
        kernel.run(grown.draft.takeWhole());
        for (const [routes, which] of steps) {
          const present = routes.filter((_, index) => (which & (1 << index)) !== 0);
          grown.setRoutes(present);
          kernel.run(grown.draft.takeChanges());
          const fresh = new NftServices('services', factsOf(family));
          fresh.setRoutes(present);
          const expected = new FakeNft();
          expected.run(fresh.draft.takeWhole());
          assert.deepEqual(kernel.content(), expected.content());
        }
      }),
      { numRuns: 60 },
    );
  });
}

it('the same routes again change nothing, and one endpoint of thousands changes its own elements', () => {
  const table = new NftServices('services', factsOf('IPv4'));
  const routes = Array.from(
    { length: 3000 },
    (_, index): ServiceRoute => ({
      name: `default/s${index}:80`,
      protocol: 'tcp',
      clusterIp: `10.96.${index >> 8}.${index & 255}`,
      port: 80,
      nodePort: undefined,
      externalIps: [],
      affinitySeconds: undefined,
      all: [{ ip: '10.85.0.2', port: 8080, local: false }],
      local: [],
      internalLocal: false,
      externalLocal: false,
    }),
  );
  table.setRoutes(routes);
  table.draft.takeWhole();
  table.setRoutes([...routes]);
  assert.equal(table.draft.takeChanges(), undefined);
  table.setRoutes(
    routes.map((route, index) =>
      index === 7 ? { ...route, all: [{ ip: '10.85.0.3', port: 8080, local: false }] } : route,
    ),
  );
  assert.equal(table.draft.takeChanges()?.trim().split('\n').length, 2, 'one element out, one in');
});
