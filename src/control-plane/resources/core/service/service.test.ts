import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { ipAddresses } from '../../../../api/client/resource-types.ts';
import type { Service } from '../../../../api/core/service.ts';
import type { ServiceCIDR } from '../../../../api/networking/service-cidr.ts';
import { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import type { Changes } from '../../../../api/testing/pod-builder.ts';
import { permissivePolicy } from '../../../../api/validation/cluster-policy.ts';
import { allocateService, deallocateService } from './service-allocation.ts';
import { FakeAllocationStore } from '../../testing/fake-allocation-store.ts';
import { RulesFixture } from '../../testing/rules-fixture.ts';

const services = new RulesFixture<Service>('v1', 'Service', {
  spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
});
const nodePort = { 'spec.type': 'NodePort' };

/** Stores a service, and returns it with its addresses and ports. */
async function stored(claims: FakeAllocationStore, changes: Changes = {}): Promise<Service> {
  const { object, settle } = await allocateService(services.created(changes), undefined, claims);
  await settle(true);
  return object;
}

/** Writes the example with `changes` and without allocated values, and returns the stored service. */
async function rewritten(claims: FakeAllocationStore, old: Service, changes: Changes): Promise<Service> {
  const { rules } = services.definition;
  const request = { user: { name: 'tester', groups: [] }, nowMs: claims.nowMs };
  const next = rules.prepareForUpdate?.(
    services.defaulted({ 'metadata.name': old.metadata.name, ...changes }),
    old,
    request,
  ) as Service;
  assert.deepEqual(rules.validateUpdate(next, old, permissivePolicy), []);
  const { object, settle } = await allocateService(next, old, claims);
  await settle(true);
  return object;
}

async function refusal(claims: FakeAllocationStore, changes: Changes): Promise<string> {
  try {
    await allocateService(services.created(changes), undefined, claims);
    return 'allocated';
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    return error.message;
  }
}

const held = (claims: FakeAllocationStore): string[] => [...claims.held.keys()].sort();

test('a new service gets an address of the range and says which family that is', async () => {
  const claims = new FakeAllocationStore();
  const { spec, status } = await stored(claims);
  assert.deepEqual(
    [spec.clusterIP, spec.clusterIPs, spec.ipFamilies, spec.ipFamilyPolicy, spec.internalTrafficPolicy, status],
    ['10.96.0.17', ['10.96.0.17'], ['IPv4'], 'SingleStack', 'Cluster', { loadBalancer: {} }],
  );
  assert.deepEqual([...claims.held], [['serviceips/10.96.0.17', 'default/web/uid-1']]);
});

test('an address has an IPAddress for as long as the service has it, and one that is reserved is not given out', async () => {
  const claims = new FakeAllocationStore(['10.96.0.0/29']);
  const all = () => claims.objects.all(ipAddresses);
  const mine = { resource: 'example', group: 'example.com', name: 'x' };
  claims.objects.seed(ipAddresses, {
    metadata: { name: '10.96.0.1', namespace: '', uid: '' },
    spec: { parentRef: mine },
  });
  const service = await stored(claims);
  assert.equal(service.spec.clusterIP, '10.96.0.2');
  assert.deepEqual(
    all().map(({ metadata, spec }) => [metadata.name, metadata.labels, spec.parentRef]),
    [
      ['10.96.0.1', undefined, mine],
      [
        '10.96.0.2',
        { 'ipaddress.kubernetes.io/ip-family': 'IPv4', 'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io' },
        { resource: 'services', namespace: 'default', name: 'web' },
      ],
    ],
  );
  assert.match(await refusal(claims, { 'spec.clusterIP': '10.96.0.1' }), /provided IP is already allocated/);
  await deallocateService(service, claims);
  assert.deepEqual([all().map(({ metadata }) => metadata.name), held(claims)], [['10.96.0.1'], []]);
});

test('a full range is followed by those of ServiceCIDRs that are ready', async () => {
  const claims = new FakeAllocationStore(['10.96.0.0/30']);
  const range = (name: string, cidr: string, status: 'True' | 'False'): ServiceCIDR => ({
    metadata: { name, namespace: '', uid: name },
    spec: { cidrs: [cidr] },
    status: { conditions: [{ type: 'Ready', status, reason: '', message: '', lastTransitionTime: '' }] },
  });
  claims.ranges = [
    range('kubernetes', '10.96.0.0/30', 'True'),
    range('late', '10.97.0.0/30', 'False'),
    range('more', '10.98.0.0/30', 'True'),
  ];
  const ips: (string | undefined)[] = [];
  for (const name of ['a', 'b', 'c', 'd'])
    ips.push((await stored(claims, { 'metadata.name': name, 'metadata.uid': name })).spec.clusterIP);
  assert.deepEqual(ips, ['10.96.0.1', '10.96.0.2', '10.98.0.1', '10.98.0.2']);
  assert.match(await refusal(claims, { 'metadata.name': 'e' }), /range is full/);
  assert.match(await refusal(claims, { 'spec.clusterIP': '10.97.0.1' }), /does not match the current range/);
});

test('headless and external services take no address', async () => {
  const claims = new FakeAllocationStore();
  const headless = await stored(claims, { 'spec.clusterIP': 'None' });
  assert.deepEqual(
    [headless.spec.clusterIPs, headless.spec.ipFamilies, headless.spec.ipFamilyPolicy],
    [['None'], ['IPv4'], 'SingleStack'],
  );
  const bare = await stored(claims, { 'spec.clusterIP': 'None', 'spec.selector': undefined });
  assert.deepEqual([bare.spec.ipFamilies, bare.spec.ipFamilyPolicy], [['IPv4', 'IPv6'], 'RequireDualStack']);
  const external = await stored(claims, { 'spec.type': 'ExternalName', 'spec.externalName': 'example.com' });
  assert.deepEqual([external.spec.clusterIP, external.spec.ipFamilies], [undefined, undefined]);
  assert.deepEqual(held(claims), []);
});

test('a service gets the address that it requests, or an error with the reason', async () => {
  const claims = new FakeAllocationStore();
  assert.equal((await stored(claims, { 'spec.clusterIP': '10.96.0.10' })).spec.clusterIP, '10.96.0.10');
  const other = { 'metadata.uid': 'uid-2', 'metadata.name': 'other' };
  const cases: readonly [Changes, string][] = [
    [
      { 'spec.clusterIP': '10.96.0.10' },
      'spec.clusterIPs: Invalid value: ["10.96.0.10"]: failed to allocate IP 10.96.0.10: provided IP is already allocated',
    ],
    [
      { 'spec.clusterIP': '10.97.0.10' },
      'spec.clusterIPs: Invalid value: ["10.97.0.10"]: failed to allocate IP 10.97.0.10: the provided network does not match the current range',
    ],
    [
      { 'spec.clusterIP': 'fd00::1' },
      'spec.clusterIPs[0]: Invalid value: ["fd00::1"]: IPv6 is not configured on this cluster',
    ],
    [
      { 'spec.ipFamilyPolicy': 'RequireDualStack' },
      'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack services: name a range of each family in --service-cluster-ip-range',
    ],
    [{ 'spec.ipFamilies': ['IPv6'] }, 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'],
    [
      { ...nodePort, 'spec.ports[0].nodePort': 80 },
      'spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. The range of valid ports is 30000-30099',
    ],
  ];
  for (const [changes, expected] of cases)
    assert.equal(await refusal(claims, { ...other, ...changes }), `Service "other" is invalid: ${expected}`);
  assert.deepEqual(held(claims), ['serviceips/10.96.0.10']);
  await stored(claims, { ...nodePort, 'spec.ports[0].nodePort': 30_001 });
  assert.equal(
    await refusal(claims, { ...other, ...nodePort, 'spec.ports[0].nodePort': 30_001 }),
    'Service "other" is invalid: spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated',
  );
});

test('two families are given where the cluster has two and the service wants them', async () => {
  const claims = new FakeAllocationStore(['10.96.0.0/24', 'fd00::/112']);
  const { spec } = await stored(claims, { 'spec.ipFamilyPolicy': 'PreferDualStack' });
  assert.deepEqual(
    [spec.ipFamilies, spec.clusterIPs],
    [
      ['IPv4', 'IPv6'],
      ['10.96.0.17', 'fd00::101'],
    ],
  );
  const single = await rewritten(
    claims,
    await stored(claims, { 'metadata.name': 'b', 'metadata.uid': 'uid-b', 'spec.ipFamilyPolicy': 'RequireDualStack' }),
    { 'metadata.uid': 'uid-b', 'spec.ipFamilyPolicy': 'SingleStack' },
  );
  assert.deepEqual(
    [single.spec.clusterIPs, held(claims).filter((key) => claims.held.get(key)?.endsWith('uid-b'))],
    [['10.96.0.18'], ['serviceips/10.96.0.18']],
  );
});

test('a cluster that gets a second range gives no second address to services that it has', async () => {
  const claims = new FakeAllocationStore(['10.96.0.0/24']);
  const preferring = { 'spec.ipFamilyPolicy': 'PreferDualStack' };
  const old = await stored(claims, preferring);
  const dual = new FakeAllocationStore(['10.96.0.0/24', 'fd00::/112']);
  const touched = await rewritten(dual, old, { ...preferring, 'metadata.labels': { touched: 'yes' } });
  assert.deepEqual([touched.spec.ipFamilies, touched.spec.clusterIPs], [['IPv4'], ['10.96.0.17']]);
  const wanted = await rewritten(dual, old, { 'spec.ipFamilyPolicy': 'RequireDualStack' });
  assert.deepEqual(wanted.spec.ipFamilies, ['IPv4', 'IPv6']);
  const named = await rewritten(dual, old, { ...preferring, 'spec.ipFamilies': ['IPv4', 'IPv6'] });
  assert.deepEqual(named.spec.clusterIPs, ['10.96.0.17', 'fd00::101']);
});

test('a second address is given back by the word SingleStack alone', () => {
  const both = {
    'spec.clusterIP': '10.96.0.4',
    'spec.clusterIPs': ['10.96.0.4', 'fd00::4'],
    'spec.ipFamilies': ['IPv4', 'IPv6'],
    'spec.ipFamilyPolicy': 'PreferDualStack',
  };
  const one = { ...both, 'spec.clusterIPs': ['10.96.0.4'], 'spec.ipFamilies': ['IPv4'] };
  const why = 'spec.ipFamilyPolicy: Invalid value: "PreferDualStack": must be \'SingleStack\' to release the secondary';
  assert.deepEqual(services.updateRefusals(one, both), [`${why} cluster IP`, `${why} IP family`]);
  assert.deepEqual(services.updateRefusals({ ...one, 'spec.ipFamilyPolicy': 'SingleStack' }, both), []);
  // A client that only knows the single field keeps both addresses.
  assert.deepEqual(services.updateRefusals({ ...both, 'spec.clusterIPs': undefined }, both), []);
});

test('a full range is an error of the server, not of the service', async () => {
  const claims = new FakeAllocationStore(['10.96.0.0/30']);
  await stored(claims);
  await stored(claims, { 'metadata.name': 'b', 'metadata.uid': 'b' });
  assert.equal(
    await refusal(claims, { 'metadata.name': 'c', 'metadata.uid': 'c' }),
    'Internal error occurred: failed to allocate a serviceIP for Service "c": range is full',
  );
});

test('node ports are shared by the protocols of one port, and given back when the type needs none', async () => {
  const claims = new FakeAllocationStore();
  const ports = [
    { name: 'a', port: 53, protocol: 'UDP' },
    { name: 'b', port: 53, protocol: 'TCP' },
    { name: 'c', port: 80 },
  ];
  const service = await stored(claims, { ...nodePort, 'spec.ports': ports });
  assert.deepEqual(
    service.spec.ports?.map((port) => port.nodePort),
    [30_016, 30_016, 30_017],
  );
  const plain = await rewritten(claims, service, { 'spec.type': 'ClusterIP', 'spec.ports': service.spec.ports });
  assert.deepEqual(
    [plain.spec.ports?.some((port) => port.nodePort !== undefined), plain.spec.externalTrafficPolicy, held(claims)],
    [false, undefined, ['serviceips/10.96.0.17']],
  );
  assert.equal(plain.spec.clusterIP, service.spec.clusterIP);
});

test('a port that is added gets none that the service has or asks for', async () => {
  const claims = new FakeAllocationStore();
  const service = await stored(claims, nodePort);
  const ports = [
    { name: 'a', port: 80, nodePort: 30_017 },
    { name: 'b', port: 81 },
    { name: 'c', port: 82 },
  ];
  const next = await rewritten(claims, service, { ...nodePort, 'spec.ports': ports });
  assert.deepEqual(
    next.spec.ports?.map((port) => port.nodePort),
    [30_017, 30_018, 30_019],
  );
  assert.deepEqual(held(claims).slice(1), [
    'servicenodeports/30017',
    'servicenodeports/30018',
    'servicenodeports/30019',
  ]);
});

test('a load balancer has node ports unless it says otherwise, and a port for health checks of local traffic', async () => {
  const claims = new FakeAllocationStore();
  const balancer = { 'spec.type': 'LoadBalancer' };
  const without = await stored(claims, { ...balancer, 'spec.allocateLoadBalancerNodePorts': false });
  assert.equal(without.spec.ports?.[0]?.nodePort, undefined);
  const local = await stored(claims, { ...balancer, 'metadata.uid': 'l', 'spec.externalTrafficPolicy': 'Local' });
  assert.deepEqual([local.spec.ports?.[0]?.nodePort, local.spec.healthCheckNodePort], [30_016, 30_017]);
  await deallocateService(local, claims);
  assert.deepEqual(held(claims), ['serviceips/10.96.0.17']);
});

test('a load balancer that wants node ports no longer gives back those that a write leaves out', async () => {
  const claims = new FakeAllocationStore();
  const balancer = { 'spec.type': 'LoadBalancer' };
  const service = await stored(claims, balancer);
  assert.notEqual(service.spec.ports?.[0]?.nodePort, undefined);
  const again = await rewritten(claims, service, { ...balancer, 'spec.allocateLoadBalancerNodePorts': false });
  assert.equal(again.spec.ports?.[0]?.nodePort, undefined);
});

test('a write that leaves out what was given out keeps it, and ExternalName gives it back', async () => {
  const claims = new FakeAllocationStore();
  const service = await stored(claims, nodePort);
  const again = await rewritten(claims, service, {
    ...nodePort,
    'spec.ports': [{ port: 80 }, { name: 'new', port: 81 }].map((port, index) => ({
      ...port,
      ...(index === 0 && { name: 'old' }),
    })),
  });
  assert.deepEqual(
    [again.spec.clusterIP, again.spec.ports?.map((port) => port.nodePort)],
    [service.spec.clusterIP, [30_017, 30_018]],
  );
  const same = await rewritten(claims, again, {
    ...nodePort,
    'spec.ports': again.spec.ports?.map(({ nodePort: _, ...port }) => port),
  });
  assert.deepEqual(same.spec.ports, again.spec.ports);
  const external = await rewritten(claims, same, {
    'spec.type': 'ExternalName',
    'spec.externalName': 'example.com',
    'spec.clusterIP': same.spec.clusterIP,
    'spec.clusterIPs': same.spec.clusterIPs,
    'spec.ipFamilies': ['IPv4'],
    'spec.ipFamilyPolicy': 'SingleStack',
  });
  assert.deepEqual(
    [external.spec.clusterIP, external.spec.clusterIPs, external.spec.ipFamilies, held(claims)],
    [undefined, undefined, undefined, []],
  );
  const back = await rewritten(claims, external, {});
  assert.deepEqual(held(claims), [`serviceips/${back.spec.clusterIP}`]);
});

test('a failed write of a service releases its own allocations and no others', async () => {
  const claims = new FakeAllocationStore();
  const first = await stored(claims, nodePort);
  const { settle } = await allocateService(
    services.created({ ...nodePort, 'metadata.uid': 'uid-2' }),
    undefined,
    claims,
  );
  assert.equal(claims.held.size, 4);
  await settle(false);
  assert.deepEqual(held(claims), [`serviceips/${first.spec.clusterIP}`, 'servicenodeports/30016']);
  // A second creation of the same name does not give away what the first one has.
  assert.match(
    await refusal(claims, { 'metadata.uid': 'uid-3', 'spec.clusterIP': first.spec.clusterIP }),
    /already allocated/,
  );
  assert.equal(held(claims).length, 2);
});

test('servers that know nothing of each other never give out one address twice', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1, maxLength: 14 }),
      async (randoms) => {
        const claims = new FakeAllocationStore(['10.96.0.0/28']);
        const made = await Promise.all(
          randoms.map(async (random, index) => {
            claims.next = random;
            return stored(claims, { 'metadata.uid': `u${index}`, ...nodePort });
          }),
        );
        assert.equal(new Set(made.map(({ spec }) => spec.clusterIP)).size, made.length);
        assert.equal(new Set(made.map(({ spec }) => spec.ports?.[0]?.nodePort)).size, made.length);
      },
    ),
    { numRuns: 50 },
  );
});

