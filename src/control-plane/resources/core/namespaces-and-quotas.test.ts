import assert from 'node:assert/strict';
import test from 'node:test';
import type { LimitRange } from '../../../api/core/limit-range.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { formatFieldError } from '../../../api/validation/field-error.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const namespaces = new RulesFixture<Namespace>('v1', 'Namespace', {});
const accounts = new RulesFixture<ServiceAccount>('v1', 'ServiceAccount', {});
const ranges = new RulesFixture<LimitRange>('v1', 'LimitRange', {
  spec: { limits: [{ type: 'Container', max: { cpu: '2' }, min: { memory: '64Mi' } }] },
});
const quotas = new RulesFixture('v1', 'ResourceQuota', { spec: { hard: { pods: '10', 'requests.cpu': '2' } } });
const request = { user: { name: 'tester', groups: [] }, nowMs };

test('the examples are accepted', () => {
  for (const fixture of [namespaces, accounts, ranges, quotas])
    assert.deepEqual([fixture.refusals(), fixture.updateRefusals({})], [[], []]);
});

test('a namespace is labelled with its name and held by who empties it', () => {
  const { metadata, spec, status } = namespaces.created({ 'spec.finalizers': ['example.com/mine'] });
  assert.deepEqual(
    [metadata.labels, spec.finalizers, status],
    [{ 'kubernetes.io/metadata.name': 'web' }, ['example.com/mine', 'kubernetes'], { phase: 'Active' }],
  );
  assert.deepEqual(namespaces.created().spec, { finalizers: ['kubernetes'] });
  assert.deepEqual(namespaces.refusals({ 'metadata.name': 'a.b' }), [
    'metadata.name: Invalid value: "a.b": must not contain dots',
  ]);
  assert.deepEqual(namespaces.refusals({ 'spec.finalizers': ['mine'] }), [
    'spec.finalizers: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified',
  ]);
});

test('only finalize lets go of a namespace, and a deletion waits for it', () => {
  const { rules, views } = namespaces.definition;
  const old = namespaces.created();
  assert.deepEqual((rules.prepareForUpdate?.({ ...old, spec: {} } as Namespace, old, request) as Namespace).spec, {
    finalizers: ['kubernetes'],
  });
  const finalized = views?.[0]?.write(
    old,
    { ...old, spec: {}, status: { phase: 'Terminating' } } as Namespace,
    request,
  ) as Namespace;
  assert.deepEqual([finalized.spec, finalized.status], [{}, { phase: 'Active' }]);
  assert.deepEqual((rules.holdDeletion?.(old) as Namespace | undefined)?.status, { phase: 'Terminating' });
  assert.equal(rules.holdDeletion?.(finalized), undefined);
  assert.deepEqual(
    (views?.[0]?.validate({ ...old, spec: { finalizers: ['x'] } } as Namespace, old, permissivePolicy) ?? []).map(
      formatFieldError,
    ),
    ['spec.finalizers[0]: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified'],
  );
  assert.deepEqual(namespaces.statusRefusals({ phase: 'Terminating' }), [
    'status.Phase: Invalid value: "Terminating": may only be \'Active\' if `deletionTimestamp` is empty',
  ]);
  assert.deepEqual(namespaces.cells(), { Status: 'Active' });
  assert.deepEqual(namespaces.definition.selectableFields?.(old), { 'status.phase': 'Active' });
});

test('of the secrets of an account only their names count', () => {
  assert.deepEqual(accounts.created({ secrets: [{ name: 'a', namespace: 'other', uid: 'x' }] }).secrets, [
    { name: 'a' },
  ]);
  const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' };
  assert.deepEqual(accounts.warnings({ 'metadata.annotations': annotations }), [
    'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets',
  ]);
});

test('limits of containers follow from each other', () => {
  assert.deepEqual(ranges.defaulted().spec.limits[0], {
    type: 'Container',
    max: { cpu: '2' },
    min: { memory: '64Mi' },
    default: { cpu: '2' },
    defaultRequest: { cpu: '2', memory: '64Mi' },
  });
  const pod = { type: 'Pod', max: { cpu: '2' } };
  assert.deepEqual(ranges.defaulted({ 'spec.limits': [pod] }).spec.limits, [pod]);
  assert.equal(ranges.created({ 'metadata.name': '' }).metadata.name, 'uid-1');
});

