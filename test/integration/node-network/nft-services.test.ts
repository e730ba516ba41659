// Services routed by nftables in a real kernel, of both families, with real packets.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Service } from '../../../src/api/core/service.ts';
import type { EndpointSlice } from '../../../src/api/discovery/endpoint-slice.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { createConntrack } from '../../../src/node-network/adapters/conntrack.ts';
import { createNft } from '../../../src/node-network/adapters/nft.ts';
import { isTableWhole } from '../../../src/node-network/nftables/is-table-whole.ts';
import { TableWriter } from '../../../src/node-network/nftables/table-writer.ts';
import type { ServiceRoute } from '../../../src/node-network/service-routing/compute-routes.ts';
import { computeRoutes } from '../../../src/node-network/service-routing/compute-routes.ts';
import { FlowCleaner } from '../../../src/node-network/service-routing/flow-cleaner.ts';
import type { IpFamily } from '../../../src/node-network/service-routing/ip-family.ts';
import { nftWord } from '../../../src/node-network/service-routing/ip-family.ts';
import { NftServices } from '../../../src/node-network/service-routing/nft-services.ts';
import { createPodNetwork } from './support/pod-network.ts';
import type { NetworkEnd, PodNetwork } from './support/pod-network.ts';
import { startProbeAgent } from './support/probe-agent.ts';
import type { ProbeAgent } from './support/probe-agent.ts';

const TABLE = 'KTS-test-services';
const PATIENCE_MS = 5000;
const DENIED_MS = 250;
const families = ['IPv4', 'IPv6'] as const;
const flowFamily = { IPv4: 'ipv4', IPv6: 'ipv6' } as const;
const log = recordingLog();
const vip = { IPv4: '10.96.0.20', IPv6: 'fd00:96::20' } as const;
const external = { IPv4: '203.0.113.7', IPv6: '2001:db8:7::7' } as const;

let network: PodNetwork;
let nft: ReturnType<typeof createNft>;
const agents = new Map<string, ProbeAgent>();
const tables = new Map<IpFamily, { readonly table: NftServices; readonly writer: TableWriter }>();

before(async () => {
  network = await createPodNetwork(`s${process.pid.toString(16)}`, 3);
  const ends: [string, NetworkEnd][] = [
    ...network.pods.map((end, index): [string, NetworkEnd] => [`p${index}`, end]),
    ['outside', network.outside],
    ['node', network.node],
  ];
  for (const [name, { space }] of ends)
    agents.set(name, await startProbeAgent(space, name, { tcp: [8080], udp: [8080] }));
  nft = createNft(['ip', 'netns', 'exec', network.node.space]);
  // As in `up`: packets from the node itself to a service have the bridge's address.
  await network.inNode('ip', 'route', 'add', '10.96.0.0/16', 'dev', network.bridge, 'src', network.node.v4);
  await network.inNode('ip', '-6', 'route', 'add', 'fd00:96::/112', 'dev', network.bridge, 'src', network.node.v6);
  for (const family of families) {
    const table = new NftServices(TABLE, {
      family,
      podCidr: family === 'IPv4' ? '10.84.0.0/24' : 'fd00:84::/64',
      serviceCidr: family === 'IPv4' ? '10.96.0.0/16' : 'fd00:96::/112',
      bridgeNetfilter: true,
      kept: [{ ip: network.node.v4, protocol: 'tcp', port: 8080 }],
      loopbackNodePorts: false,
    });
    const writer = new TableWriter({ draft: table.draft, nft, clock: systemClock, log: recordingLog() });
    tables.set(family, { table, writer });
  }
});

after(async () => {
  await Promise.all([...agents.values()].map((agent) => agent.stop()));
  await network.remove();
});

const of = (end: NetworkEnd, family: IpFamily): string => (family === 'IPv4' ? end.v4 : end.v6);

const service = (family: IpFamily, spec: Partial<Service['spec']> = {}): Service => ({
  metadata: { name: 'web', namespace: 'default', uid: 'w' },
  spec: {
    type: 'NodePort',
    clusterIP: vip[family],
    ports: [
      { name: 't', port: 80, protocol: 'TCP', nodePort: 30_080 },
      { name: 'u', port: 80, protocol: 'UDP', nodePort: 30_080 },
    ],
    ...spec,
  },
});

/** The endpoints are these pods of the node, or the given ones. */
async function route(
  family: IpFamily,
  given: Service | undefined,
  pods: readonly number[],
  nodeName = 'here',
): Promise<readonly ServiceRoute[]> {
  const slices: EndpointSlice[] = [
    {
      metadata: { name: 'web-1', namespace: 'default', uid: 's' },
      addressType: family,
      endpoints: pods.map((index) => ({ addresses: [of(network.pods[index] as NetworkEnd, family)], nodeName })),
      ports: [
        { name: 't', port: 8080, protocol: 'TCP' },
        { name: 'u', port: 8080, protocol: 'UDP' },
      ],
    },
  ];
  const { table, writer } = tables.get(family) ?? assert.fail();
  const routes = computeRoutes(given === undefined ? [] : [given], () => slices, { nodeName: 'here', family });
  table.setRoutes(routes);
  await writer.write();
  assert.ok(isTableWhole(table.draft, await nft.show(nftWord[family], TABLE)), 'the kernel holds what it was given');
  return routes;
}

const reach = (
  from: string,
  to: string,
  port = 80,
  protocol: 'tcp' | 'udp' = 'tcp',
  waitMs = PATIENCE_MS,
): Promise<string> => (agents.get(from) as ProbeAgent).reach(protocol, to, port, waitMs);