test('the address of a service stays', () => {
  const at = (ip: string): Changes => ({ 'spec.clusterIP': ip, 'spec.clusterIPs': [ip], 'spec.ipFamilies': ['IPv4'] });
  assert.deepEqual(services.updateRefusals(at('10.96.0.5'), at('10.96.0.4')), [
    'spec.clusterIPs[0]: Invalid value: ["10.96.0.5"]: may not change once set',
  ]);
  assert.deepEqual(
    services.updateRefusals({ 'spec.clusterIP': '10.96.0.5', 'spec.clusterIPs': undefined }, at('10.96.0.4')),
    ['spec.clusterIPs[0]: Invalid value: ["10.96.0.5"]: may not change once set'],
  );
  assert.deepEqual(
    services.updateRefusals({ 'spec.clusterIP': 'None', 'spec.clusterIPs': ['None'] }, at('10.96.0.4')),
    ['spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set'],
  );
  // The first failed check is the answer. Nothing is allocated for an ambiguous service.
  assert.deepEqual(services.updateRefusals({ 'spec.ipFamilies': ['IPv6'] }, at('10.96.0.4')), [
    'spec.clusterIPs[0]: Invalid value: "10.96.0.4": expected an IPv6 value as indicated by `ipFamilies[0]`',
  ]);
  assert.deepEqual(services.updateRefusals({ 'spec.selector': { a: 'b' } }, at('10.96.0.4')), []);
  const classed = { 'spec.type': 'LoadBalancer', 'spec.loadBalancerClass': 'a/b' };
  assert.deepEqual(services.updateRefusals({ 'spec.loadBalancerClass': 'a/c' }, classed), [
    'spec.loadBalancerClass: Invalid value: "a/c": may not change once set',
  ]);
});