test('limits that contradict each other are refused', () => {
  const at = 'spec.limits[0]';
  const cases: readonly [object[], string[]][] = [
    [
      [
        { type: 'Pod', max: { cpu: '1' } },
        { type: 'Pod', max: { cpu: '1' } },
      ],
      ['spec.limits[1].type: Duplicate value: "Pod"'],
    ],
    [[{ type: 'Host' }], [`${at}.type: Invalid value: "Host": must be a standard limit type or fully qualified`]],
    [
      [{ type: 'Pod', default: { cpu: '1' } }],
      [`${at}.default: Forbidden: may not be specified when \`type\` is 'Pod'`],
    ],
    [
      [{ type: 'Pod', max: { pods: '1' } }],
      [`${at}.max[pods]: Invalid value: "pods": must be a standard resource for containers`],
    ],
    [
      [{ type: 'Pod', max: { cpu: '1' }, min: { cpu: '2' } }],
      [`${at}.min[cpu]: Invalid value: "2": min value 2 is greater than max value 1`],
    ],
    [
      [{ type: 'Container', max: { cpu: '1' }, default: { cpu: '2' } }],
      [
        `${at}.defaultRequest[cpu]: Invalid value: "2": default request value 2 is greater than max value 1`,
        `${at}.default[cpu]: Invalid value: "1": default value 2 is greater than max value 1`,
      ],
    ],
    [
      [{ type: 'PersistentVolumeClaim' }],
      [`${at}.limits: Required value: either minimum or maximum storage value is required, but neither was provided`],
    ],
    [
      [{ type: 'Pod', max: { cpu: '2' }, min: { cpu: '1' }, maxLimitRequestRatio: { cpu: '3' } }],
      [`${at}.maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = 2.000000`],
    ],
    [
      [{ type: 'Pod', maxLimitRequestRatio: { cpu: '500m' } }],
      [`${at}.maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m is less than 1`],
    ],
    [
      [{ type: 'Container', default: { 'example.com/gpu': '2' }, defaultRequest: { 'example.com/gpu': '1' } }],
      [
        `${at}.defaultRequest[example.com/gpu]: Invalid value: "1": default value 2 must equal to defaultRequest value 1 in example.com/gpu`,
      ],
    ],
  ];
  for (const [limits, expected] of cases) assert.deepEqual(ranges.refusals({ 'spec.limits': limits }), expected);
});

test('a quota counts what there is, within scopes that can be about it', () => {
  const cases: readonly [object, string[]][] = [
    [
      { hard: { cats: '1' } },
      [
        'spec.hard[cats]: Invalid value: "cats": must be a standard resource type or fully qualified',
        'spec.hard[cats]: Invalid value: "cats": must be a standard resource for quota',
      ],
    ],
    [{ hard: { pods: '1500m' } }, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']],
    [{ hard: { cpu: '-1' } }, ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0']],
    [{ scopes: ['Odd'] }, ['spec.scopes: Invalid value: ["Odd"]: unsupported scope']],
    [
      { hard: { cpu: '1' }, scopes: ['BestEffort'] },
      ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    ],
    [
      { scopes: ['Terminating', 'NotTerminating'] },
      ['spec.scopes: Invalid value: ["Terminating","NotTerminating"]: conflicting scopes'],
    ],
    [
      { scopeSelector: { matchExpressions: [{ scopeName: 'PriorityClass', operator: 'In' }] } },
      [
        "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when `operator` is 'In' or 'NotIn' for scope selector",
      ],
    ],
    [
      {
        hard: {
          'count/deployments.apps': '1',
          'requests.example.com/gpu': '1',
          'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
        },
        scopes: [],
      },
      [],
    ],
  ];
  for (const [spec, expected] of cases) assert.deepEqual(quotas.refusals({ spec }), expected);
  assert.deepEqual(quotas.updateRefusals({ 'spec.scopes': ['NotTerminating'] }), [
    'spec.scopes: Invalid value: ["NotTerminating"]: field is immutable',
  ]);
  assert.deepEqual(quotas.warnings({ 'spec.hard': { 'requests.cpu': '2', 'limits.cpu': '1' } }), [
    'ResourceQuota requests.cpu (2) should be less than limits.cpu (1)',
  ]);
});

test('a quota shows what is used, limits apart', () => {
  const status = { hard: { pods: '10', 'limits.cpu': '4', cpu: '2' }, used: { pods: '3', cpu: '500m' } };
  assert.deepEqual(quotas.cells({ status }), {
    Request: 'cpu: 500m/2, pods: 3/10',
    Limit: 'limits.cpu: 0/4',
    Age: '60m',
  });
});
