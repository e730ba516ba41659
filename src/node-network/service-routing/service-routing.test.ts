import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import type { ServiceRoute } from './compute-routes.ts';
import { computeRoutes } from './compute-routes.ts';
import { computeChanges, computeRemoval, computeRestore, isWhole, parsePresent, restoreText } from './restore-text.ts';
import { splitRestore } from './split-restore.ts';
import type { RulesFacts } from './rules-facts.ts';
import type { Ruleset } from './ruleset.ts';
import { nodeLoadBalancer, renderRuleset, RulesetRenderer } from './ruleset.ts';
import { selectBackends } from './select-backends.ts';
import { FakePacketFilter } from './testing/fake-packet-filter.ts';
import { facts, service, slice, targets } from './testing/service-builders.ts';

const query = { nodeName: 'node', portName: '', protocol: 'TCP' };
const rulesOf = (
  services: readonly Service[],
  slices: readonly EndpointSlice[],
  overrides: Partial<RulesFacts> = {},
): Ruleset =>
  renderRuleset(
    computeRoutes(
      services,
      ({ metadata }) => slices.filter((each) => each.metadata.labels?.['kubernetes.io/service-name'] === metadata.name),
      { nodeName: 'node', balancer: nodeLoadBalancer({ ...facts, ...overrides }) },
    ),
    { ...facts, ...overrides },
  );
/** Returns the rules that a first packet to an address could match, as text, following jumps. */
const reached = (rules: Ruleset, chain: string): string[] =>
  (rules.nat.chains.get(chain) ?? []).flatMap((rule) => [
    rule,
    ...reached(rules, / -j (KTS-\S+)/.exec(` ${rule}`)?.[1] ?? ''),
  ]);
const serviceRules = (rules: Ruleset): string[] => reached(rules, 'KTS-0123abcd-SERVICES');
const refusedRules = (rules: Ruleset): readonly string[] =>
  rules.filter.chains.get('KTS-0123abcd-REJECT')?.slice(0, -3) ?? [];

describe('which endpoints get the traffic of a service', () => {
  const ips = (slices: readonly EndpointSlice[]): [string[], string[]] => {
    const { all, local } = selectBackends(slices, query);
    return [all.map(({ ip }) => ip), local.map(({ ip }) => ip)];
  };

  it('ready endpoints get traffic, others do not; an absent condition counts as ready', () => {
    assert.deepEqual(
      ips([slice('web', [{ addresses: ['10.84.0.2'], conditions: { ready: false } }, { addresses: ['10.84.0.3'] }])]),
      [['10.84.0.3'], []],
    );
  });

  it('the backends of a service without ready endpoints, serving terminating endpoints get traffic', () => {
    const ending = {
      addresses: ['10.84.0.2'],
      nodeName: 'node',
      conditions: { ready: false, serving: true, terminating: true },
    };
    const gone = {
      addresses: ['10.84.0.3'],
      nodeName: 'node',
      conditions: { ready: false, serving: false, terminating: true },
    };
    assert.deepEqual(ips([slice('web', [ending, gone])]), [['10.84.0.2'], ['10.84.0.2']]);
    assert.deepEqual(ips([slice('web', [ending, gone, '10.84.0.4'])]), [['10.84.0.4'], ['10.84.0.4']]);
  });

  it('the rule holds for this node on its own', () => {
    const ending = {
      addresses: ['10.84.0.2'],
      nodeName: 'node',
      conditions: { ready: false, serving: true, terminating: true },
    };
    const elsewhere = { addresses: ['10.85.0.2'], nodeName: 'other', conditions: { ready: true } };
    assert.deepEqual(ips([slice('web', [ending, elsewhere])]), [['10.85.0.2'], ['10.84.0.2']]);
  });

  it('ports are found by name and protocol; other families and invalid addresses are ignored', () => {
    const ports = [
      { name: 'dns', port: 53, protocol: 'UDP' as const },
      { name: 'dns', port: 54, protocol: 'TCP' as const },
    ];
    assert.deepEqual(
      selectBackends([slice('web', ['10.84.0.2'], ports)], { ...query, portName: 'dns', protocol: 'UDP' }).all.map(
        ({ port }) => port,
      ),
      [53],
    );
    assert.deepEqual(
      ips([
        { ...slice('web', ['fd00::1']), addressType: 'IPv6' },
        slice('web', ['1.2.3.4\n-A INPUT -j DROP', '01.2.3.4']),
      ]),
      [[], []],
    );
  });
});

