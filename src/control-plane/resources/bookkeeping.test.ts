import assert from 'node:assert/strict';
import test from 'node:test';
import type { Lease } from '../../api/coordination/lease.ts';
import type { EndpointSlice } from '../../api/discovery/endpoint-slice.ts';
import { RulesFixture } from './testing/rules-fixture.ts';

const budgets = new RulesFixture('policy/v1', 'PodDisruptionBudget', {
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
});
const slices = new RulesFixture<EndpointSlice>('discovery.k8s.io/v1', 'EndpointSlice', {
  addressType: 'IPv4',
  endpoints: [{ addresses: ['10.0.0.1'] }],
  ports: [{ port: 80 }],
});
const endpoints = new RulesFixture('v1', 'Endpoints', {
  subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports: [{ port: 80 }] }],
});
const leases = new RulesFixture<Lease>('coordination.k8s.io/v1', 'Lease', {
  spec: { holderIdentity: 'me', leaseDurationSeconds: 15 },
});
const classes = new RulesFixture('scheduling.k8s.io/v1', 'PriorityClass', { value: 1000 });

test('the examples are accepted', () => {
  for (const fixture of [budgets, slices, endpoints, leases, classes])
    assert.deepEqual([fixture.refusals(), fixture.updateRefusals({})], [[], []]);
});

test('a budget says what must stay or what may go', () => {
  assert.deepEqual(budgets.refusals({ 'spec.maxUnavailable': 1 }), [
    'spec: Invalid value: {"MinAvailable":1,"Selector":{"matchLabels":{"app":"web"}},"MaxUnavailable":1,"UnhealthyPodEvictionPolicy":null}: minAvailable and maxUnavailable cannot be both set',
  ]);
  assert.deepEqual(budgets.refusals({ 'spec.minAvailable': '120%' }), [
    'spec.minAvailable: Invalid value: "120%": must not be greater than 100%',
  ]);
  assert.deepEqual(budgets.refusals({ 'spec.unhealthyPodEvictionPolicy': 'x' }), [
    'spec.unhealthyPodEvictionPolicy: Unsupported value: "x": supported values: "AlwaysAllow", "IfHealthyBudget"',
  ]);
  const condition = { type: 'DisruptionAllowed', status: 'Maybe', reason: '-', message: '' };
  const counts = { disruptionsAllowed: -1, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
  const [duplicate, status, ...rest] = budgets.statusRefusals({
    ...counts,
    conditions: [{ ...condition, status: 'True', reason: 'A', lastTransitionTime: '2026-01-01T00:00:00Z' }, condition],
  });
  assert.deepEqual(
    [duplicate, status],
    [
      'status.conditions[1].type: Duplicate value: "DisruptionAllowed"',
      'status.conditions[1].status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ],
  );
  assert.deepEqual(
    [rest[0], rest[2], rest.length],
    [
      'status.conditions[1].lastTransitionTime: Required value',
      'status.disruptionsAllowed: Invalid value: -1: must be greater than or equal to 0',
      3,
    ],
  );
  assert.deepEqual(budgets.cells({ status: { ...counts, disruptionsAllowed: 2 } }), {
    'Min Available': '1',
    'Max Unavailable': 'N/A',
    'Allowed Disruptions': 2,
  });
});

test('a slice has addresses of its type', () => {
  assert.deepEqual(slices.created().ports, [{ port: 80, name: '', protocol: 'TCP' }]);
  const at = 'endpoints[0].addresses';
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{ addressType: undefined }, ['addressType: Required value']],
    [{ addressType: 'IPX' }, ['addressType: Unsupported value: "IPX": supported values: "FQDN", "IPv4", "IPv6"']],
    [{ [at]: [] }, [`${at}: Required value: must contain at least 1 address`]],
    [{ [at]: ['fd00::1'] }, [`${at}: Invalid value: "fd00::1": must be an IPv4 address`]],
    [
      { [at]: ['127.0.0.1'] },
      [`${at}[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)`],
    ],
    [
      { [at]: ['web'] },
      [`${at}[0]: Invalid value: "web": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`],
    ],
    [
      { addressType: 'IPv6', [at]: ['fd00:0::1'] },
      [`${at}[0]: Invalid value: "fd00:0::1": must be in canonical form ("fd00::1")`],
    ],
    [
      { addressType: 'FQDN', [at]: ['web'] },
      [`${at}[0]: Invalid value: "web": should be a domain with at least two segments separated by dots`],
    ],
    [
      {
        ports: [
          { name: 'a', port: 1 },
          { name: 'a', port: 2 },
        ],
      },
      ['ports[1].name: Duplicate value: "a"'],
    ],
    [
      { 'endpoints[0].hints': { forZones: [{ name: 'a' }, { name: 'a' }] } },
      ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
    ],
    [
      { endpoints: Array.from({ length: 1001 }, () => ({ addresses: ['10.0.0.1'] })) },
      ['endpoints: Too many: 1001: must have at most 1000 items'],
    ],
  ];
  for (const [changes, expected] of cases) assert.deepEqual(slices.refusals(changes), expected);
  const types = slices.updateRefusals({ addressType: 'IPv6', [at]: ['fd00::1'] });
  assert.deepEqual(types, ['addressType: Invalid value: "IPv6": field is immutable']);
});

