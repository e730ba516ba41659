// Tests what a hostile Service, EndpointSlice or name can add to the node's packet filter.
// test/integration/node-network does the same with a real one.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Service } from '../../api/core/service.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { createInformers } from '../../api/client/informer.ts';
import { endpointSlices, services } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { RecordingLog } from '../../base/testing/recording-log.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { computeRoutes } from './compute-routes.ts';
import { computeRemoval, computeRestore, parsePresent } from './restore-text.ts';
import type { Ruleset } from './ruleset.ts';
import { renderRuleset } from './ruleset.ts';
import { createServiceRouter } from './service-router.ts';
import { FakePacketFilter } from './testing/fake-packet-filter.ts';
import { facts as builderFacts, service, slice } from './testing/service-builders.ts';

const facts = {
  ...builderFacts,
  admitted: [
    { ip: '10.84.0.1', protocol: 'tcp', port: 6443 },
    { ip: '10.84.0.1', protocol: 'udp', port: 10_053 },
  ] as const,
};
const rulesOf = (list: readonly Service[], slices: readonly EndpointSlice[] = [slice('web', ['10.84.0.2'])]): Ruleset =>
  renderRuleset(
    computeRoutes(list, () => slices, { nodeName: 'node' }),
    facts,
  );
const nothing = parsePresent('', facts.chainPrefix);
const textOf = (list: readonly Service[], slices?: readonly EndpointSlice[]): string =>
  computeRestore(rulesOf(list, slices), nothing) ?? '';
const CHAIN = 'KTS-0123abcd-(SERVICES|NODEPORTS|MARK|POSTROUTING|REJECT|ADMIT|[SLXE][A-Za-z0-9_-]{12})';
/** The only lines that the input of iptables-restore may contain. */
const LINE = new RegExp(
  `^(\\*nat|\\*filter|COMMIT|:${CHAIN} - \\[0:0\\]|-X ${CHAIN}|-I (PREROUTING|INPUT|FORWARD|OUTPUT|POSTROUTING) 1 (-m conntrack --ctstate NEW )?-j ${CHAIN}|-A ${CHAIN} [A-Za-z0-9 !_/.:,-]*(-m comment --comment "[a-z0-9.-]{1,63}/[a-z0-9.-]{1,63}:[a-z0-9.-]{1,63}" )?[A-Za-z0-9 !_/.:,-]*)?$`,
);
const assertTame = (text: string): void => {
  for (const line of text.split('\n')) assert.match(line, LINE);
};
/** Returns where a first packet to an address and a port may go, by all rules that name them. */
const servicesChain = (rules: Ruleset): readonly string[] => rules.nat.chains.get('KTS-0123abcd-SERVICES') ?? [];

/** Runs the router for a minute. Returns its log messages. */
async function routed(filter: FakePacketFilter, seed: (api: FakeApiClient) => void): Promise<RecordingLog> {
  const [clock, log] = [new FakeClock(), recordingLog()];
  const api = new FakeApiClient({ clock });
  seed(api);
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log });
  const router = createServiceRouter({
    informers,
    filter,
    clock,
    random: seededRandom(1),
    log,
    nodeName: 'node',
    facts,
  });
  informers.start();
  router.start();
  await clock.advance(60_000);
  await Promise.all([router.stop(), informers.stop()]);
  return log;
}

const NASTY = [
  'x\n-A INPUT -j ACCEPT',
  'x" -j ACCEPT',
  '$(reboot)',
  'x\\',
  'x\u0000y',
  'a -j b',
  '-j',
  '*filter',
  'COMMIT',
  `${'a'.repeat(300)}`,
  '\u2028',
  "'",
  '',
];

