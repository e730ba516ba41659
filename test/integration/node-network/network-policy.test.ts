// Network policies in a real kernel with real packets: the situations of upstream's NetworkPolicy specs (upstream:
// test/e2e/network/netpol/network_policy.go). After each change, every pod connects to every other one over both IP
// families, and the model of the API says which connections must succeed. Each case also names one allowed and one
// denied connection itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import type { NetworkPolicy } from '../../../src/api/networking/network-policy.ts';
import type { Labels } from '../../../src/api/label-requirement.ts';
import { createNft } from '../../../src/node-network/adapters/nft.ts';
import { removeTable, TableWriter } from '../../../src/node-network/nftables/table-writer.ts';
import { isTableWhole } from '../../../src/node-network/nftables/is-table-whole.ts';
import { TableDraft } from '../../../src/node-network/nftables/table-draft.ts';
import { isAllowed } from '../../../src/node-network/network-policy/is-allowed.ts';
import type { PolicyPod } from '../../../src/node-network/network-policy/policy-pod.ts';
import { PolicyTable } from '../../../src/node-network/network-policy/policy-table.ts';
import { recordingLog } from '../../../src/base/testing/recording-log.ts';
import { createPodNetwork } from './support/pod-network.ts';
import type { NetworkEnd, PodNetwork } from './support/pod-network.ts';
import { egress, ingress, ns, pod, PODS, policy, policyCases } from './support/policy-cases.ts';
import type { EndName, PodName } from './support/policy-cases.ts';
import { startProbeAgent } from './support/probe-agent.ts';
import type { ProbeAgent } from './support/probe-agent.ts';

/** How long a denied connection is tried. A connection that should succeed gets more time. */
const DENIED_MS = 250;
const PATIENCE_MS = 5000;
const tryPorts = [
  { protocol: 'tcp', port: 80 },
  { protocol: 'tcp', port: 81 },
  { protocol: 'udp', port: 80 },
] as const;

let network: PodNetwork;
const agents = new Map<EndName, ProbeAgent>();
let ends: ReadonlyMap<EndName, NetworkEnd>;
let table: PolicyTable;
let writer: TableWriter;
let draft: TableDraft;
let nft: ReturnType<typeof createNft>;
const pods = new Map<string, PolicyPod>();
const namespaces = new Map<string, Labels>();
const policies = new Map<string, NetworkPolicy>();

before(async () => {
  network = await createPodNetwork(process.pid.toString(16), PODS.length);
  ends = new Map<EndName, NetworkEnd>([
    ...PODS.map((name, index) => [name, network.pods[index] as NetworkEnd] as const),
    ['outside', network.outside],
    ['node', network.node],
  ]);
  for (const [name, { space }] of ends)
    agents.set(name, await startProbeAgent(space, name, { tcp: [80, 81], udp: [80] }));
  nft = createNft(['ip', 'netns', 'exec', network.node.space]);
  draft = new TableDraft('inet', 'KTS-test-policy');
  table = new PolicyTable({ draft, nodeName: 'here', podBridge: network.bridge });
  writer = new TableWriter({ draft, nft, clock: systemClock, log: recordingLog() });
});

after(async () => {
  await Promise.all([...agents.values()].map((agent) => agent.stop()));
  await network.remove();
});

const agentOf = (name: EndName): ProbeAgent => agents.get(name) as ProbeAgent;
const endOf = (name: EndName): NetworkEnd => ends.get(name) as NetworkEnd;

function setPod(name: PodName, labels: Labels = {}): void {
  const [namespace = '', pod = ''] = name.split('/');
  const value: PolicyPod = {
    key: name,
    namespace,
    labels: { pod, ...labels },
    node: 'here',
    addresses: [endOf(name).v4, endOf(name).v6],
    ports: [
      { name: 'serve-80', protocol: 'tcp', port: 80 },
      { name: 'serve-81', protocol: 'tcp', port: 81 },
    ],
    since: '',
  };
  pods.set(name, value);
  table.setPod(name, value);
}

function setNamespace(name: string, labels: Labels = {}): void {
  namespaces.set(name, { ns: name, ...labels });
  table.setNamespace(name, namespaces.get(name));
}

function setPolicy(policy: NetworkPolicy): void {
  const { namespace, name } = policy.metadata;
  policies.set(`${namespace}/${name}`, policy);
  table.setPolicy(namespace, name, policy);
}

