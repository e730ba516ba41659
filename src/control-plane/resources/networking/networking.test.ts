import assert from 'node:assert/strict';
import test from 'node:test';
import { RulesFixture } from '../testing/rules-fixture.ts';

const version = 'networking.k8s.io/v1';
const backend = { service: { name: 'web', port: { number: 80 } } };
const path = { path: '/', pathType: 'Prefix', backend };
const ingresses = new RulesFixture(version, 'Ingress', {
  spec: { rules: [{ host: 'a.example', http: { paths: [path] } }] },
});
const classes = new RulesFixture(version, 'IngressClass', { spec: { controller: 'example.com/x' } });
const policies = new RulesFixture(version, 'NetworkPolicy', { spec: { podSelector: {} } });
const cidrs = new RulesFixture(version, 'ServiceCIDR', { spec: { cidrs: ['10.0.0.0/24'] } });
const addresses = new RulesFixture(version, 'IPAddress', {
  metadata: { name: '10.0.0.1', uid: 'uid-1' },
  spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
});

test('the examples are accepted', () => {
  for (const fixture of [ingresses, classes, policies, cidrs, addresses])
    assert.deepEqual([fixture.refusals(), fixture.updateRefusals({})], [[], []]);
});

test('an Ingress needs hosts, paths and backends that mean something', () => {
  const at = 'spec.rules.0.http.paths.0';
  const cases: readonly [object, string[]][] = [
    [{ spec: {} }, ['spec: Invalid value: null: either `defaultBackend` or `rules` must be specified']],
    [
      { 'spec.rules.0.host': '10.0.0.1' },
      ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    ],
    [{ 'spec.rules.0.http.paths': [] }, ['spec.rules[0].http.paths: Required value']],
    [
      { [`${at}.path`]: 'a//b/..' },
      [
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": must be an absolute path',
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": must not contain \'//\'',
        'spec.rules[0].http.paths[0].path: Invalid value: "a//b/..": cannot end with \'/..\'',
      ],
    ],
    [
      { [`${at}.pathType`]: undefined },
      ['spec.rules[0].http.paths[0].pathType: Required value: pathType must be specified'],
    ],
    [
      { [`${at}.pathType`]: 'Regex' },
      [
        'spec.rules[0].http.paths[0].pathType: Unsupported value: "Regex": supported values: "Exact", "ImplementationSpecific", "Prefix"',
      ],
    ],
    [
      { [`${at}.backend`]: {} },
      ['spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required'],
    ],
    [
      { [`${at}.backend.service.port`]: {} },
      ['spec.rules[0].http.paths[0].backend: Required value: port name or number is required'],
    ],
    [
      { [`${at}.backend.resource`]: { kind: 'Bucket', name: 'x' } },
      ['spec.rules[0].http.paths[0].backend: Invalid value: "": cannot set both resource and service backends'],
    ],
  ];
  for (const [changes, refusals] of cases) assert.deepEqual(ingresses.refusals({ ...changes }), refusals);
  assert.equal(ingresses.refusals({ 'spec.rules.0.host': '*.a.example' }).length, 0);
  assert.equal(ingresses.refusals({ 'spec.rules.0.host': 'a.*.example' }).length, 1);
});

test('the table shows three hosts, and the ports of TLS', () => {
  const rules = ['a', 'b', 'c', 'd'].map((host) => ({ host }));
  assert.deepEqual(ingresses.cells({ 'spec.rules': rules, 'spec.tls': [{ secretName: 's' }] }), {
    Class: '<none>',
    Hosts: 'a,b,c + 1 more...',
    Address: '',
    Ports: '80, 443',
  });
  assert.equal(ingresses.cells({ 'spec.rules': rules.slice(0, 3) })['Hosts'], 'a,b,c');
  assert.equal(ingresses.cells({ 'spec.rules': [{}] })['Hosts'], '*');
});

test('an Ingress says its class in one way', () => {
  const key = 'kubernetes.io/ingress.class';
  assert.deepEqual(ingresses.warnings({ 'metadata.annotations': { [key]: 'x' } }), [
    `annotation "${key}" is deprecated, please use 'spec.ingressClassName' instead`,
  ]);
  assert.deepEqual(ingresses.refusals({ 'metadata.annotations': { [key]: 'x' }, 'spec.ingressClassName': 'y' }), [
    `annotations.${key}: Invalid value: "x": must match \`ingressClassName\` when both are specified`,
  ]);
});