test('the old form of topology is dropped, warnings spare controllers', () => {
  assert.deepEqual(slices.created({ 'endpoints[0].deprecatedTopology': { zone: 'a' } }).endpoints, [
    { addresses: ['10.0.0.1'], conditions: {} },
  ]);
  assert.deepEqual(slices.warnings({ addressType: 'FQDN', 'endpoints[0].addresses': ['a.example'] }), [
    'spec.addressType: FQDN endpoints are deprecated',
  ]);
  const ip = { 'subsets[0].addresses[0].ip': 'FD00::1' };
  assert.deepEqual(endpoints.warnings(ip), [
    'subsets[0].addresses[0].ip: IPv6 address "FD00::1" should be in RFC 5952 canonical format ("fd00::1")',
  ]);
  assert.deepEqual(
    endpoints.warnings({ ...ip, 'metadata.labels': { 'endpoints.kubernetes.io/managed-by': 'endpoint-controller' } }),
    [],
  );
});

test('endpoints have addresses in each subset, and names for their ports', () => {
  assert.deepEqual(endpoints.refusals({ subsets: [{ ports: [{ port: 1 }, { port: 70_000, name: 'a' }] }] }), [
    'subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`',
    'subsets[0].ports[0].name: Required value',
    'subsets[0].ports[1].port: Invalid value: 70000: must be between 1 and 65535, inclusive',
  ]);
  assert.deepEqual(endpoints.refusals({ 'subsets[0].addresses[0].ip': 'x' }), [
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    'subsets[0].addresses[0].ip: Invalid value: "x": must be a valid IP address',
  ]);
});

