// What the API server fills in, per kind, here of all other kinds: the sparsest object that a client may write, and one whose fields
// are all set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RoleBinding } from '../rbac/role-binding.ts';
import { defaultAdmissionPolicy, defaultPolicyBinding } from './default-admission-policies.ts';
import { defaultHorizontalPodAutoscaler, defaultV1Autoscaler } from './default-autoscaling.ts';
import { defaultCustomResourceDefinition } from './default-custom-resource-definition.ts';
import { defaultEndpoints, defaultEndpointSlice } from './default-endpoints.ts';
import { defaultFlowSchema, defaultPriorityLevel } from './default-flow-control.ts';
import { defaultLimitRange } from './default-limit-range.ts';
import { defaultNamespace } from './default-namespace.ts';
import { defaultIngressClass, defaultNetworkPolicy } from './default-networking.ts';
import { defaultBinding } from './default-rbac.ts';
import { defaultResourceClaim, defaultResourceClaimTemplate } from './default-resource.ts';
import { defaultResourceQuota } from './default-resource-quota.ts';
import { defaultRuntimeClass } from './default-runtime-class.ts';
import { defaultMutatingWebhooks, defaultValidatingWebhooks } from './default-webhooks.ts';
import { defaultsOf, specOf, specs } from './testing/sparse-objects.ts';

test('limits of containers follow from the others: a maximum is a limit, and a limit or a minimum a request', () => {
  const of = (item: object): unknown =>
    (specs(defaultLimitRange)({ limits: [item] }) as { limits: unknown[] }).limits[0];
  assert.deepEqual(
    [
      of({ type: 'Container', max: { cpu: '4', memory: '1.5m' }, default: { cpu: '2' }, min: { cpu: '1', disk: '1' } }),
      of({ type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '1' } }),
      of({ type: 'Pod', max: { cpu: '100u' }, min: { cpu: '100u' }, maxLimitRequestRatio: { cpu: '100u' } }),
    ],
    [
      {
        type: 'Container',
        max: { cpu: '4', memory: '2m' },
        min: { cpu: '1', disk: '1' },
        default: { cpu: '2', memory: '2m' },
        defaultRequest: { cpu: '2', memory: '2m', disk: '1' },
      },
      { type: 'Container', default: { cpu: '2' }, defaultRequest: { cpu: '1' } },
      { type: 'Pod', max: { cpu: '1m' }, min: { cpu: '1m' }, maxLimitRequestRatio: { cpu: '1m' } },
    ],
  );
});

test('quotas and overheads are rounded up to thousandths', () => {
  const list = { cpu: '100u' };
  const rounded = { cpu: '1m' };
  assert.deepEqual(
    [
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: {} }),
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: { hard: list }, status: { hard: list, used: list } }),
      defaultsOf(defaultResourceQuota, { metadata: {}, spec: {}, status: {} }),
      defaultsOf(defaultRuntimeClass, { metadata: {}, handler: 'h' }),
      defaultsOf(defaultRuntimeClass, { metadata: {}, handler: 'h', overhead: { podFixed: list } }),
    ],
    [
      { metadata: {}, spec: {} },
      { metadata: {}, spec: { hard: rounded }, status: { hard: rounded, used: rounded } },
      { metadata: {}, spec: {}, status: {} },
      { metadata: {}, handler: 'h' },
      { metadata: {}, handler: 'h', overhead: { podFixed: rounded } },
    ],
  );
});

