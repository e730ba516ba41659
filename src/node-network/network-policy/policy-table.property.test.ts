// For generated clusters, every connection between every two ends is checked twice: by the rules of both nodes, and by
// the model of the API. Also, rules that were changed step by step must be equal to the rules after a fresh start.
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { NetworkPolicy } from '../../api/networking/network-policy.ts';
import type { Labels } from '../../api/label-requirement.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeNft } from '../nftables/testing/fake-nft.ts';
import { TableDraft } from '../nftables/table-draft.ts';
import { simulateChain } from '../nftables/testing/simulate-table.ts';
import type { SimulatedPacket } from '../nftables/testing/simulate-table.ts';
import { isAllowed } from './is-allowed.ts';
import type { Connection, PolicyCluster } from './is-allowed.ts';
import type { PolicyPod, PolicyProtocol } from './policy-pod.ts';
import { PolicyTable } from './policy-table.ts';
import { ClusterGenerator, NAMESPACES, NODES, PORTS } from './testing/cluster-generator.ts';

const nodeAddresses = new Map<string, readonly string[]>([
  ['here', ['10.9.0.1', 'fd00:9::1']],
  ['there', ['10.9.0.2', 'fd00:9::2']],
]);
const OUTSIDE = ['192.0.2.7', '10.200.0.1', '2001:db8::7'];

interface Model {
  readonly namespaces: Map<string, Labels>;
  readonly pods: Map<string, PolicyPod>;
  readonly policies: Map<string, NetworkPolicy>;
}

interface NodeRules {
  readonly draft: TableDraft;
  readonly table: PolicyTable;
}

const rulesOf = (nodeName: string): NodeRules => {
  const draft = new TableDraft('inet', 'policies');
  return { draft, table: new PolicyTable({ draft, nodeName }) };
};

function fresh(world: Model, nodeName: string): NodeRules {
  const rules = rulesOf(nodeName);
  for (const [name, labels] of world.namespaces) rules.table.setNamespace(name, labels);
  for (const [key, pod] of world.pods) rules.table.setPod(key, pod);
  for (const policy of world.policies.values())
    rules.table.setPolicy(policy.metadata.namespace, policy.metadata.name, policy);
  return rules;
}

const clusterOf = ({ namespaces, pods, policies }: Model): PolicyCluster => ({
  policies: [...policies.values()],
  pods: [...pods.values()],
  namespaces,
  nodeAddresses,
});

/**
 * Whether a packet passes the nodes of both ends. A node forwards it if one end is a pod and the other end is not the
 * node itself.
 */
function passes(rules: ReadonlyMap<string, NodeRules>, { pods }: Model, packet: SimulatedPacket): boolean {
  const nodeOf = (ip: string): string | undefined =>
    [...pods.values()].find(({ addresses }) => addresses.includes(ip))?.node;
  const hostOf = (ip: string): string | undefined => NODES.find((node) => nodeAddresses.get(node)?.includes(ip));
  const forwarding = new Set(
    [nodeOf(packet.saddr), nodeOf(packet.daddr)].filter(
      (node) => node !== undefined && node !== hostOf(packet.saddr) && node !== hostOf(packet.daddr),
    ),
  );
  return [...forwarding].every((node) => {
    const draft = rules.get(node ?? '')?.draft;
    return (
      draft !== undefined &&
      ['egress', 'ingress'].every((chain) => simulateChain(draft, chain, packet).verdict.kind === 'accept')
    );
  });
}

function generate(generator: ClusterGenerator): Model {
  const namespaces = new Map(NAMESPACES.map((name) => [name, generator.namespaceLabels(name)]));
  const pods = new Map(
    NAMESPACES.flatMap((namespace, row) =>
      ['p', 'q', 'r'].map((name, column) => {
        const pod = generator.pod(namespace, name, row * 3 + column);
        return [pod.key, pod] as const;
      }),
    ),
  );
  const policies = new Map<string, NetworkPolicy>();
  for (let index = 0; index < 4; index++) {
    const policy = generator.policy(generator.pick(NAMESPACES), `n${index}`);
    policies.set(`${policy.metadata.namespace}/${policy.metadata.name}`, policy);
  }
  return { namespaces, pods, policies };
}

function* connections({ pods }: Model): Generator<Connection> {
  const ends = [
    ...[...pods.values()].flatMap(({ addresses }) => addresses),
    ...[...nodeAddresses.values()].flat(),
    ...OUTSIDE,
  ];
  for (const from of ends)
    for (const to of ends) {
      if (from.includes(':') !== to.includes(':')) continue;
      for (const protocol of ['tcp', 'udp', 'sctp'] as PolicyProtocol[])
        for (const port of PORTS) yield { from, to, protocol, port };
    }
}