const balanced = { 'spec.type': 'LoadBalancer' };
const rangesKey = 'service.beta.kubernetes.io/load-balancer-source-ranges';

test('ranges of callers are checked in the field and in the annotation that came before it', () => {
  const annotated = (text: string): Changes => ({ ...balanced, 'metadata.annotations': { [rangesKey]: text } });
  const field = `metadata.annotations[${rangesKey}]`;
  const notCidr = 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)';
  const cases: readonly [Changes, string[]][] = [
    [annotated(' 10.0.0.0/8 , fd00::/8 '), []],
    [annotated(''), []],
    [annotated('10.0.0.0/8,all'), [`${field}: Invalid value: "all": ${notCidr}`]],
    [
      annotated('10.0.0.1/8'),
      [`${field}: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length`],
    ],
    [
      { 'metadata.annotations': { [rangesKey]: '10.0.0.0/8' } },
      [`${field}: Forbidden: may only be used when \`type\` is 'LoadBalancer'`],
    ],
    // The field has precedence, and the annotation is not read.
    [{ ...annotated('all'), 'spec.loadBalancerSourceRanges': [' 10.0.0.0/8 '] }, []],
    [
      { ...balanced, 'spec.loadBalancerSourceRanges': ['all'] },
      [`spec.LoadBalancerSourceRanges[0]: Invalid value: "all": ${notCidr}`],
    ],
  ];
  for (const [changes, expected] of cases)
    assert.deepEqual(services.refusals(changes), expected, JSON.stringify(changes));
});

