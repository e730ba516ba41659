// Network policies in a real kernel, with real packets: the situations of upstream's NetworkPolicy specs
// (upstream: test/e2e/network/netpol/network_policy.go). After each change every pod tries every other one, of both
// families; the model of the API says what must come through, and each case names a connection of either kind itself.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { systemClock } from '../../../src/base/clock.ts';
import type { NetworkPolicy, NetworkPolicyPeer } from '../../../src/api/networking/network-policy.ts';
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
import { startProbeAgent } from './support/probe-agent.ts';
import type { ProbeAgent } from './support/probe-agent.ts';

const PODS = ['x/a', 'x/b', 'y/a', 'y/b'] as const;
type PodName = (typeof PODS)[number];
type EndName = PodName | 'outside' | 'node';
/** How long a denied connection is tried; one that should come through gets longer before it counts as lost. */
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

/** Policies are of the namespace x unless they say otherwise. */
const policy = (name: string, spec: Partial<NetworkPolicy['spec']>, namespace = 'x'): NetworkPolicy => ({
  metadata: { name, namespace, uid: name },
  spec: { podSelector: {}, ...spec },
});

const pod = (name: string): NetworkPolicyPeer['podSelector'] => ({ matchLabels: { pod: name } });
const ns = (name: string): NetworkPolicyPeer['namespaceSelector'] => ({ matchLabels: { ns: name } });
const among = (key: string, operator: 'In' | 'NotIn', ...values: string[]): NetworkPolicyPeer['podSelector'] => ({
  matchExpressions: [{ key, operator, values }],
});

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