test('parameters of a class are in a namespace or in none, and its controller stays', () => {
  const parameters = { kind: 'Config', name: 'x' };
  assert.deepEqual(classes.refusals({ 'spec.parameters': parameters }), []);
  assert.deepEqual(classes.refusals({ 'spec.parameters': { ...parameters, scope: 'Namespace' } }), [
    "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
  ]);
  assert.deepEqual(classes.refusals({ 'spec.parameters': { ...parameters, namespace: 'a' } }), [
    "spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'",
  ]);
  assert.deepEqual(classes.updateRefusals({ 'spec.controller': 'example.com/y' }), [
    'spec.controller: Invalid value: "example.com/y": field is immutable',
  ]);
  assert.equal(classes.cells({ 'spec.parameters': { ...parameters, apiGroup: 'g' } })['Parameters'], 'Config.g/x');
});

test('a policy is for Ingress unless it has rules for Egress', () => {
  const types = (changes: Record<string, unknown>): unknown =>
    (policies.defaulted(changes) as unknown as { spec: { policyTypes: unknown } }).spec.policyTypes;
  assert.deepEqual([types({}), types({ 'spec.egress': [{}] })], [['Ingress'], ['Ingress', 'Egress']]);
});

test('peers and ports of a policy are checked', () => {
  const from = (...peers: object[]): string[] => policies.refusals({ 'spec.ingress': [{ from: peers }] });
  const ports = (port: object): string[] => policies.refusals({ 'spec.egress': [{ ports: [port] }] });
  assert.deepEqual(from({}), ['spec.ingress[0].from[0]: Required value: must specify a peer']);
  assert.deepEqual(from({ podSelector: {}, ipBlock: { cidr: '10.0.0.0/8' } }), [
    'spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer',
  ]);
  const block = { cidr: '10.0.0.0/8', except: ['10.1.0.0/16', '11.0.0.0/16', '10.0.0.0/8'] };
  assert.deepEqual(
    from({ ipBlock: block }),
    [1, 2].map(
      (index) =>
        `spec.ingress[0].from[0].ipBlock.except[${index}]: Invalid value: "${block.except[index]}": must be a strict subset of \`cidr\``,
    ),
  );
  assert.deepEqual(ports({ port: 80, endPort: 79 }), [
    'spec.egress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`',
  ]);
  assert.deepEqual(ports({ port: 'http', endPort: 79 }), [
    'spec.egress[0].ports[0].endPort: Invalid value: 79: may not be specified when `port` is non-numeric',
  ]);
});

test('a range with bits beyond its prefix may stay, with a warning', () => {
  const odd = { 'spec.ingress': [{ from: [{ ipBlock: { cidr: '10.0.0.1/8' } }] }] };
  assert.equal(policies.refusals(odd).length, 1);
  assert.deepEqual(policies.updateRefusals({ 'metadata.labels': { a: 'b' } }, odd), []);
  assert.deepEqual(policies.warnings(odd), [
    'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
  ]);
});

test('ranges of services stay, and a second family may be added', () => {
  assert.deepEqual(cidrs.updateRefusals({ 'spec.cidrs': ['10.0.1.0/24'] }), [
    'spec.cidrs[0]: Invalid value: "10.0.1.0/24": field is immutable',
  ]);
  assert.deepEqual(cidrs.updateRefusals({ 'spec.cidrs': ['10.0.0.0/24', '2001:db8::/64'] }), []);
  assert.deepEqual(cidrs.updateRefusals({ 'spec.cidrs': ['10.0.0.0/24', '10.0.1.0/24'] }), [
    'spec.cidrs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
  ]);
  assert.deepEqual(cidrs.refusals({ 'spec.cidrs': ['2001:DB8::/64'] }), [
    'spec.cidrs[0]: Invalid value: "2001:DB8::/64": must be in canonical form ("2001:db8::/64")',
  ]);
  assert.deepEqual(cidrs.refusals({ 'spec.cidrs': [] }), ['spec.cidrs: Required value: at least one CIDR required']);
});

test('an address is named by its canonical form and belongs to one object', () => {
  assert.deepEqual(addresses.refusals({ 'metadata.name': '2001:DB8::1' }), [
    'metadata.name: Invalid value: "2001:DB8::1": must be in canonical form ("2001:db8::1")',
  ]);
  assert.deepEqual(addresses.refusals({ 'spec.parentRef': {} }), [
    'spec.parentRef.resource: Required value',
    'spec.parentRef.name: Required value',
  ]);
  assert.equal(addresses.updateRefusals({ 'spec.parentRef.name': 'other' }).length, 1);
  assert.deepEqual(addresses.cells(), { ParentRef: 'services/default/web' });
});