test('addresses and ranges that a service has may stay, however they are written; new ones are checked', () => {
  const before = {
    ...balanced,
    'metadata.name': '1-old-name',
    'metadata.annotations': { [rangesKey]: 'all' },
    'spec.clusterIP': '010.96.0.7',
    'spec.clusterIPs': ['010.96.0.7'],
    'spec.externalIPs': ['192.168.001.7'],
  };
  assert.deepEqual(services.updateRefusals({ 'metadata.labels': { touched: 'yes' } }, before), []);
  assert.deepEqual(
    services.updateRefusals(
      { 'spec.loadBalancerSourceRanges': ['10.0.0.1/8'] },
      { ...balanced, 'spec.loadBalancerSourceRanges': ['10.0.0.1/8'] },
    ),
    [],
  );
  assert.deepEqual(services.updateRefusals({ 'spec.externalIPs': ['192.168.001.7', '192.168.001.8'] }, before), [
    'spec.externalIPs[1]: Invalid value: "192.168.001.8": must not have leading 0s',
  ]);
  assert.deepEqual(services.updateRefusals({ 'metadata.annotations': { [rangesKey]: 'all,none' } }, before).length, 2);
  const ingress = { loadBalancer: { ingress: [{ ip: '010.0.0.1', ipMode: 'VIP' }] } };
  assert.deepEqual(services.statusRefusals(ingress, ingress, balanced), []);
  assert.deepEqual(services.statusRefusals(ingress, {}, balanced), [
    'status.loadBalancer.ingress[0].ip: Invalid value: "010.0.0.1": must not have leading 0s',
  ]);
});