/** Returns the connections on which rules and model differ, in either direction. */
function compare(
  world: Model,
  rules: ReadonlyMap<string, NodeRules>,
): { found: string[]; allowed: number; denied: number } {
  const cluster = clusterOf(world);
  const found: string[] = [];
  let [allowed, denied] = [0, 0];
  for (const connection of connections(world)) {
    const { from, to, protocol, port } = connection;
    const wanted = isAllowed(cluster, connection);
    if (wanted) allowed += 1;
    else denied += 1;
    const request = { saddr: from, daddr: to, protocol, sport: 40_000, dport: port, direction: 'original' } as const;
    const reply = { saddr: to, daddr: from, protocol, sport: port, dport: 40_000, direction: 'reply' } as const;
    for (const packet of [request, reply])
      if (passes(rules, world, packet) !== wanted)
        found.push(`${packet.direction} ${from} -> ${to} ${protocol}/${port}: the model says ${wanted}`);
  }
  return { found, allowed, denied };
}

it('the rules of generated clusters pass exactly what the model allows, requests and answers alike', () => {
  let [allowed, denied] = [0, 0];
  for (let seed = 1; seed <= 24; seed++) {
    const world = generate(new ClusterGenerator(seededRandom(seed)));
    const result = compare(world, new Map(NODES.map((node) => [node as string, fresh(world, node)])));
    assert.deepEqual(result.found.slice(0, 5), [], `seed ${seed}`);
    allowed += result.allowed;
    denied += result.denied;
  }
  assert.ok(allowed > 5000 && denied > 5000, `the clusters show both: ${allowed} allowed, ${denied} denied`);
});

function change(world: Model, tables: readonly PolicyTable[], generator: ClusterGenerator): void {
  const kind = generator.pick(['pod', 'pod', 'address', 'policy', 'policy', 'namespace'] as const);
  const namespace = generator.pick(NAMESPACES);
  if (kind === 'namespace') {
    const labels = generator.chance(0.1) ? undefined : generator.namespaceLabels(namespace);
    if (labels === undefined) world.namespaces.delete(namespace);
    else world.namespaces.set(namespace, labels);
    for (const table of tables) table.setNamespace(namespace, labels);
  } else if (kind === 'policy') {
    const name = generator.pick(['n0', 'n1', 'n2']);
    const policy = generator.chance(0.3) ? undefined : generator.policy(namespace, name);
    if (policy === undefined) world.policies.delete(`${namespace}/${name}`);
    else world.policies.set(`${namespace}/${name}`, policy);
    for (const table of tables) table.setPolicy(namespace, name, policy);
  } else {
    const name = generator.pick(['p', 'q', 'r']);
    const key = `${namespace}/${name}`;
    const index = NAMESPACES.indexOf(namespace) * 3 + ['p', 'q', 'r'].indexOf(name);
    // The address may belong to another pod whose end is not known yet.
    const pod = generator.chance(0.2) ? undefined : generator.pod(namespace, name, kind === 'address' ? 0 : index);
    if (pod === undefined) world.pods.delete(key);
    else world.pods.set(key, { ...pod, since: `${index}` });
    for (const table of tables) table.setPod(key, world.pods.get(key));
  }
}

it('after any changes the kernel has the state of a fresh start, and no step refers to a missing object', () => {
  for (let seed = 1; seed <= 20; seed++) {
    const generator = new ClusterGenerator(seededRandom(seed));
    const world = generate(generator);
    const grown = fresh(world, 'here');
    const kernel = new FakeNft();
    kernel.run(grown.draft.takeWhole());
    for (let step = 0; step < 60; step++) {
      for (let many = generator.pick([1, 1, 3]); many > 0; many--) change(world, [grown.table], generator);
      kernel.run(grown.draft.takeChanges());
      if (step % 10 !== 9) continue;
      const expected = new FakeNft();
      expected.run(fresh(world, 'here').draft.takeWhole());
      assert.deepEqual(kernel.content(), expected.content(), `seed ${seed}, step ${step}`);
    }
    for (const key of world.pods.keys()) grown.table.setPod(key, undefined);
    kernel.run(grown.draft.takeChanges());
    const nothing = new FakeNft();
    nothing.run(rulesOf('here').draft.takeWhole());
    assert.deepEqual(kernel.content(), nothing.content(), `seed ${seed}: without pods nothing is left`);
  }
});

it('no change costs nothing, and one pod among thousands changes a handful of elements', () => {
  const world: Model = { namespaces: new Map([['x', {}]]), pods: new Map(), policies: new Map() };
  const podOf = (index: number): PolicyPod => ({
    key: `x/p${index}`,
    namespace: 'x',
    labels: { pod: 'a' },
    node: 'here',
    addresses: [`10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`],
    ports: [],
    since: '',
  });
  for (let index = 1; index <= 3000; index++) world.pods.set(`x/p${index}`, podOf(index));
  world.policies.set('x/n', {
    metadata: { name: 'n', namespace: 'x', uid: 'n' },
    spec: { podSelector: {}, ingress: [{ from: [{ podSelector: {} }] }] },
  });
  const { draft, table } = fresh(world, 'here');
  draft.takeWhole();
  assert.equal(draft.takeChanges(), undefined);
  table.setPod('x/p7', podOf(7));
  assert.equal(draft.takeChanges(), undefined, 'the same pod again');
  table.setPod('x/new', { ...podOf(4000), key: 'x/new' });
  assert.equal(draft.takeChanges()?.trim().split('\n').length, 4, 'a peer, both maps of ingress, and itself');
});