test('no address leads to the machine that dials it or to its links, however it is written (CVE-2021-25737)', () => {
  const loopback = [
    '127.0.0.1',
    '127.8.9.10',
    '::1',
    '0:0:0:0:0:0:0:1',
    '::ffff:127.0.0.1',
    '0:0:0:0:0:ffff:7f00:1',
    '0::ffff:7f00:1',
    '::127.0.0.1',
    '::7f00:1',
    '64:ff9b::127.0.0.1',
    '64:ff9b::7f00:1',
    '2002:7f00:1::',
    '127.000.000.001',
  ];
  const linkLocal = [
    '169.254.169.254',
    'fe80::1',
    'FE80:0::1',
    'febf::1',
    '0::ffff:a9fe:a9fe',
    '::ffff:169.254.169.254',
    '64:ff9b::a9fe:a9fe',
    '2002:a9fe:a9fe::1',
  ];
  const others = [
    '0.0.0.0',
    '::',
    '0:0::0',
    '::ffff:0.0.0.0',
    '224.0.0.1',
    'ff02::1',
    'fe80::1%eth0',
    '0x7f000001',
    '2130706433',
    '127.1',
    'ip6-localhost',
  ];
  for (const ip of [...loopback, ...linkLocal, ...others]) {
    assert.notDeepEqual(endpoints.refusals({ 'subsets[0].addresses[0].ip': ip }), [], ip);
    assert.notDeepEqual(endpoints.refusals({ 'subsets[0].notReadyAddresses': [{ ip }] }), [], ip);
    for (const addressType of ['IPv4', 'IPv6'])
      assert.notDeepEqual(slices.refusals({ addressType, 'endpoints[0].addresses': [ip] }), [], ip);
  }
  const why = (ip: string): string | undefined =>
    endpoints
      .refusals({ 'subsets[0].addresses[0].ip': ip })
      .at(-1)
      ?.replace(/^.*?: may/, 'may');
  assert.deepEqual([...new Set(loopback.map(why))], ['may not be in the loopback range (127.0.0.0/8, ::1/128)']);
  assert.deepEqual(
    [...new Set(linkLocal.map(why))],
    ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
  );
  for (const ip of ['10.0.0.1', 'fd00::1', '2001:db8::1', '64:ff9b::10.0.0.1'])
    assert.deepEqual(endpoints.refusals({ 'subsets[0].addresses[0].ip': ip }), [], ip);
});

test('tables show the first three addresses', () => {
  const many = ['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4'];
  assert.deepEqual(slices.cells({ endpoints: many.map((address) => ({ addresses: [address] })) }), {
    AddressType: 'IPv4',
    Ports: '80',
    Endpoints: '10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...',
  });
  assert.deepEqual(slices.cells({ endpoints: [], ports: [] }), {
    AddressType: 'IPv4',
    Ports: '<unset>',
    Endpoints: '<unset>',
  });
  assert.deepEqual(endpoints.cells({ 'subsets[0].addresses': [...many, 'fd00::1'].map((ip) => ({ ip })) }), {
    Endpoints: '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80 + 2 more...',
  });
  assert.deepEqual(endpoints.cells({ subsets: undefined }), { Endpoints: '<none>' });
});

test('a lease lasts, and knows no coordination while that is off', () => {
  assert.deepEqual(leases.refusals({ 'spec.leaseDurationSeconds': 0, 'spec.leaseTransitions': -1 }), [
    'spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0',
    'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
  ]);
  assert.deepEqual(leases.created({ 'spec.strategy': 'OldestEmulationVersion', 'spec.preferredHolder': 'x' }).spec, {
    holderIdentity: 'me',
    leaseDurationSeconds: 15,
  });
  assert.deepEqual(leases.cells(), { Holder: 'me' });
});

test('priorities of users end where those of the system begin', () => {
  assert.deepEqual(classes.refusals({ value: 1_000_000_001 }), [
    'value: Forbidden: maximum allowed value of a user defined priority is 1000000000',
  ]);
  assert.deepEqual(classes.refusals({ 'metadata.name': 'system-x' }), [
    "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for system use only. error: system-x is not a known system priority class",
  ]);
  assert.deepEqual(classes.refusals({ 'metadata.name': 'system-node-critical', value: 2_000_001_000 }), []);
  assert.deepEqual(classes.updateRefusals({ value: 5, preemptionPolicy: 'Never' }), [
    'value: Forbidden: may not be changed in an update.',
    'preemptionPolicy: Invalid value: "Never": field is immutable',
  ]);
  assert.deepEqual(classes.cells(), {
    Value: 1000,
    'Global-Default': false,
    Age: '60m',
    PreemptionPolicy: 'PreemptLowerPriority',
  });
});

test('the priority classes of the system are never deleted', () => {
  const { refuseDeletion } = classes.definition.rules;
  const refusal = 'this is a system priority class and cannot be deleted';
  assert.deepEqual(
    ['system-cluster-critical', 'system-node-critical', 'web'].map((name) => refuseDeletion?.(name)),
    [refusal, refusal, undefined],
  );
});
