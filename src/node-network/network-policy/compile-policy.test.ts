import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { NetworkPolicy, NetworkPolicyPeer, NetworkPolicyPort } from '../../api/networking/network-policy.ts';
import type { CompiledPolicy, PodGroup } from './compile-policy.ts';
import { compilePolicy, groupBody, groupSet } from './compile-policy.ts';
import type { Direction } from './is-allowed.ts';

interface RuleParts {
  readonly peers?: NetworkPolicyPeer[];
  readonly ports?: NetworkPolicyPort[];
}

const all = {};
const web = { matchLabels: { app: 'web' } };
const db = { matchLabels: { app: 'db' } };

function policy(direction: Direction, rules: readonly RuleParts[]): NetworkPolicy {
  const spec =
    direction === 'Ingress'
      ? { ingress: rules.map(({ peers = [], ports = [] }) => ({ from: peers, ports })) }
      : { egress: rules.map(({ peers = [], ports = [] }) => ({ to: peers, ports })) };
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'NetworkPolicy',
    metadata: { name: 'p', namespace: 'shop', uid: 'u' },
    spec: { podSelector: db, policyTypes: [direction], ...spec },
  } as NetworkPolicy;
}

function compiled(direction: Direction, ...rules: RuleParts[]): CompiledPolicy {
  const made = compilePolicy(policy(direction, rules), direction);
  if (made === undefined) assert.fail('the policy does not restrict the direction');
  return made;
}

const ingress = (...rules: RuleParts[]): CompiledPolicy => compiled('Ingress', ...rules);
const egress = (...rules: RuleParts[]): CompiledPolicy => compiled('Egress', ...rules);
/** The names of sets contain digests, so only the prefix is compared. */
const short = (rules: readonly string[]): string[] => rules.map((rule) => rule.replace(/@(\w+)-[0-9a-f]{24}/g, '@$1'));
const ports = (...list: NetworkPolicyPort[]): readonly string[] =>
  ingress({ ports: list }).sets.flatMap(({ elements }) => elements);
const choices = ({ groups }: CompiledPolicy): (PodGroup['choices'] | string)[] =>
  groups.map(({ choices: of, port }) => (port === undefined ? of : `${port.protocol} ${port.name}`));

describe('a compiled policy', () => {
  it('has no rules for a direction that it does not restrict', () => {
    assert.equal(compilePolicy(policy('Ingress', []), 'Egress'), undefined);
    assert.equal(compilePolicy(policy('Egress', []), 'Ingress'), undefined);
  });

  it('has a chain for requests and one for answers, named after the policy and the direction', () => {
    const { request, reply } = ingress();
    assert.match(request.name, /^ingress-[0-9a-f]{24}$/);
    assert.equal(reply.name, request.name.replace('ingress-', 'ingress-reply-'));
    assert.deepEqual([request.rules, reply.rules], [[], []]);
    assert.match(egress().request.name, /^egress-[0-9a-f]{24}$/);
    assert.notEqual(egress().request.name.slice(-24), request.name.slice(-24));
  });

  it('accepts everything where a rule names neither peers nor ports', () => {
    const { request, reply, groups, sets } = ingress(all);
    assert.deepEqual([request.rules, reply.rules, groups, sets], [['accept'], ['accept'], [], []]);
  });
});