describe('the rules of services', () => {
  it('an address of a service leads to its endpoints, each as likely as the others', () => {
    const rules = serviceRules(rulesOf([service('web')], [slice('web', ['10.84.0.2', '10.84.0.3', '10.84.0.4'])]));
    assert.deepEqual(targets(rules), ['10.84.0.2:8080', '10.84.0.3:8080', '10.84.0.4:8080']);
    assert.deepEqual(
      rules.flatMap((rule) => /--probability (\S+)/.exec(rule)?.[1] ?? []),
      ['0.3333333333', '0.5000000000'],
    );
  });

  it('traffic of a pod to itself, and of clients that are not pods, is masqueraded', () => {
    const rules = serviceRules(rulesOf([service('web')], [slice('web', ['10.84.0.2'])]));
    assert.ok(rules.includes('-s 10.84.0.2/32 -j KTS-0123abcd-MARK'));
    assert.ok(rules.includes('! -s 10.84.0.0/22 -d 10.96.0.20/32 -p tcp -m tcp --dport 80 -j KTS-0123abcd-MARK'));
    const everyone = serviceRules(rulesOf([service('web')], [slice('web', ['10.84.0.2'])], { bridgeNetfilter: false }));
    assert.ok(everyone.includes('-d 10.96.0.20/32 -p tcp -m tcp --dport 80 -j KTS-0123abcd-MARK'));
  });

  it('one without endpoints is refused, and so is every other address of services', () => {
    const rules = rulesOf([service('web', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] })], []);
    assert.deepEqual(targets(serviceRules(rules)), []);
    assert.deepEqual(rules.filter.chains.get('KTS-0123abcd-REJECT'), [
      '-d 10.96.0.20/32 -p tcp -m tcp --dport 80 -m comment --comment "default/web:80" -j REJECT --reject-with tcp-reset',
      '-m addrtype --dst-type LOCAL -p tcp -m tcp --dport 30080 -m comment --comment "default/web:80" -j REJECT --reject-with tcp-reset',
      '-d 10.96.0.0/16 -p tcp -j REJECT --reject-with tcp-reset',
      '-d 10.96.0.0/16 -p udp -j REJECT --reject-with icmp-port-unreachable',
      '-d 10.96.0.0/16 -p sctp -j REJECT --reject-with icmp-port-unreachable',
    ]);
  });

  it('pods reach the admitted ports of the node, other clients only those that its firewall allows', () => {
    const { filter } = rulesOf([], [], { admitted: [{ ip: '10.84.0.1', protocol: 'udp', port: 10053 }] });
    assert.deepEqual(filter.chains.get('KTS-0123abcd-ADMIT'), [
      '-s 10.84.0.0/22 -d 10.84.0.1/32 -p udp -m udp --dport 10053 -j ACCEPT',
    ]);
    assert.ok(filter.jumps.some(({ from, to }) => from === 'INPUT' && to === 'KTS-0123abcd-ADMIT'));
  });

  it('headless services, names of other hosts and services of another proxy have no rules', () => {
    const labelled = service('c');
    const others = [
      service('a', { clusterIP: 'None' }),
      service('b', { type: 'ExternalName', clusterIP: '', externalName: 'example.org' }),
      { ...labelled, metadata: { ...labelled.metadata, labels: { 'service.kubernetes.io/service-proxy-name': 'x' } } },
    ];
    const rules = rulesOf(
      others,
      ['a', 'b', 'c'].map((name) => slice(name, ['10.84.0.2'])),
    );
    assert.deepEqual([targets(serviceRules(rules)), refusedRules(rules)], [[], []]);
  });

  it('a client of a service with affinity keeps its endpoint until the timeout', () => {
    const sticky = service('web', {
      sessionAffinity: 'ClientIP',
      sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
    });
    const rules = serviceRules(rulesOf([sticky], [slice('web', ['10.84.0.2', '10.84.0.3'])]));
    assert.equal(rules.filter((rule) => rule.includes('--rcheck --seconds 60 --reap')).length, 2);
    assert.equal(new Set(rules.filter((rule) => rule.includes('--set --rsource'))).size, 2);
  });

  it('a node port, an external address and a balancer lead in from outside, through the node', () => {
    const outside = service('web', {
      type: 'LoadBalancer',
      externalIPs: ['192.0.2.10'],
      loadBalancerSourceRanges: ['198.51.100.0/24', 'nonsense'],
      ports: [{ port: 80, nodePort: 30080 }],
    });
    const balanced = {
      ...outside,
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.5' }, { ip: '203.0.113.6', ipMode: 'Proxy' }] } },
    };
    const rules = serviceRules(rulesOf([balanced], [slice('web', ['10.84.0.2'])]));
    assert.deepEqual(
      rules
        .filter((rule) => rule.includes('--comment') && !rule.includes('10.96'))
        .map((rule) => /^(.*?) -p/.exec(rule)?.[1] ?? rule.slice(0, 30)),
      ['-d 192.0.2.10/32', '-s 198.51.100.0/24 -d 203.0.113.5/32', '-p tcp -m tcp --dport 30080 -m'],
    );
    assert.ok(rules.includes('-j KTS-0123abcd-MARK'));
  });

  it('node ports answer on 127.0.0.1 only where loopback addresses are routed, and then nothing else of loopback is open', () => {
    const web = service('web', { type: 'NodePort', ports: [{ port: 80, nodePort: 30080 }] });
    const rulesWith = (loopbackNodePorts: boolean): Ruleset =>
      rulesOf([web], [slice('web', ['10.84.0.2'])], { loopbackNodePorts });
    const loopback = (rules: Ruleset): string[] => [
      ...serviceRules(rules).filter((rule) => rule.includes('-d 127.0.0.1/32')),
      ...(rules.filter.chains.get('KTS-0123abcd-ADMIT') ?? []).filter((rule) => rule.endsWith('-j DROP')),
    ];
    assert.deepEqual(loopback(rulesWith(false)), []);
    assert.deepEqual(loopback(rulesWith(true)), [
      '-s 127.0.0.0/8 -d 127.0.0.1/32 -j KTS-0123abcd-NODEPORTS',
      '! -s 127.0.0.0/8 -d 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP',
    ]);
  });

  it('service rules with the policy Local traffic from outside stays here and keeps its source; without a pod here it is dropped', () => {
    const local = service('web', {
      type: 'NodePort',
      externalTrafficPolicy: 'Local',
      ports: [{ port: 80, nodePort: 30080 }],
    });
    const [here, there] = [
      { addresses: ['10.84.0.2'], nodeName: 'node' },
      { addresses: ['10.85.0.2'], nodeName: 'other' },
    ];
    const rules = rulesOf([local], [slice('web', [here, there])]);
    const external = [...rules.nat.chains].find(([name]) => name.includes('-X'))?.[1] ?? [];
    assert.deepEqual(
      external.map((rule) => rule.replace(/-[SL][A-Za-z0-9_-]{12}$/, (match) => match.slice(0, 2))),
      [
        '-s 10.84.0.0/22 -j KTS-0123abcd-S',
        '-m addrtype --src-type LOCAL -j KTS-0123abcd-MARK',
        '-m addrtype --src-type LOCAL -j KTS-0123abcd-S',
        '-j KTS-0123abcd-L',
      ],
    );
    assert.deepEqual(targets(reached(rules, external.at(-1)?.slice(3) ?? '')), ['10.84.0.2:8080']);
    const elsewhere = rulesOf([local], [slice('web', [there])]);
    assert.deepEqual(
      refusedRules(elsewhere).map((rule) => rule.split(' -j ')[1]),
      ['DROP'],
    );
    assert.deepEqual(targets(serviceRules(elsewhere)), ['10.85.0.2:8080']);
  });

  it('service rules with internalTrafficPolicy Local pods reach only endpoints of their node', () => {
    const local = service('web', { internalTrafficPolicy: 'Local' });
    const [here, there] = [
      { addresses: ['10.84.0.2'], nodeName: 'node' },
      { addresses: ['10.85.0.2'], nodeName: 'other' },
    ];
    assert.deepEqual(targets(serviceRules(rulesOf([local], [slice('web', [here, there])]))), ['10.84.0.2:8080']);
    assert.deepEqual(
      refusedRules(rulesOf([local], [slice('web', [there])])).map((rule) => rule.split(' -j ')[1]),
      ['DROP'],
    );
  });
});