describe('text that is made to be a rule', () => {
  const broken = (field: string, value: unknown): Service => {
    const base = service('web', {
      type: 'LoadBalancer',
      externalIPs: ['203.0.113.7'],
      sessionAffinity: 'ClientIP',
      ports: [{ name: 'http', port: 80, protocol: 'TCP', nodePort: 30_080 }],
    });
    const copy = structuredClone({
      ...base,
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.8' }] } },
    }) as unknown as Record<string, Record<string, unknown>>;
    const path = field.split('.');
    const last = path.pop() ?? '';
    const at = path.reduce((object, key) => object[key] as Record<string, Record<string, unknown>>, copy);
    at[last] = value as Record<string, unknown>;
    return copy as unknown as Service;
  };
  const fields = [
    'metadata.name',
    'metadata.namespace',
    'spec.clusterIP',
    'spec.ports.0.name',
    'spec.ports.0.protocol',
    'spec.ports.0.port',
    'spec.ports.0.nodePort',
    'spec.externalIPs.0',
    'spec.sessionAffinityConfig',
    'spec.internalTrafficPolicy',
    'spec.externalTrafficPolicy',
    'spec.type',
    'status.loadBalancer.ingress.0.ip',
  ];
  for (const field of fields) {
    it(`stays outside: ${field}`, () => {
      for (const text of NASTY) {
        assertTame(textOf([broken(field, text), service('good')]));
        assertTame(
          textOf([
            broken(
              field,
              field === 'spec.sessionAffinityConfig' ? { clientIP: { timeoutSeconds: text } } : { toString: 1 },
            ),
            service('good'),
          ]),
        );
      }
    });
  }

  it('stays outside, whatever an endpoint slice says', () => {
    for (const text of NASTY) {
      assertTame(textOf([service('web')], [slice('web', [text, '10.84.0.2', `10.84.0.3${text}`])]));
      assertTame(
        textOf(
          [service('web')],
          [slice('web', ['10.84.0.2'], [{ name: '', port: text as unknown as number, protocol: 'TCP' }])],
        ),
      );
      assertTame(
        textOf([service('web')], [slice('web', [{ addresses: ['10.84.0.2'], nodeName: text, hostname: text }])]),
      );
    }
  });

  it('stays outside, source ranges and time limits too', () => {
    const any = fc.oneof(
      fc.string(),
      fc.constantFrom(...NASTY),
      fc.integer(),
      fc.double(),
      fc.constantFrom('10.0.0.0/8', '10.0.0.0/8\n', '1e3', 'constructor', '__proto__'),
    );
    fc.assert(
      fc.property(fc.array(any, { maxLength: 4 }), any, any, (ranges, seconds, protocol) => {
        const hostile = service('web', {
          type: 'LoadBalancer',
          externalIPs: ranges as string[],
          loadBalancerSourceRanges: ranges.map(String),
          sessionAffinity: 'ClientIP',
          sessionAffinityConfig: { clientIP: { timeoutSeconds: seconds as number } },
          ports: [
            { port: 80, protocol: protocol as 'TCP' },
            { port: 81, protocol: 'TCP' },
          ],
        });
        assertTame(textOf([{ ...hostile, status: { loadBalancer: { ingress: [{ ip: '203.0.113.8' }] } } } as Service]));
      }),
      { numRuns: 500 },
    );
  });

  it('a name too long for an iptables comment affects only its own service', () => {
    const text = textOf(
      [service('a'.repeat(300)), service('good', { clusterIP: '10.96.0.21' })],
      [slice('good', ['10.84.0.2'])],
    );
    assertTame(text);
    assert.match(text, /10\.96\.0\.21/);
  });
});

describe('a service that claims an address of the cluster', () => {
  const claims = (ip: string): Service =>
    ({
      ...service('claim', { type: 'LoadBalancer', externalIPs: [ip], ports: [{ port: 6443, protocol: 'TCP' }] }),
      status: { loadBalancer: { ingress: [{ ip }] } },
    }) as Service;
  const mentions = (rules: Ruleset, ip: string): string[] =>
    [...rules.nat.chains.values(), ...rules.filter.chains.values()]
      .flat()
      .filter((rule) => rule.includes(`-d ${ip}/32`) && rule.includes('default/claim'));

  for (const [what, ip] of [
    ['the address of the API server', '10.84.0.1'],
    ['a pod', '10.84.0.9'],
    ['another service', '10.96.0.10'],
    ['loopback', '127.0.0.1'],
    ['link-local, where clouds keep their secrets', '169.254.169.254'],
    ['everywhere', '0.0.0.0'],
    ['a broadcast', '255.255.255.255'],
    ['a group', '224.0.0.1'],
  ] as const) {
    it(`gets none of it, with endpoints and without: ${what}`, () => {
      assert.deepEqual(mentions(rulesOf([claims(ip)], [slice('claim', ['10.84.0.66'])]), ip), []);
      assert.deepEqual(mentions(rulesOf([claims(ip)], []), ip), []);
    });
  }

  it('gets addresses without an owner', () => {
    assert.equal(mentions(rulesOf([claims('203.0.113.7')], [slice('claim', ['10.84.0.66'])]), '203.0.113.7').length, 2);
  });

  it('a service by a node port or an address of a service takes no traffic of what the node itself serves: that is let go first', () => {
    const thief = service('claim', {
      type: 'NodePort',
      clusterIP: '10.84.0.1',
      ports: [{ port: 6443, protocol: 'TCP', nodePort: 6443 }],
    });
    for (const slices of [[slice('claim', ['10.84.0.66'])], []]) {
      const rules = rulesOf([thief], slices);
      const expected = [
        '-d 10.84.0.1/32 -p tcp -m tcp --dport 6443 -j RETURN',
        '-d 10.84.0.1/32 -p udp -m udp --dport 10053 -j RETURN',
      ];
      assert.deepEqual(
        [servicesChain(rules).slice(0, 2), rules.filter.chains.get('KTS-0123abcd-REJECT')?.slice(0, 2)],
        [expected, expected],
      );
    }
  });

  it('a service is reported once in the log', async () => {
    const log = await routed(new FakePacketFilter(), (api) => api.seed(services, claims('10.84.0.1')));
    assert.equal(log.lines.filter(({ message }) => message.includes('belongs to the cluster')).length, 1);
  });
});