for (const family of families) {
  test(`${family}: a service leads to each of its endpoints, from a pod, from the node, and to the pod that asks`, async () => {
    await route(family, service(family), [0, 1]);
    for (const [from, protocol] of [
      ['p2', 'tcp'],
      ['p2', 'udp'],
      ['node', 'tcp'],
    ] as const) {
      const seen = new Set<string>();
      for (let turn = 0; turn < 40 && seen.size < 2; turn += 1)
        seen.add((await reach(from, vip[family], 80, protocol)).split(' ')[0] ?? '');
      assert.deepEqual([...seen].sort(), ['p0', 'p1'], `${from} ${protocol}`);
    }
    await route(family, service(family), [0]);
    assert.equal(await reach('p2', vip[family]), `p0 ${of(network.pods[2] as NetworkEnd, family)}`);
    assert.equal(await reach('p0', vip[family]), `p0 ${of(network.node, family)}`, 'itself, by the node');
  });

  test(`${family}: a node port answers outside through the node; with Local it shows the client, and is closed without local pods`, async () => {
    const node = family === 'IPv4' ? '192.0.2.1' : '2001:db8:2::1';
    await route(family, service(family), [0]);
    assert.equal(await reach('outside', node, 30_080), `p0 ${of(network.node, family)}`);
    await route(family, service(family, { externalTrafficPolicy: 'Local' }), [0]);
    assert.equal(await reach('outside', node, 30_080), `p0 ${of(network.outside, family)}`);
    await route(family, service(family, { externalTrafficPolicy: 'Local' }), [0], 'there');
    assert.equal(await reach('outside', node, 30_080, 'tcp', DENIED_MS), 'timeout');
    assert.match(await reach('p2', node, 30_080), /^p0 /, 'pods are inside the cluster');
  });

  test(`${family}: internalTrafficPolicy Local keeps clients on the node, and drops them where no endpoint is`, async () => {
    await route(family, service(family, { internalTrafficPolicy: 'Local' }), [1]);
    assert.match(await reach('p2', vip[family]), /^p1 /);
    await route(family, service(family, { internalTrafficPolicy: 'Local' }), [1], 'there');
    assert.equal(await reach('p2', vip[family], 80, 'tcp', DENIED_MS), 'timeout');
  });

  test(`${family}: source ranges of a load balancer hold, and without a usable one none may`, async () => {
    const ingress = { loadBalancer: { ingress: [{ ip: external[family], ipMode: 'VIP' as const }] } };
    const balanced = (ranges: string[]): Service => ({
      ...service(family, { type: 'LoadBalancer', loadBalancerSourceRanges: ranges }),
      status: ingress,
    });
    const length = family === 'IPv4' ? 32 : 128;
    await route(family, balanced([`${of(network.outside, family)}/${length}`]), [0]);
    assert.match(await reach('outside', external[family]), /^p0 /);
    assert.doesNotMatch(await reach('p2', external[family], 80, 'tcp', DENIED_MS), /^p0 /);
    await route(family, balanced(['no range']), [0]);
    assert.doesNotMatch(await reach('outside', external[family], 80, 'tcp', DENIED_MS), /^p0 /);
  });

  test(`${family}: a client of a service with affinity stays with its endpoint until that goes`, async () => {
    const sticky = service(family, { sessionAffinity: 'ClientIP' });
    await route(family, sticky, [0, 1]);
    const seen = new Set<string>();
    for (let turn = 0; turn < 10; turn += 1) seen.add((await reach('p2', vip[family])).split(' ')[0] ?? '');
    assert.equal(seen.size, 1, [...seen].join());
    const other = seen.has('p0') ? 1 : 0;
    await route(family, sticky, [other]);
    assert.match(await reach('p2', vip[family]), new RegExp(`^p${other} `));
  });

  test(`${family}: a UDP client that keeps its port is led to another endpoint when its own goes`, async () => {
    const cleaner = new FlowCleaner(
      createConntrack(['ip', 'netns', 'exec', network.node.space]),
      flowFamily[family],
      log,
    );
    const client = agents.get('p2') ?? assert.fail();
    const ask = (): Promise<string> => client.reachFrom(4444, vip[family], 80, PATIENCE_MS);
    await cleaner.clean(await route(family, service(family), [0]));
    assert.match(await ask(), /^p0 /);
    const after = await route(family, service(family), [1]);
    assert.match(await ask(), /^p0 /, 'the kernel leads the flow where it led it first');
    await cleaner.clean(after);
    assert.match(await ask(), /^p1 /);
  });

  test(`${family}: without endpoints and on unused addresses a connection is refused at once; nothing stays of what goes`, async () => {
    await route(family, service(family), []);
    const node = family === 'IPv4' ? '192.0.2.1' : '2001:db8:2::1';
    for (const [from, to, port] of [
      ['p2', vip[family], 80],
      ['node', vip[family], 80],
      ['outside', node, 30_080],
      ['p2', family === 'IPv4' ? '10.96.9.9' : 'fd00:96::99', 80],
    ] as const)
      assert.equal(await reach(from, to, port), 'ECONNREFUSED', `${from} ${to}`);
    await route(family, undefined, []);
    const rules = await network.inNode('nft', 'list', 'table', nftWord[family], TABLE);
    assert.doesNotMatch(rules, /30080|10\.96\.0\.20|fd00:96::20/);
  });
}