function dropPolicies(): void {
  for (const { metadata } of policies.values()) table.setPolicy(metadata.namespace, metadata.name, undefined);
  policies.clear();
}

interface Try {
  readonly from: EndName;
  readonly to: EndName;
  readonly protocol: 'tcp' | 'udp';
  readonly port: number;
  readonly family: 'v4' | 'v6';
}

function expected({ from, to, protocol, port, family }: Try): boolean {
  const cluster = {
    policies: [...policies.values()],
    pods: [...pods.values()],
    namespaces,
    nodeAddresses: new Map([['here', [network.node.v4, network.node.v6]]]),
  };
  return isAllowed(cluster, { from: endOf(from)[family], to: endOf(to)[family], protocol, port });
}

/** Whether the connection succeeded, by the name that the server returned. */
async function comesThrough({ from, to, protocol, port, family }: Try, isExpected: boolean): Promise<boolean> {
  const reach = async (waitMs: number): Promise<boolean> =>
    (await agentOf(from).reach(protocol, endOf(to)[family], port, waitMs)).startsWith(`${to} `);
  if (!isExpected) return reach(DENIED_MS);
  // A busy machine may lose a datagram or be slow: only connections that never succeed count as denied.
  for (let waitMs = 1000; waitMs <= PATIENCE_MS; waitMs += 2000) if (await reach(waitMs)) return true;
  return false;
}

async function checkAll(): Promise<void> {
  await writer.write();
  const names: EndName[] = [...PODS, 'outside', 'node'];
  const tries = names.flatMap((from) =>
    names.flatMap((to) =>
      tryPorts.flatMap((each) => (['v4', 'v6'] as const).map((family): Try => ({ from, to, ...each, family }))),
    ),
  );
  // Connections without a pod are not affected by policies, and a third of the others is representative.
  const wrong: string[] = [];
  const selected = tries.filter(
    ({ from, to }) => (PODS as readonly string[]).includes(from) || (PODS as readonly string[]).includes(to),
  );
  await Promise.all(
    selected.map(async (each) => {
      const wanted = expected(each);
      if ((await comesThrough(each, wanted)) !== wanted)
        wrong.push(`${each.from} -> ${each.to} ${each.protocol}/${each.port} ${each.family}: the API says ${wanted}`);
    }),
  );
  assert.deepEqual(wrong, []);
}

function checkNamed(line: string, wanted: boolean): void {
  const [from, to, port = 'tcp/80'] = line.split(' ') as [EndName, EndName, string?];
  const [protocol, number] = port.split('/') as ['tcp', string];
  assert.equal(expected({ from, to, protocol, port: Number(number), family: 'v4' }), wanted, line);
}

const blockOf = (name: EndName, length = 32): string => `${endOf(name).v4}/${length}`;

for (const each of policyCases({ endOf, blockOf, setPod, setNamespace, setPolicy, dropPolicies })) {
  test(each.name, async () => {
    dropPolicies();
    for (const name of ['x', 'y']) setNamespace(name);
    for (const name of PODS) setPod(name);
    for (const given of each.policies()) setPolicy(given);
    for (const line of each.allows) checkNamed(line, true);
    for (const line of each.denies) checkNamed(line, false);
    await checkAll();
    if (each.later === undefined) return;
    each.change?.();
    for (const line of each.later.allows) checkNamed(line, true);
    for (const line of each.later.denies) checkNamed(line, false);
    await checkAll();
  });
}

async function reset(...given: readonly NetworkPolicy[]): Promise<void> {
  dropPolicies();
  for (const name of ['x', 'y']) setNamespace(name);
  for (const name of PODS) setPod(name);
  for (const each of given) setPolicy(each);
  await writer.write();
}

test('a connection that exists ends when a policy denies it, both ways, and goes on when it is allowed again', async () => {
  for (const denying of [
    policy('deny', { podSelector: pod('a') ?? {}, ...ingress }),
    policy('deny', { podSelector: pod('a') ?? {}, ...egress }, 'y'),
  ]) {
    await reset();
    const key = denying.metadata.namespace;
    assert.match(await agentOf('y/a').open(key, endOf('x/a').v4, 80), /^x\/a /);
    assert.equal(await agentOf('y/a').echo(key, 'one', PATIENCE_MS), 'back');
    setPolicy(denying);
    await writer.write();
    assert.equal(await agentOf('y/a').echo(key, 'two', 2 * DENIED_MS), 'timeout');
    dropPolicies();
    await writer.write();
    assert.equal(await agentOf('y/a').echo(key, 'three', 4 * PATIENCE_MS), 'back');
  }
});