describe('endpoints that lead where they should not', () => {
  it('loopback, link-local and the like are no endpoints: a packet of the node itself would reach what listens for the node alone', () => {
    const text = textOf(
      [service('web')],
      [slice('web', ['127.0.0.1', '169.254.169.254', '0.0.0.0', '224.0.0.1', '255.255.255.255', '10.84.0.2'])],
    );
    assert.deepEqual(
      [...text.matchAll(/--to-destination (\S+)/g)].map((match) => match[1]),
      ['10.84.0.2:8080'],
    );
  });

  it('a slice of another namespace that names the service gives it nothing', async () => {
    const filter = new FakePacketFilter();
    const foreign = slice('web', ['10.84.0.66']);
    await routed(filter, (api) => {
      api.seed(services, service('web'));
      api.seed(endpointSlices, { ...foreign, metadata: { ...foreign.metadata, namespace: 'other' } });
    });
    assert.doesNotMatch(await filter.read(), /10\.84\.0\.66/);
  });
});

describe('the source ranges of a load balancer', () => {
  const reachedFrom = (ranges: readonly string[]): string[] => {
    const balanced = {
      ...service('web', { type: 'LoadBalancer', loadBalancerSourceRanges: [...ranges] }),
      status: { loadBalancer: { ingress: [{ ip: '203.0.113.8' }] } },
    } as Service;
    return servicesChain(rulesOf([balanced]))
      .filter((rule) => rule.includes('203.0.113.8'))
      .map((rule) => /^-s (\S+)/.exec(rule)?.[1] ?? 'everywhere');
  };

  it('admit only clients in one of the ranges', () =>
    assert.deepEqual(reachedFrom([' 192.0.2.0/24 ', '198.51.100.0/24']), ['192.0.2.0/24', '198.51.100.0/24']));
  it('all clients, without any range', () => assert.deepEqual(reachedFrom([]), ['everywhere']));
  it('no client, when none of them can be used: ranges of the other family do not open it', () => {
    for (const ranges of [['fd00::/8'], ['192.0.2.0/33'], ['010.0.0.0/8'], [''], ['192.0.2.0/24/8']])
      assert.deepEqual(reachedFrom(ranges), [], ranges.join());
  });
});

describe('chains', () => {
  it('of different services have different names, of 72 bits of a digest', () => {
    const many = Array.from({ length: 2000 }, (_, index) =>
      service(`s${index}`, { clusterIP: `10.96.${Math.floor(index / 250)}.${index % 250}` }),
    );
    const names = [
      ...rulesOf(many, []).nat.chains.keys(),
      ...rulesOf(
        many.map((each) => ({ ...each })),
        [slice('web', ['10.84.0.2'])],
      ).nat.chains.keys(),
    ];
    const own = [...new Set(names)].filter((name) => /-[SLXE][A-Za-z0-9_-]{12}$/.test(name));
    assert.equal(own.length, 4000);
    assert.ok(own.every((name) => name.length <= 28));
    // A hexadecimal digest would have 48 bits, so that another name with the same digest could be found by search.
    assert.ok(own.some((name) => /[g-zG-Z_-]/.test(name.slice(-12))));
  });

  it('of another instance whose prefix begins alike are left alone', () => {
    const saved =
      '*nat\n:KTS-0123abcd-SERVICES - [0:0]\n:KTS-0123abcd - [0:0]\n:KTS-SERVICES - [0:0]\n-A PREROUTING -j KTS-0123abcd-SERVICES\n-A PREROUTING -j KTS-SERVICES\nCOMMIT\n';
    assert.deepEqual([...parsePresent(saved, 'KTS').chains.nat.keys()], ['KTS-SERVICES']);
    assert.equal(
      computeRemoval(saved, 'KTS'),
      '*nat\n:KTS-SERVICES - [0:0]\n-D PREROUTING -j KTS-SERVICES\n-X KTS-SERVICES\nCOMMIT\n',
    );
  });

  it('in the comment of another’s rule do not count: the jump is made, and the rule stays', () => {
    const spoof = '-A FORWARD -m comment --comment "x -j KTS-0123abcd-REJECT \\" -j KTS-0123abcd-REJECT" -j OTHER';
    const saved = `*filter\n:KTS-0123abcd-REJECT - [0:0]\n:OTHER - [0:0]\n${spoof}\nCOMMIT\n`;
    assert.equal(parsePresent(saved, facts.chainPrefix).jumps.filter.size, 0);
    assert.doesNotMatch(computeRemoval(saved, facts.chainPrefix) ?? '', /comment/);
  });
});