describe('the peers of a compiled rule', () => {
  it('are the pods that selectors mean: of the own namespace, of namespaces, or of both', () => {
    const made = ingress({
      peers: [{ podSelector: web }, { namespaceSelector: all }, { podSelector: web, namespaceSelector: db }],
    });
    assert.deepEqual(choices(made), [
      [
        { namespace: 'shop', podSelector: web },
        { namespaceSelector: all },
        { namespaceSelector: db, podSelector: web },
      ],
    ]);
    assert.deepEqual(short(made.request.rules), ['ip saddr @pods-v4 accept', 'ip6 saddr @pods-v6 accept']);
    assert.deepEqual(short(made.reply.rules), ['ip daddr @pods-v4 accept', 'ip6 daddr @pods-v6 accept']);
    assert.deepEqual(short(egress({ peers: [{ podSelector: web }] }).request.rules), [
      'ip daddr @pods-v4 accept',
      'ip6 daddr @pods-v6 accept',
    ]);
  });

  it('are addresses of blocks, in one set of each family that has any', () => {
    const made = ingress({ peers: [{ ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.0.0/25'] } }] });
    assert.deepEqual(short(made.request.rules), ['ip saddr @blocks-v4 accept']);
    assert.deepEqual(
      made.sets.map(({ body, elements }) => [body, elements]),
      [['type ipv4_addr; flags interval;', ['10.0.0.128-10.0.0.255']]],
    );
    assert.deepEqual(made.groups, []);
    const both = ingress({ peers: [{ ipBlock: { cidr: '10.0.0.0/8' } }, { ipBlock: { cidr: 'fd00::/8' } }] });
    assert.deepEqual(short(both.request.rules), ['ip saddr @blocks-v4 accept', 'ip6 saddr @blocks-v6 accept']);
    assert.equal(both.sets.length, 2);
  });

  it('are nothing where they select nothing, which is not the same as no peers', () => {
    for (const peer of [all, { ipBlock: { cidr: '10.0.0.0/24', except: ['10.0.0.0/24'] } }])
      assert.deepEqual(ingress({ peers: [peer] }).request.rules, [], JSON.stringify(peer));
  });

  it('are the block alone where a peer has a block beside selectors', () => {
    const made = ingress({ peers: [{ ipBlock: { cidr: '10.0.0.0/8' }, podSelector: web }] });
    assert.deepEqual([made.groups, made.request.rules.length], [[], 1]);
  });

  it('share a set with every policy that selects the same', () => {
    const [one, other] = [ingress({ peers: [{ podSelector: web }] }), egress({ peers: [{ podSelector: web }] })];
    assert.equal(one.groups[0]?.name, other.groups[0]?.name);
    assert.match(one.groups[0]?.name ?? '', /^pods-[0-9a-f]{24}$/);
  });
});

describe('the ports of a compiled rule', () => {
  it('are ranges of numbers by protocol, joined where they touch or overlap', () => {
    assert.deepEqual(
      ports(
        { port: 8003, endPort: 8005 },
        { port: 8000, endPort: 8002 },
        { port: 8001, endPort: 8004, protocol: 'TCP' },
        { port: 8007 },
        { port: 8001, protocol: 'UDP' },
      ),
      ['tcp . 8000-8005', 'tcp . 8007', 'udp . 8001'],
    );
    assert.deepEqual(ports({ port: 1, endPort: 10 }, { port: 3 }, { port: 12 }), ['tcp . 1-10', 'tcp . 12']);
  });

  it('are all of a protocol that is named alone', () => {
    assert.deepEqual(ports({ protocol: 'SCTP' }), ['sctp . 0-65535']);
    assert.deepEqual(ports({}), ['tcp . 0-65535']);
  });

  it('are nothing where they mean nothing: the rule then accepts nothing', () => {
    for (const port of [
      { port: 80, protocol: 'ICMP' },
      { port: 0 },
      { port: 65_536 },
      { port: 90, endPort: 80 },
      { port: 'web', protocol: 'ICMP' },
    ])
      assert.deepEqual(ingress({ ports: [port as NetworkPolicyPort] }).request.rules, [], JSON.stringify(port));
    assert.deepEqual(ports({ port: 80, endPort: 70_000 }), ['tcp . 80']);
  });

  it('are matched at the server, whose end changes with the direction of the packet', () => {
    const { request, reply } = ingress({ ports: [{ port: 80 }] });
    assert.deepEqual(short(request.rules), ['meta l4proto . th dport @ports accept']);
    assert.deepEqual(short(reply.rules), ['meta l4proto . th sport @ports accept']);
  });

  it('have names that mean ports of the pods of the policy for ingress, beside the peers', () => {
    const made = ingress({ peers: [{ podSelector: web }], ports: [{ port: 'http' }, { port: 80 }] });
    assert.deepEqual(
      made.groups.map(({ choices: of, port }) => [of, port]),
      [
        [[{ namespace: 'shop', podSelector: web }], undefined],
        [[{ namespace: 'shop', podSelector: web }], undefined],
        [[{ namespace: 'shop', podSelector: db }], { name: 'http', protocol: 'tcp' }],
      ],
    );
    assert.equal(
      short(made.request.rules).at(-2),
      'ip saddr @pods-v4 ip daddr . meta l4proto . th dport @pods-v4 accept',
    );
    assert.equal(
      short(made.reply.rules).at(-1),
      'ip6 daddr @pods-v6 ip6 saddr . meta l4proto . th sport @pods-v6 accept',
    );
  });

  it('have names that mean ports of the peers for egress: one set holds both', () => {
    const made = egress({ peers: [{ podSelector: web }], ports: [{ port: 'dns', protocol: 'UDP' }] });
    assert.deepEqual(
      made.groups.map(({ choices: of, port }) => [of, port]),
      [[[{ namespace: 'shop', podSelector: web }], { name: 'dns', protocol: 'udp' }]],
    );
    assert.deepEqual(short(made.request.rules), [
      'ip daddr . meta l4proto . th dport @pods-v4 accept',
      'ip6 daddr . meta l4proto . th dport @pods-v6 accept',
    ]);
    assert.deepEqual(egress({ ports: [{ port: 'dns' }] }).groups[0]?.choices, undefined);
  });

  it('have names that mean ports of any pod in a block for egress', () => {
    const made = egress({ peers: [{ ipBlock: { cidr: '10.0.0.0/8' } }], ports: [{ port: 'http' }] });
    assert.deepEqual(choices(made), ['tcp http']);
    assert.deepEqual(short(made.request.rules), [
      'ip daddr @blocks-v4 ip daddr . meta l4proto . th dport @pods-v4 accept',
    ]);
  });
});

it('a set of pods holds addresses, and one of named ports holds them with protocol and port', () => {
  const group = { name: 'pods-x', choices: undefined };
  assert.equal(groupSet(group, 'v6'), 'pods-x-v6');
  assert.equal(groupBody(group, 'v4'), 'type ipv4_addr;');
  assert.equal(
    groupBody({ ...group, port: { name: 'http', protocol: 'tcp' } }, 'v6'),
    'type ipv6_addr . inet_proto . inet_service;',
  );
});