test('an autoscaler without metrics keeps CPU at 80 percent of the requests, and its behavior is completed', () => {
  const of = specs(defaultHorizontalPodAutoscaler);
  const cpu = { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } } };
  const other = { type: 'Pods' };
  const percent = { type: 'Percent', value: 100, periodSeconds: 15 };
  const up = {
    stabilizationWindowSeconds: 0,
    selectPolicy: 'Max',
    policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent],
  };
  const down = { selectPolicy: 'Max', policies: [percent] };
  assert.deepEqual(
    [
      of({}),
      of({ metrics: [], minReplicas: 0 }),
      of({ metrics: [other], behavior: {} }),
      of({ metrics: [other], behavior: { scaleUp: { policies: [] }, scaleDown: { selectPolicy: 'Disabled' } } }),
    ],
    [
      { minReplicas: 1, metrics: [cpu] },
      { minReplicas: 0, metrics: [cpu] },
      { minReplicas: 1, metrics: [other], behavior: { scaleUp: up, scaleDown: down } },
      {
        minReplicas: 1,
        metrics: [other],
        behavior: { scaleUp: { ...up, policies: [] }, scaleDown: { ...down, selectPolicy: 'Disabled' } },
      },
    ],
  );
  const v1 = (metadata: object, spec: object): unknown =>
    specOf(
      defaultsOf((object: Parameters<typeof defaultV1Autoscaler>[0]) => defaultV1Autoscaler(object, 'metrics'), {
        metadata,
        spec,
      }),
    );
  assert.deepEqual(
    [
      v1({}, {}),
      v1({ annotations: { metrics: '' } }, {}),
      v1({ annotations: { metrics: '[]' } }, { minReplicas: 0 }),
      v1({}, { targetCPUUtilizationPercentage: 50 }),
    ],
    [
      { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      { minReplicas: 1, targetCPUUtilizationPercentage: 80 },
      { minReplicas: 0 },
      { minReplicas: 1, targetCPUUtilizationPercentage: 50 },
    ],
  );
});

test('a network policy is about incoming traffic, and about outgoing traffic if it has rules for it', () => {
  const of = specs(defaultNetworkPolicy);
  const ports = [{ port: 53 }, { port: 53, protocol: 'UDP' }];
  const filled = [
    { port: 53, protocol: 'TCP' },
    { port: 53, protocol: 'UDP' },
  ];
  assert.deepEqual(
    [
      of({}),
      of({ ingress: [{}], egress: [] }),
      of({ ingress: [{ ports }], egress: [{ ports }] }),
      of({ egress: [{}], policyTypes: ['Egress'] }),
      of({ policyTypes: [] }),
    ],
    [
      { policyTypes: ['Ingress'] },
      { ingress: [{}], egress: [], policyTypes: ['Ingress'] },
      { ingress: [{ ports: filled }], egress: [{ ports: filled }], policyTypes: ['Ingress', 'Egress'] },
      { egress: [{}], policyTypes: ['Egress'] },
      { policyTypes: ['Ingress'] },
    ],
  );
  const parameters = specs(defaultIngressClass);
  assert.deepEqual(
    [
      parameters({}),
      parameters({ parameters: { name: 'p' } }),
      parameters({ parameters: { name: 'p', scope: 'Namespace' } }),
    ],
    [{}, { parameters: { name: 'p', scope: 'Cluster' } }, { parameters: { name: 'p', scope: 'Namespace' } }],
  );
});

test('ports of endpoints are TCP, and those of slices have a name', () => {
  const ports = [{ port: 1 }, { port: 2, name: 'a', protocol: 'UDP' }];
  assert.deepEqual(
    [
      defaultsOf(defaultEndpoints, { metadata: {} }),
      defaultsOf(defaultEndpoints, { metadata: {}, subsets: [{}, { ports }] }),
      defaultsOf(defaultEndpointSlice, { metadata: {}, endpoints: [{}, { conditions: { ready: true } }], ports }),
    ],
    [
      { metadata: {} },
      { metadata: {}, subsets: [{}, { ports: [{ port: 1, protocol: 'TCP' }, ports[1]] }] },
      {
        metadata: {},
        endpoints: [{ conditions: {} }, { conditions: { ready: true } }],
        ports: [{ port: 1, name: '', protocol: 'TCP' }, ports[1]],
      },
    ],
  );
});