test('a service’s address is resolved before policies judge, so they see the pods of both ends', async () => {
  await network.inNode(
    ...'iptables -t nat -A PREROUTING -d 10.96.0.10/32 -p tcp --dport 8000 -j DNAT --to-destination'.split(' '),
    `${endOf('x/a').v4}:80`,
  );
  await reset(
    policy('allow', {
      podSelector: pod('a') ?? {},
      ingress: [{ from: [{ namespaceSelector: ns('y') }], ports: [{ port: 80 }] }],
    }),
  );
  assert.match(await agentOf('y/a').reach('tcp', '10.96.0.10', 8000, PATIENCE_MS), /^x\/a 10\.84\.0\.4/);
  assert.equal(await agentOf('x/b').reach('tcp', '10.96.0.10', 8000, DENIED_MS), 'timeout');
  // A pod that reaches itself by the service.
  await network.inNode(...'iptables -t nat -A POSTROUTING -s 10.84.0.2 -d 10.84.0.2 -j MASQUERADE'.split(' '));
  assert.match(await agentOf('x/a').reach('tcp', '10.96.0.10', 8000, PATIENCE_MS), /^x\/a /);
});

test('host ports lead to pods that policies guard, whatever chains of others accept before', async () => {
  await network.inNode(
    ...'iptables -t nat -A PREROUTING -d 192.0.2.1/32 -p tcp --dport 8001 -j DNAT --to-destination'.split(' '),
    `${endOf('x/a').v4}:80`,
  );
  await network.inNode(...'iptables -I FORWARD -j ACCEPT'.split(' '));
  await reset();
  assert.match(await agentOf('outside').reach('tcp', '192.0.2.1', 8001, PATIENCE_MS), /^x\/a 192\.0\.2\.9/);
  await reset(policy('deny', ingress));
  assert.equal(await agentOf('outside').reach('tcp', '192.0.2.1', 8001, DENIED_MS), 'timeout');
  await reset(policy('from', { ingress: [{ from: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }] }));
  assert.match(await agentOf('outside').reach('tcp', '192.0.2.1', 8001, PATIENCE_MS), /^x\/a 192\.0\.2\.9/);
});

test('pods do not get past a policy by addresses of the link', async () => {
  await reset(policy('deny', ingress));
  const shown = await network.inNode(
    'ip',
    'netns',
    'exec',
    endOf('x/a').space,
    'ip',
    '-6',
    '-o',
    'addr',
    'show',
    'dev',
    'eth0',
    'scope',
    'link',
  );
  const [, linkLocal = ''] = /inet6 (fe80[0-9a-f:]+)/.exec(shown) ?? [];
  assert.notEqual(linkLocal, '', shown);
  assert.equal(await agentOf('y/a').reach('tcp', `${linkLocal}%eth0`, 80, DENIED_MS), 'timeout');
  await removeTable(nft, 'inet', 'KTS-test-policy');
  assert.match(
    await agentOf('y/a').reach('tcp', `${linkLocal}%eth0`, 80, PATIENCE_MS),
    /^x\/a /,
    'without the table it leads there',
  );
  await nft.apply(draft.takeWhole());
});

test('a table that another program flushed is noticed; one that was replaced keeps nothing of the old one', async () => {
  await reset(policy('deny', ingress));
  assert.ok(isTableWhole(draft, await nft.show('inet', 'KTS-test-policy')));
  await nft.apply('flush table inet KTS-test-policy\n');
  assert.ok(!isTableWhole(draft, await nft.show('inet', 'KTS-test-policy')));
  await nft.apply('add chain inet KTS-test-policy stale\n');
  await nft.apply(draft.takeWhole());
  const shown = await nft.show('inet', 'KTS-test-policy');
  assert.ok(isTableWhole(draft, shown));
  assert.doesNotMatch(shown, /stale/);
  assert.equal(await agentOf('y/a').reach('tcp', endOf('x/a').v4, 80, DENIED_MS), 'timeout');
});