/** Whether it came through, by the name that answered. */
async function comesThrough({ from, to, protocol, port, family }: Try, isExpected: boolean): Promise<boolean> {
  const reach = async (waitMs: number): Promise<boolean> =>
    (await agentOf(from).reach(protocol, endOf(to)[family], port, waitMs)).startsWith(`${to} `);
  if (!isExpected) return reach(DENIED_MS);
  // A busy machine may lose a datagram or take long: only what never comes is denied.
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
  // Between what is no pod there is nothing to see; a third of the rest says as much as all.
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

const both = { policyTypes: ['Ingress', 'Egress'] as NetworkPolicy['spec']['policyTypes'] };
const ingress = { policyTypes: ['Ingress'] as NetworkPolicy['spec']['policyTypes'] };
const egress = { policyTypes: ['Egress'] as NetworkPolicy['spec']['policyTypes'] };
const blockOf = (name: EndName, length = 32): string => `${endOf(name).v4}/${length}`;

interface Case {
  readonly name: string;
  readonly policies: () => readonly NetworkPolicy[];
  /** `FROM TO [PROTOCOL/PORT]`. */
  readonly allows: readonly string[];
  readonly denies: readonly string[];
  /** What changes afterwards; then `later` holds. */
  readonly change?: () => void;
  readonly later?: { readonly allows: readonly string[]; readonly denies: readonly string[] };
}

const cases: readonly Case[] = [
  {
    name: "should support a 'default-deny-ingress' policy",
    policies: () => [policy('deny', { ...ingress, ingress: [] })],
    allows: ['x/a y/a', 'x/a x/a', 'node x/a', 'x/a node'],
    denies: ['x/b x/a', 'y/a x/a', 'outside x/a', 'y/a x/a udp/80'],
  },
  {
    name: "should support a 'default-deny-all' policy",
    policies: () => [policy('deny', both)],
    allows: ['y/a y/b', 'node x/a', 'x/a node', 'x/a x/a'],
    denies: ['x/a y/a', 'y/a x/a', 'x/a x/b', 'x/a outside'],
  },
  {
    name: 'should enforce policy to allow traffic from pods within server namespace based on PodSelector',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ podSelector: pod('b') }] }] }),
    ],
    allows: ['x/b x/a', 'y/b x/b'],
    denies: ['y/b x/a', 'outside x/a'],
  },
  {
    name: 'should enforce policy to allow ingress traffic for a target',
    policies: () => [
      policy('deny', ingress),
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }),
    ],
    allows: ['y/b x/a', 'x/b x/a'],
    denies: ['y/b x/b', 'outside x/a'],
  },
  {
    name: 'should enforce policy to allow ingress traffic from pods in all namespaces',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: {} }] }] }),
    ],
    allows: ['y/b x/a'],
    denies: ['outside x/a'],
  },
  {
    name: 'should enforce policy to allow traffic only from a different namespace, based on NamespaceSelector',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: ns('y') }] }] }),
    ],
    allows: ['y/a x/a', 'y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector with MatchExpressions',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ podSelector: among('pod', 'In', 'b') }] }] }),
    ],
    allows: ['x/b x/a'],
    denies: ['y/b x/a'],
  },
  {
    name: 'should enforce policy based on NamespaceSelector with MatchExpressions',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ namespaceSelector: among('ns', 'NotIn', 'x') }] }],
      }),
    ],
    allows: ['y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector or NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }, { namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['x/b x/a', 'y/a x/a'],
    denies: ['outside x/a'],
  },
  {
    name: 'should enforce policy based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/b x/a'],
    denies: ['x/b x/a', 'y/a x/a'],
  },
  {
    name: 'should enforce policy based on Multiple PodSelectors and NamespaceSelectors',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [
          { from: [{ podSelector: among('pod', 'In', 'a', 'b'), namespaceSelector: among('ns', 'NotIn', 'x') }] },
        ],
      }),
    ],
    allows: ['y/a x/a', 'y/b x/a'],
    denies: ['x/b x/a'],
  },
  {
    name: 'should enforce policy based on any PodSelectors',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }, { podSelector: pod('c') }] }],
      }),
    ],
    allows: ['x/b x/a'],
    denies: ['y/b x/a'],
  },
  {
    name: 'should enforce policy to allow traffic only from a pod in a different namespace based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('a'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a', 'y/a x/a udp/80'],
    denies: ['y/b x/a', 'x/b x/a'],
  },
  {
    name: 'should enforce policy based on Ports',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 81 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/81'],
    denies: ['y/a x/a tcp/80', 'x/b x/a tcp/81', 'y/a x/a udp/80'],
  },
  {
    name: 'should enforce multiple, stacked policies with overlapping podSelectors',
    policies: () => [
      policy('first', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 81 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
      policy('second', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 80 }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
    denies: ['x/b x/a tcp/80'],
  },
  {
    name: 'should support allow-all policy',
    policies: () => [policy('allow', { ...both, ingress: [{}], egress: [{}] })],
    allows: ['y/a x/a', 'outside x/a', 'x/a outside'],
    denies: [],
  },
  {
    name: 'should allow ingress access on one named port',
    policies: () => [policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ port: 'serve-81' }] }] })],
    allows: ['y/a x/a tcp/81', 'outside x/a tcp/81'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should allow ingress access from namespace on one named port',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ ports: [{ port: 'serve-80' }], from: [{ namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['y/a x/a tcp/80'],
    denies: ['x/b x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should allow egress access on one named port',
    policies: () => [
      policy('allow', { podSelector: pod('a') ?? {}, ...egress, egress: [{ ports: [{ port: 'serve-80' }] }] }),
    ],
    allows: ['x/a y/a tcp/80', 'x/b y/a tcp/81'],
    denies: ['x/a y/a tcp/81', 'x/a outside tcp/80'],
  },
  {
    name: 'should enforce updated policy',
    policies: () => [policy('allow', { ...ingress, ingress: [{}] })],
    allows: ['y/a x/a'],
    denies: [],
    change: () => setPolicy(policy('allow', { ...ingress, ingress: [] })),
    later: { allows: ['node x/a'], denies: ['y/a x/a'] },
  },
  {
    name: 'should allow ingress access from updated namespace',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ namespaceSelector: { matchLabels: { ns2: 'updated' } } }] }],
      }),
    ],
    allows: [],
    denies: ['y/a x/a'],
    change: () => setNamespace('y', { ns2: 'updated' }),
    later: { allows: ['y/a x/a'], denies: ['x/b x/a'] },
  },
  {
    name: 'should allow ingress access from updated pod',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: { matchLabels: { pod2: 'updated' } } }] }],
      }),
    ],
    allows: [],
    denies: ['x/b x/a'],
    change: () => setPod('x/b', { pod2: 'updated' }),
    later: { allows: ['x/b x/a'], denies: ['y/b x/a'] },
  },
  {
    name: 'should deny ingress from pods on other namespaces',
    policies: () => [policy('allow', { ingress: [{ from: [{ podSelector: {} }] }] })],
    allows: ['x/a x/b'],
    denies: ['y/a x/a'],
  },
  {
    name: 'should deny ingress access to updated pod',
    policies: () => [policy('deny', { podSelector: { matchLabels: { target: 'isolated' } }, ...ingress })],
    allows: ['y/a x/a'],
    denies: [],
    change: () => setPod('x/a', { target: 'isolated' }),
    later: { allows: ['y/a x/b'], denies: ['y/a x/a'] },
  },
  {
    name: 'should deny egress from pods based on PodSelector',
    policies: () => [policy('deny', { podSelector: pod('a') ?? {}, ...egress })],
    allows: ['x/b y/a', 'y/a x/a'],
    denies: ['x/a y/a', 'x/a outside'],
  },
  {
    name: 'should deny egress from all pods in a namespace',
    policies: () => [policy('deny', egress)],
    allows: ['y/a x/a', 'x/a node'],
    denies: ['x/a y/a', 'x/b x/a'],
  },
  {
    name: 'should work with Ingress, Egress specified together',
    policies: () => [
      policy('both', {
        ...both,
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ podSelector: pod('b') }] }],
        egress: [{ ports: [{ port: 80 }] }],
      }),
    ],
    allows: ['x/b x/a', 'x/a y/a tcp/80'],
    denies: ['y/a x/a', 'x/a y/a tcp/81', 'x/a y/a udp/80'],
  },
  {
    name: 'should support denying of egress traffic on the client side (even if the server explicitly allows this traffic)',
    policies: () => [
      policy('deny', { podSelector: pod('a') ?? {}, ...egress, egress: [{ to: [{ podSelector: pod('b') }] }] }),
      policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ from: [{ namespaceSelector: ns('x') }] }] }, 'y'),
    ],
    allows: ['x/a x/b', 'x/b y/a'],
    denies: ['x/a y/a'],
  },
  {
    name: 'should enforce egress policy allowing traffic to a server in a different namespace based on PodSelector and NamespaceSelector',
    policies: () => [
      policy('allow', {
        podSelector: pod('a') ?? {},
        ...egress,
        egress: [{ to: [{ podSelector: pod('a'), namespaceSelector: ns('y') }] }],
      }),
    ],
    allows: ['x/a y/a'],
    denies: ['x/a y/b', 'x/a x/b'],
  },
  {
    name: 'should enforce ingress policy allowing any port traffic to a server on a specific protocol',
    policies: () => [policy('allow', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'UDP' }] }] })],
    allows: ['y/a x/a udp/80'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should enforce multiple ingress policies with ingress allow-all policy taking precedence',
    policies: () => [policy('deny', ingress), policy('allow', { ...ingress, ingress: [{}] })],
    allows: ['y/a x/a', 'outside x/a'],
    denies: [],
  },
  {
    name: 'should enforce multiple egress policies with egress allow-all policy taking precedence',
    policies: () => [policy('deny', egress), policy('allow', { ...egress, egress: [{}] })],
    allows: ['x/a y/a', 'x/a outside'],
    denies: [],
  },
  {
    name: 'should stop enforcing policies after they are deleted',
    policies: () => [policy('deny', both)],
    allows: ['node x/a'],
    denies: ['x/a y/a'],
    change: dropPolicies,
    later: { allows: ['x/a y/a', 'y/a x/a'], denies: [] },
  },
  {
    name: 'should allow egress access to server in CIDR block',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [{ to: [{ ipBlock: { cidr: blockOf('y/b') } }] }],
      }),
    ],
    allows: ['x/a y/b'],
    denies: ['x/a y/a', 'x/a outside'],
  },
  {
    name: 'should enforce except clause while egress access to server in CIDR block',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [{ to: [{ ipBlock: { cidr: blockOf('y/b', 24), except: [blockOf('y/b')] } }] }],
      }),
    ],
    allows: ['x/a y/a'],
    denies: ['x/a y/b', 'x/a outside'],
  },
  {
    name: 'should ensure an IP overlapping both IPBlock.CIDR and IPBlock.Except is allowed',
    policies: () => [
      policy('allow', {
        ...egress,
        podSelector: pod('a') ?? {},
        egress: [
          {
            to: [
              { ipBlock: { cidr: blockOf('y/b', 24), except: [blockOf('y/b')] } },
              { ipBlock: { cidr: blockOf('y/b') } },
            ],
          },
        ],
      }),
    ],
    allows: ['x/a y/a', 'x/a y/b'],
    denies: ['x/a outside'],
  },
  {
    name: 'should enforce policies to check ingress and egress policies can be controlled independently based on PodSelector',
    policies: () => [
      policy('out', { ...egress, podSelector: pod('a') ?? {}, egress: [{ to: [{ podSelector: pod('b') }] }] }),
      policy('in', { ...ingress, podSelector: pod('a') ?? {} }),
    ],
    allows: ['x/a x/b'],
    denies: ['x/b x/a'],
  },
  {
    name: "should not mistakenly treat 'protocol: SCTP' as 'protocol: TCP', even if the plugin doesn't support SCTP",
    policies: () => [
      policy('deny', ingress),
      policy('sctp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'SCTP', port: 80 }] }] }),
    ],
    allows: ['x/a y/a'],
    denies: ['y/a x/a tcp/80', 'y/a x/a udp/80'],
  },
  {
    name: "should properly isolate pods that are selected by a policy allowing SCTP, even if the plugin doesn't support SCTP",
    policies: () => [
      policy('sctp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'SCTP', port: 80 }] }] }),
    ],
    allows: ['y/a x/b'],
    denies: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should not allow access by TCP when a policy specifies only UDP',
    policies: () => [
      policy('udp', { podSelector: pod('a') ?? {}, ingress: [{ ports: [{ protocol: 'UDP', port: 80 }] }] }),
    ],
    allows: ['y/a x/a udp/80'],
    denies: ['y/a x/a tcp/80', 'y/a x/a tcp/81'],
  },
  {
    name: 'should enforce ranges of ports (endPort)',
    policies: () => [
      policy('range', {
        podSelector: pod('a') ?? {},
        ingress: [
          {
            ports: [
              { port: 81, endPort: 90 },
              { port: 70, endPort: 79 },
            ],
          },
        ],
      }),
    ],
    allows: ['y/a x/a tcp/81'],
    denies: ['y/a x/a tcp/80'],
  },
  {
    name: 'should enforce blocks of IPv6',
    policies: () => [
      policy('v6', {
        podSelector: pod('a') ?? {},
        ingress: [{ from: [{ ipBlock: { cidr: '::/0', except: [`${endOf('y/a').v6}/128`] } }] }],
      }),
    ],
    allows: [],
    denies: ['y/a x/a', 'y/b x/a'],
  },
];

for (const each of cases) {
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