test('only a load balancer shows where it is reached', () => {
  assert.deepEqual(services.statusRefusals({ loadBalancer: { ingress: [{ ip: '10.0.0.1', ipMode: 'VIP' }] } }), [
    "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
  ]);
  const balancer = { 'spec.type': 'LoadBalancer' };
  assert.deepEqual(
    services.statusRefusals(
      { loadBalancer: { ingress: [{ ip: '10.0.0.1', ipMode: 'VIP' }, { hostname: 'a.example' }] } },
      undefined,
      balancer,
    ),
    [],
  );
  assert.deepEqual(
    services.statusRefusals(
      { loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { hostname: '10.0.0.2', ipMode: 'VIP' }] } },
      undefined,
      balancer,
    ),
    [
      'status.loadBalancer.ingress[0].ipMode: Required value: must be specified when `ip` is set',
      'status.loadBalancer.ingress[1].ipMode: Forbidden: may not be specified when `ip` is not set',
      'status.loadBalancer.ingress[1].hostname: Invalid value: "10.0.0.2": must be a DNS name, not an IP address',
    ],
  );
});

test('a service is shown with its addresses and ports', () => {
  const row = (changes: Changes): unknown[] => Object.values(services.cells(changes));
  assert.deepEqual(row({}), ['ClusterIP', '<none>', '<none>', '80/TCP', '60m', 'app=web']);
  assert.deepEqual(
    row({
      ...nodePort,
      'spec.clusterIPs': ['10.96.0.1'],
      'spec.clusterIP': '10.96.0.1',
      'spec.ports': [
        { port: 80, nodePort: 30_080 },
        { name: 'd', port: 53, protocol: 'UDP' },
      ],
      'spec.externalIPs': ['1.2.3.4'],
    }),
    ['NodePort', '10.96.0.1', '1.2.3.4', '80:30080/TCP,53/UDP', '60m', 'app=web'],
  );
  assert.deepEqual(row({ 'spec.type': 'LoadBalancer' })[2], '<pending>');
  assert.deepEqual(
    row({
      'spec.type': 'LoadBalancer',
      status: { loadBalancer: { ingress: [{ ip: '10.0.0.2' }, { hostname: 'balancer.example.com' }] } },
    })[2],
    '10.0.0.2,bala...',
  );
  assert.deepEqual(
    row({
      'spec.type': 'ExternalName',
      'spec.externalName': 'db.example',
      'spec.ports': undefined,
      'spec.selector': undefined,
    }),
    ['ExternalName', '<none>', 'db.example', '<none>', '60m', '<none>'],
  );
});