const address = fc.integer({ min: 2, max: 9 }).map((last) => `10.84.0.${last}`);
const anyEndpoint = fc.record({ ip: address, ready: fc.boolean(), ending: fc.boolean(), here: fc.boolean() });
const anyService = fc.record({
  kind: fc.constantFrom<'ClusterIP' | 'NodePort' | 'LoadBalancer'>('ClusterIP', 'NodePort', 'LoadBalancer'),
  protocol: fc.constantFrom<'TCP' | 'UDP' | 'SCTP'>('TCP', 'UDP', 'SCTP'),
  external: fc.constantFrom<'Local' | 'Cluster'>('Local', 'Cluster'),
  internal: fc.constantFrom<'Local' | 'Cluster'>('Local', 'Cluster'),
  affinity: fc.boolean(),
  endpoints: fc.array(anyEndpoint, { maxLength: 4 }),
});
const world = fc.array(anyService, { maxLength: 5 }).map((list) => {
  const services = list.map((each, index) =>
    service(`s${index}`, {
      type: each.kind,
      clusterIP: `10.96.0.${20 + index}`,
      externalTrafficPolicy: each.external,
      internalTrafficPolicy: each.internal,
      sessionAffinity: each.affinity ? 'ClientIP' : 'None',
      ports: [{ port: 80, protocol: each.protocol, nodePort: 30_000 + index }],
    }),
  );
  const slices = list.map((each, index) =>
    slice(
      `s${index}`,
      each.endpoints.map(({ ip, ready, ending, here }) => ({
        addresses: [ip],
        nodeName: here ? 'node' : 'other',
        conditions: { ready, serving: ready || ending, terminating: ending },
      })),
      [{ name: '', port: 8080, protocol: each.protocol }],
    ),
  );
  return { services, slices };
});