test('a namespace is labelled with its name and active', () => {
  const named = { 'kubernetes.io/metadata.name': 'a' };
  assert.deepEqual(
    [
      defaultsOf(defaultNamespace, { metadata: { name: 'a' } }),
      defaultsOf(defaultNamespace, { metadata: { name: 'a', labels: { x: 'y' } }, status: { phase: 'Terminating' } }),
      defaultsOf(defaultNamespace, { metadata: { name: '' } }),
    ],
    [
      { metadata: { name: 'a', labels: named }, status: { phase: 'Active' } },
      { metadata: { name: 'a', labels: { x: 'y', ...named } }, status: { phase: 'Terminating' } },
      { metadata: { name: '' }, status: { phase: 'Active' } },
    ],
  );
});

test('flow schemas and priority levels get the numbers that they leave out or write as zero', () => {
  const level = specs(defaultPriorityLevel);
  const limited = (more: object, queuing?: object): object => ({
    ...more,
    limitResponse: { type: 'Queue', ...(queuing !== undefined && { queuing }) },
  });
  const schema = specs(defaultFlowSchema);
  assert.deepEqual(
    [
      schema({ matchingPrecedence: 0 }),
      schema({ matchingPrecedence: 7 }),
      level({ type: 'Limited' }),
      level({ exempt: {} }),
      level({ exempt: { nominalConcurrencyShares: 3, lendablePercent: 4 } }),
      level({ limited: limited({}) }),
      level({
        limited: limited(
          { nominalConcurrencyShares: 0, lendablePercent: 4 },
          { queues: 0, handSize: 0, queueLengthLimit: 0 },
        ),
      }),
      level({ limited: limited({}, { queues: 1, handSize: 2, queueLengthLimit: 3 }) }),
    ],
    [
      { matchingPrecedence: 1000 },
      { matchingPrecedence: 7 },
      { type: 'Limited' },
      { exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
      { exempt: { nominalConcurrencyShares: 3, lendablePercent: 4 } },
      { limited: limited({ nominalConcurrencyShares: 30, lendablePercent: 0 }) },
      {
        limited: limited(
          { nominalConcurrencyShares: 0, lendablePercent: 4 },
          { queues: 64, handSize: 8, queueLengthLimit: 50 },
        ),
      },
      {
        limited: limited(
          { nominalConcurrencyShares: 30, lendablePercent: 0 },
          { queues: 1, handSize: 2, queueLengthLimit: 3 },
        ),
      },
    ],
  );
});

test('roles, users and groups of a binding are of the RBAC group, and service accounts of none', () => {
  const group = 'rbac.authorization.k8s.io';
  assert.deepEqual(
    [
      defaultsOf(defaultBinding<RoleBinding>, { roleRef: { kind: 'Role', name: 'r', apiGroup: '' } }),
      defaultsOf(defaultBinding<RoleBinding>, {
        roleRef: { kind: 'Role', name: 'r', apiGroup: 'x' },
        subjects: [
          { kind: 'User', name: 'u' },
          { kind: 'Group', name: 'g', apiGroup: '' },
          { kind: 'ServiceAccount', name: 's', apiGroup: '' },
          { kind: 'User', name: 'u', apiGroup: 'x' },
        ],
      }),
    ],
    [
      { roleRef: { kind: 'Role', name: 'r', apiGroup: group } },
      {
        roleRef: { kind: 'Role', name: 'r', apiGroup: 'x' },
        subjects: [
          { kind: 'User', name: 'u', apiGroup: group },
          { kind: 'Group', name: 'g', apiGroup: group },
          { kind: 'ServiceAccount', name: 's', apiGroup: '' },
          { kind: 'User', name: 'u', apiGroup: 'x' },
        ],
      },
    ],
  );
});

test('a request for devices is for exactly one, and a toleration compares values', () => {
  const one = { allocationMode: 'ExactCount', count: 1 };
  const requests = [
    { name: 'a', exactly: {} },
    { name: 'b', firstAvailable: [{ count: 2 }, { allocationMode: 'All', count: 0 }, { allocationMode: 'All' }] },
    {
      name: 'c',
      exactly: { allocationMode: 'ExactCount', count: 0, tolerations: [{ key: 'k' }, { operator: 'Exists' }] },
    },
  ];
  const filled = [
    { name: 'a', exactly: one },
    {
      name: 'b',
      firstAvailable: [{ ...one, count: 2 }, { allocationMode: 'All', count: 0 }, { allocationMode: 'All' }],
    },
    { name: 'c', exactly: { ...one, tolerations: [{ key: 'k', operator: 'Equal' }, { operator: 'Exists' }] } },
  ];
  const status = (operator?: string): object => ({
    reservedFor: [],
    allocation: {
      nodeSelector: {},
      devices: { results: [{ tolerations: [{ key: 'k', ...(operator && { operator }) }] }] },
    },
  });
  assert.deepEqual(
    [
      defaultsOf(defaultResourceClaim, { spec: { devices: {} } }),
      defaultsOf(defaultResourceClaim, { spec: { devices: { requests, config: [] } }, status: status() }),
      defaultsOf(defaultResourceClaim, { spec: { devices: {} }, status: { allocation: { devices: {} } } }),
      defaultsOf(defaultResourceClaimTemplate, { spec: { metadata: {}, spec: { devices: { requests } } } }),
    ],
    [
      { spec: { devices: {} } },
      { spec: { devices: { requests: filled, config: [] } }, status: status('Equal') },
      { spec: { devices: {} }, status: { allocation: { devices: {} } } },
      { spec: { metadata: {}, spec: { devices: { requests: filled } } } },
    ],
  );
});

test('a webhook fails closed within ten seconds, for objects of any scope', () => {
  const usual = {
    clientConfig: { service: { name: 's', port: 443 } },
    failurePolicy: 'Fail',
    matchPolicy: 'Equivalent',
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
  };
  const chosen = {
    clientConfig: { service: { name: 's', port: 1 } },
    rules: [{ scope: 'Cluster' }],
    failurePolicy: 'Ignore',
    matchPolicy: 'Exact',
    namespaceSelector: { matchLabels: { a: 'b' } },
    objectSelector: { matchLabels: { a: 'b' } },
    timeoutSeconds: 1,
    reinvocationPolicy: 'IfNeeded',
  };
  const hooks = [
    { clientConfig: { service: { name: 's' } }, rules: [{}] },
    { clientConfig: { url: 'https://x' } },
    chosen,
  ];
  const filled = [{ ...usual, rules: [{ scope: '*' }] }, { ...usual, clientConfig: { url: 'https://x' } }, chosen];
  assert.deepEqual(
    [
      defaultsOf(defaultValidatingWebhooks, { metadata: {} }),
      defaultsOf(defaultValidatingWebhooks, { metadata: {}, webhooks: hooks }),
      defaultsOf(defaultMutatingWebhooks, { metadata: {} }),
      defaultsOf(defaultMutatingWebhooks, { metadata: {}, webhooks: hooks }),
    ],
    [
      { metadata: {} },
      { metadata: {}, webhooks: filled },
      { metadata: {} },
      { metadata: {}, webhooks: filled.map((hook) => ({ reinvocationPolicy: 'Never', ...hook })) },
    ],
  );
});

test('an admission policy fails closed, and matches objects in any version', () => {
  const usual = { namespaceSelector: {}, objectSelector: {}, matchPolicy: 'Equivalent' };
  const selector = { matchLabels: { a: 'b' } };
  const chosen = { namespaceSelector: selector, objectSelector: selector, matchPolicy: 'Exact' };
  const rules = [{ resources: ['pods'] }, { resources: ['pods'], scope: 'Namespaced' }];
  const filled = [{ resources: ['pods'], scope: '*' }, rules[1]];
  const policy = specs(defaultAdmissionPolicy);
  const binding = specs(defaultPolicyBinding);
  assert.deepEqual(
    [
      policy({}),
      policy({ failurePolicy: 'Ignore', matchConstraints: { resourceRules: rules, excludeResourceRules: rules } }),
      policy({ matchConstraints: chosen }),
      binding({}),
      binding({ matchResources: {} }),
    ],
    [
      { failurePolicy: 'Fail' },
      {
        failurePolicy: 'Ignore',
        matchConstraints: { ...usual, resourceRules: filled, excludeResourceRules: filled },
      },
      { failurePolicy: 'Fail', matchConstraints: chosen },
      {},
      { matchResources: usual },
    ],
  );
});

test('names, conversion and stored versions of a definition follow from what it says', () => {
  const of = (spec: object, status?: object): unknown =>
    defaultsOf(defaultCustomResourceDefinition, {
      metadata: {},
      spec: { versions: [], ...spec },
      ...(status !== undefined && { status }),
    });
  const named = (more: object): object => ({ names: { plural: 'webs', kind: 'Web', ...more } });
  const versions = [{ name: 'v1', storage: true }];
  const empty = { conditions: [], acceptedNames: { plural: '', kind: '' } };
  const hook = (service: object): object => ({ strategy: 'Webhook', webhook: { clientConfig: { service } } });
  const url = {
    strategy: 'Webhook',
    webhook: { clientConfig: { url: 'https://x' }, conversionReviewVersions: ['v1'] },
  };
  const names = { plural: 'webs', kind: 'Web', singular: 'web', listKind: 'WebList' };
  const none = { strategy: 'None' };
  assert.deepEqual(
    [
      of({ ...named({}), versions }),
      of(named({ singular: '', listKind: '' }), { storedVersions: ['v0'] }),
      of({ names: { plural: 'webs', kind: '', listKind: '' }, conversion: url }),
      of(
        { ...named({ singular: 'one', listKind: 'Many' }), conversion: hook({ name: 's' }), versions },
        { storedVersions: [], conditions: [{ type: 'x' }] },
      ),
      of({ ...named({}), conversion: hook({ name: 's', port: 1 }) }),
    ],
    [
      { metadata: {}, spec: { names, versions, conversion: none }, status: { ...empty, storedVersions: ['v1'] } },
      { metadata: {}, spec: { names, versions: [], conversion: none }, status: { ...empty, storedVersions: ['v0'] } },
      {
        metadata: {},
        spec: { names: { plural: 'webs', kind: '', singular: '', listKind: '' }, versions: [], conversion: url },
        status: { ...empty, storedVersions: [] },
      },
      {
        metadata: {},
        spec: {
          names: { ...names, singular: 'one', listKind: 'Many' },
          versions,
          conversion: {
            strategy: 'Webhook',
            webhook: { conversionReviewVersions: [], clientConfig: { service: { name: 's', port: 443 } } },
          },
        },
        status: { ...empty, conditions: [{ type: 'x' }], storedVersions: ['v1'] },
      },
      {
        metadata: {},
        spec: { names, versions: [], conversion: hook({ name: 's', port: 1 }) },
        status: { ...empty, storedVersions: [] },
      },
    ],
  );
});

test('fields that a schema does not know are dropped, unless one of its values has a wrong type', () => {
  const schemaOf = (schema?: unknown): unknown => {
    const version = { name: 'v1', ...(schema !== undefined && { schema: { openAPIV3Schema: schema } }) };
    const { spec } = defaultCustomResourceDefinition({
      metadata: {},
      spec: { names: { plural: 'webs', kind: 'Web' }, versions: [version] },
    } as unknown as Parameters<typeof defaultCustomResourceDefinition>[0]);
    return spec.versions[0]?.schema;
  };
  const known = { type: 'object', properties: { a: { type: 'string' } } };
  const wrong = { type: 'object', maxProperties: 'many', odd: 1 };
  assert.deepEqual(
    [schemaOf(), schemaOf(null), schemaOf('text'), schemaOf({ ...known, odd: 1 }), schemaOf(wrong)],
    [
      undefined,
      { openAPIV3Schema: null },
      { openAPIV3Schema: 'text' },
      { openAPIV3Schema: known },
      { openAPIV3Schema: wrong },
    ],
  );
});