describe('laws of the rules', () => {
  it('every chain has a valid name, is the target of a jump, and jumps only to existing chains', () => {
    fc.assert(
      fc.property(world, ({ services, slices }) => {
        const { nat } = rulesOf(services, slices);
        const jumps = [
          ...nat.jumps.map(({ to }) => to),
          ...[...nat.chains.values()].flat().flatMap((rule) => / -j (KTS-\S+)/.exec(` ${rule}`)?.[1] ?? []),
        ];
        assert.ok(jumps.every((name) => nat.chains.has(name)));
        assert.ok(
          [...nat.chains.keys()].every((name) => name.length <= 28 && (jumps.includes(name) || name.endsWith('-MARK'))),
        );
      }),
    );
  });

  it('every address of a service is either led somewhere or refused, never both', () => {
    fc.assert(
      fc.property(world, ({ services, slices }) => {
        const rules = rulesOf(services, slices);
        for (const { spec } of services) {
          const match = `-d ${spec.clusterIP}/32 `;
          const led = rules.nat.chains.get('KTS-0123abcd-SERVICES')?.some((rule) => rule.startsWith(match)) === true;
          assert.notEqual(
            led,
            refusedRules(rules).some((rule) => rule.startsWith(match)),
          );
        }
      }),
    );
  });

  it('one write reaches the wanted state from any state, a second writes nothing, and rules of other programs are kept', async () => {
    await fc.assert(
      fc.asyncProperty(world, world, fc.boolean(), async (before, after, knows) => {
        const filter = new FakePacketFilter();
        await filter.apply('*nat\n:CNI-OTHER - [0:0]\n-A CNI-OTHER -j RETURN\nCOMMIT\n');
        const first = rulesOf(before.services, before.slices);
        const second = rulesOf(after.services, after.slices);
        const present = async (): Promise<ReturnType<typeof parsePresent>> =>
          parsePresent(await filter.read(), facts.chainPrefix);
        await filter.apply(computeRestore(first, await present()) ?? '');
        assert.ok(isWhole(first, await present()));
        await filter.apply(computeRestore(second, await present(), knows ? first : undefined) ?? '');
        assert.ok(isWhole(second, await present()));
        for (const [chain, rules] of second.nat.chains) assert.deepEqual(filter.rules('nat', chain), rules);
        assert.equal(computeRestore(second, await present(), second), undefined);
        assert.deepEqual(filter.rules('nat', 'CNI-OTHER'), ['-j RETURN']);
      }),
    );
  });

  it('rules written in parts have the same result, and each part jumps only to existing chains', async () => {
    await fc.assert(
      fc.asyncProperty(world, world, fc.integer({ min: 1, max: 5 }), async (before, after, chainsAtOnce) => {
        const [whole, parts] = [new FakePacketFilter(), new FakePacketFilter()];
        for (const { services, slices } of [before, after]) {
          const wanted = rulesOf(services, slices);
          const changes = computeChanges(wanted, parsePresent(await whole.read(), facts.chainPrefix));
          await whole.apply(restoreText(changes));
          for (const part of splitRestore(changes, chainsAtOnce)) await parts.apply(part);
          for (const table of ['nat', 'filter'] as const)
            for (const chain of new Set([...whole.chainNames(table), ...parts.chainNames(table)]))
              assert.deepEqual(parts.rules(table, chain), whole.rules(table, chain), chain);
        }
      }),
    );
  });

  it('a removal takes all of it and nothing else', async () => {
    await fc.assert(
      fc.asyncProperty(world, async ({ services, slices }) => {
        const filter = new FakePacketFilter();
        await filter.apply('*nat\n:CNI-OTHER - [0:0]\n-A CNI-OTHER -j RETURN\n-I PREROUTING 1 -j CNI-OTHER\nCOMMIT\n');
        const before = await filter.read();
        assert.equal(computeRemoval(before, facts.chainPrefix), undefined);
        await filter.apply(computeRestore(rulesOf(services, slices), parsePresent(before, facts.chainPrefix)) ?? '');
        await filter.apply(computeRemoval(await filter.read(), facts.chainPrefix) ?? '');
        assert.equal(await filter.read(), before);
      }),
    );
  });

  it('the order in which services and slices come changes nothing', () => {
    fc.assert(
      fc.property(world, ({ services, slices }) => {
        assert.deepEqual(rulesOf([...services].reverse(), [...slices].reverse()), rulesOf(services, slices));
      }),
    );
  });
});

describe('a renderer that is kept', () => {
  it('renders changed routes only, and the same rules as a new one', () => {
    const [first, second, third] = ['a', 'b', 'c'].map((name, at) =>
      computeRoutes([service(name, { clusterIP: `10.96.0.${at + 1}` })], () => [slice(name, [`10.84.0.${at + 2}`])], {
        nodeName: 'node',
      }),
    ) as [ServiceRoute[], ServiceRoute[], ServiceRoute[]];
    const renderer = new RulesetRenderer(facts);
    const before = renderer.render([...first, ...second]).nat.chains;
    const { nat, filter } = renderer.render([...second, ...third]);
    assert.deepEqual({ nat, filter }, renderRuleset([...second, ...third], facts));
    const kept = [...nat.chains].filter(([name, rules]) => before.get(name) === rules);
    assert.equal(kept.length, 2, 'the chains of the service and of its endpoint');
  });
});
