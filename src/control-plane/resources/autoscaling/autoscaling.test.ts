import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import type { HorizontalPodAutoscaler as V1Autoscaler } from '../../../api/autoscaling/horizontal-pod-autoscaler-v1.ts';
import type { HorizontalPodAutoscaler } from '../../../api/autoscaling/horizontal-pod-autoscaler.ts';
import { RulesFixture, nowMs } from '../testing/rules-fixture.ts';
import { fromV1Autoscaler, toV1Autoscaler } from './autoscaler-forms.ts';
import { horizontalPodAutoscalerResource } from './horizontal-pod-autoscaler.ts';

const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' };
const cpu = {
  type: 'Resource' as const,
  resource: { name: 'cpu', target: { type: 'Utilization' as const, averageUtilization: 60 } },
};
const memory = {
  type: 'Resource' as const,
  resource: { name: 'memory', target: { type: 'AverageValue' as const, averageValue: '100Mi' } },
};
const autoscalers = new RulesFixture<HorizontalPodAutoscaler>('autoscaling/v2', 'HorizontalPodAutoscaler', {
  spec: { scaleTargetRef, maxReplicas: 5, metrics: [cpu] },
});
const firsts = new RulesFixture<V1Autoscaler>('autoscaling/v1', 'HorizontalPodAutoscaler', {
  spec: { scaleTargetRef, maxReplicas: 5 },
});

test('an autoscaler that names no metric scales by 80 percent of the CPU, and rules that are given are completed', () => {
  const { spec } = autoscalers.created({
    'spec.metrics': undefined,
    'spec.behavior': { scaleUp: { tolerance: '0.05' } },
  });
  assert.deepEqual(
    [spec.minReplicas, spec.metrics?.[0]?.resource?.target.averageUtilization, spec.behavior],
    [
      1,
      80,
      {
        scaleUp: {
          stabilizationWindowSeconds: 0,
          selectPolicy: 'Max',
          policies: [
            { type: 'Pods', value: 4, periodSeconds: 15 },
            { type: 'Percent', value: 100, periodSeconds: 15 },
          ],
          tolerance: '50m',
        },
        scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
      },
    ],
  );
});

test('the first version shows the default that is stored, unless an annotation holds other metrics', () => {
  const metrics = '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}}]';
  const cpuOf = (changes: Readonly<Record<string, unknown>>): unknown =>
    firsts.created(changes).spec.targetCPUUtilizationPercentage;
  assert.deepEqual(
    [
      cpuOf({}),
      cpuOf({ 'spec.targetCPUUtilizationPercentage': 40 }),
      cpuOf({ 'metadata.annotations': { 'autoscaling.alpha.kubernetes.io/metrics': metrics } }),
    ],
    [80, 40, undefined],
  );
});

test('replicas, references, rules and metrics are checked in the words of upstream', () => {
  const at = 'spec.metrics.0';
  const target = { type: 'Value', value: '10' };
  const metric = { name: 'hits' };
  const cases: readonly [object, string[]][] = [
    [{}, []],
    [
      { 'spec.minReplicas': 0 },
      [
        'spec.minReplicas: Invalid value: 0: must be greater than or equal to 1',
        'spec.metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas',
      ],
    ],
    [
      { 'spec.maxReplicas': 0 },
      [
        'spec.maxReplicas: Required value: must be set and greater than 0',
        'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
      ],
    ],
    [{ 'spec.minReplicas': 9 }, ['spec.maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`']],
    [
      { 'spec.scaleTargetRef': { kind: '', name: 'a/b', apiVersion: 'v1' } },
      [
        'spec.scaleTargetRef.kind: Required value',
        'spec.scaleTargetRef.name: Invalid value: "a/b": may not contain \'/\'',
        'spec.scaleTargetRef.apiVersion: Invalid value: "v1": apiVersion must specify API group',
      ],
    ],
    [{ 'spec.scaleTargetRef': { kind: 'ReplicationController', name: 'web', apiVersion: 'v1' } }, []],
    [
      { 'spec.scaleTargetRef.apiVersion': 'a/b/c' },
      ['spec.scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c'],
    ],
    [
      { 'spec.behavior': { scaleUp: { policies: [], selectPolicy: 'Most', stabilizationWindowSeconds: 3601 } } },
      [
        'spec.behavior.scaleUp.stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600',
        'spec.behavior.scaleUp.selectPolicy: Unsupported value: "Most": supported values: "Disabled", "Max", "Min"',
        'spec.behavior.scaleUp.policies: Required value: must specify at least one Policy',
      ],
    ],
    [
      {
        'spec.behavior': {
          scaleDown: { policies: [{ type: 'Half', value: 0, periodSeconds: 1801 }], tolerance: '-1' },
        },
      },
      [
        'spec.behavior.scaleDown.policies[0].type: Unsupported value: "Half": supported values: "Percent", "Pods"',
        'spec.behavior.scaleDown.policies[0].value: Invalid value: 0: must be greater than zero',
        'spec.behavior.scaleDown.policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800',
        'spec.behavior.scaleDown.tolerance: Invalid value: "-1": must be greater than or equal to 0',
      ],
    ],
    [
      { [`${at}.type`]: 'Pods' },
      ['spec.metrics[0].pods: Required value: must populate information for the given metric source'],
    ],
    [
      { [`${at}.pods`]: { metric, target: { type: 'AverageValue', averageValue: '1' } } },
      ['spec.metrics[0].pods: Forbidden: must populate the given metric source only'],
    ],
    [
      { [at]: { type: 'Moon' } },
      [
        'spec.metrics[0].type: Unsupported value: "Moon": supported values: "ContainerResource", "External", "Object", "Pods", "Resource"',
      ],
    ],
    [
      { [`${at}.resource.target`]: { type: 'Most', averageValue: '0', averageUtilization: 0 } },
      [
        'spec.metrics[0].resource.target.type: Invalid value: "Most": must be either Utilization, Value, or AverageValue',
        'spec.metrics[0].resource.target.averageValue: Invalid value: "0": must be positive',
        'spec.metrics[0].resource.target.averageUtilization: Invalid value: 0: must be greater than 0',
        'spec.metrics[0].resource.target.averageValue: Forbidden: may not set both a target raw value and a target utilization',
      ],
    ],
    [
      {
        [at]: {
          type: 'ContainerResource',
          containerResource: { name: 'gpu', container: '', target: { type: 'Value' } },
        },
      },
      [
        'spec.metrics[0].containerResource.name: Invalid value: "gpu": must be a standard resource type or fully qualified',
        'spec.metrics[0].containerResource.name: Invalid value: "gpu": must be a standard resource for containers',
        'spec.metrics[0].containerResource.container: Required value: must specify a container',
        'spec.metrics[0].containerResource.target.averageUtilization: Required value: must set either a target raw value or a target utilization',
      ],
    ],
    [
      {
        [at]: {
          type: 'Object',
          object: {
            metric: { name: '' },
            target: { type: 'Value' },
            describedObject: { kind: 'Service', name: 'web', apiVersion: 'v1' },
          },
        },
      },
      [
        'spec.metrics[0].object.metric.name: Required value: must specify a metric name',
        'spec.metrics[0].object.target.averageValue: Required value: must set either a target value or averageValue',
      ],
    ],
    [
      {
        [at]: { type: 'External', external: { metric, target: { ...target, averageValue: '1' } } },
        'spec.minReplicas': 1,
      },
      [
        'spec.metrics[0].external.target.value: Forbidden: may not set both a target value for metric and a per-pod target',
      ],
    ],
    [
      { [at]: { type: 'External', external: { metric, target: { type: 'Value' } } } },
      [
        'spec.metrics[0].external.target.averageValue: Required value: must set either a target value for metric or a per-pod target',
      ],
    ],
    [
      { [at]: { type: 'Pods', pods: { metric, target } } },
      ['spec.metrics[0].pods.target.averageValue: Required value: must specify a positive target averageValue'],
    ],
  ];
  for (const [changes, expected] of cases)
    assert.deepEqual(autoscalers.refusals(changes as never), expected, JSON.stringify(changes));
});

test('an update may keep a reference that would not be accepted now, but not change it into another such', () => {
  const { rules } = horizontalPodAutoscalerResource;
  const wrong = autoscalers.created({ 'spec.scaleTargetRef.apiVersion': 'v1', 'spec.minReplicas': 0 });
  const errors = (changes: object): string[] =>
    rules
      .validateUpdate(autoscalers.created(changes as never), wrong, { allowPrivileged: true })
      .map(({ field }) => field);
  assert.deepEqual(errors({ 'spec.scaleTargetRef.apiVersion': 'v1' }), []);
  assert.deepEqual(errors({ 'spec.scaleTargetRef': { kind: 'ReplicaSet', name: 'web', apiVersion: 'v1' } }), [
    'spec.scaleTargetRef.apiVersion',
  ]);
});

test('both versions show the workload, what is measured and what is wanted', () => {
  const status = {
    currentReplicas: 2,
    desiredReplicas: 2,
    currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 42 } } }],
  };
  const third = { type: 'External', external: { metric: { name: 'queue' }, target: { type: 'Value', value: '9' } } };
  const cells = (changes: object): unknown[] => {
    const object = autoscalers.defaulted(changes as never);
    return (horizontalPodAutoscalerResource.columns ?? []).map(({ cell }) => cell(object, nowMs));
  };
  assert.deepEqual(cells({}), ['Deployment/web', 'cpu: <unknown>/60%', '1', 5, 0, '60m']);
  assert.deepEqual(cells({ 'spec.metrics': [cpu, memory, third], status }).slice(1, 5), [
    'cpu: 42%/60%, memory: <unknown>/100Mi + 1 more...',
    '1',
    5,
    2,
  ]);
  const first = firsts.definition.columns ?? [];
  const shown = firsts.defaulted({
    status: { currentReplicas: 1, desiredReplicas: 1, currentCPUUtilizationPercentage: 7 },
  });
  assert.deepEqual(first.map(({ cell }) => cell(shown, nowMs))[1], 'cpu: 7%/80%');
});

test('version 1 keeps what it has no field for in annotations, in the form of upstream', () => {
  const stored = autoscalers.defaulted({
    'metadata.annotations': { mine: 'x', 'autoscaling.alpha.kubernetes.io/metrics': 'old' },
    'spec.metrics': [memory, cpu],
    'spec.behavior': { scaleDown: { stabilizationWindowSeconds: 60 } },
    status: {
      desiredReplicas: 3,
      currentMetrics: [
        { type: 'Resource', resource: { name: 'cpu', current: { averageUtilization: 42, averageValue: '210m' } } },
      ],
      conditions: [{ type: 'AbleToScale', status: 'True', reason: 'Ready', message: 'a < b' }],
    },
  });
  const first = toV1Autoscaler(stored);
  assert.deepEqual(first.spec, { scaleTargetRef, minReplicas: 1, maxReplicas: 5, targetCPUUtilizationPercentage: 60 });
  assert.deepEqual(first.status, { currentReplicas: 0, desiredReplicas: 3, currentCPUUtilizationPercentage: 42 });
  const prefix = 'autoscaling.alpha.kubernetes.io';
  assert.deepEqual(first.metadata.annotations, {
    mine: 'x',
    [`${prefix}/metrics`]: '[{"type":"Resource","resource":{"name":"memory","targetAverageValue":"100Mi"}}]',
    [`${prefix}/current-metrics`]:
      '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":42,"currentAverageValue":"210m"}}]',
    [`${prefix}/behavior`]:
      '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null},"ScaleDown":{"StabilizationWindowSeconds":60,"SelectPolicy":"Max","Policies":[{"Type":"Percent","Value":100,"PeriodSeconds":15}],"Tolerance":null}}',
    [`${prefix}/conditions`]:
      '[{"type":"AbleToScale","status":"True","lastTransitionTime":null,"reason":"Ready","message":"a \\u003c b"}]',
  });
  const again = fromV1Autoscaler(first);
  assert.deepEqual(
    { ...again, metadata: { ...again.metadata, annotations: undefined } },
    {
      ...stored,
      metadata: { ...stored.metadata, annotations: undefined },
      status: { ...stored.status, currentReplicas: 0 },
    },
  );
  assert.deepEqual(again.metadata.annotations, { mine: 'x' });
});

test('every kind of metric survives version 1 and comes back the same', () => {
  const metric = { name: 'hits', selector: { matchLabels: { a: 'b' } } };
  const describedObject = { kind: 'Service', name: 'web', apiVersion: 'v1' };
  const targets = {
    value: { type: 'Value' as const, value: '10' },
    average: { type: 'AverageValue' as const, averageValue: '5' },
    percent: { type: 'Utilization' as const, averageUtilization: 50 },
  };
  const metrics: HorizontalPodAutoscaler['spec']['metrics'] = [
    { type: 'Object', object: { describedObject, target: targets.value, metric } },
    { type: 'Object', object: { describedObject, target: targets.average, metric } },
    { type: 'Pods', pods: { metric, target: targets.average } },
    { type: 'External', external: { metric, target: targets.value } },
    { type: 'External', external: { metric, target: targets.average } },
    { type: 'ContainerResource', containerResource: { name: 'cpu', target: targets.percent, container: 'app' } },
    { type: 'Resource', resource: { name: 'memory', target: targets.percent } },
  ];
  const status: HorizontalPodAutoscaler['status'] = {
    currentReplicas: 1,
    desiredReplicas: 1,
    currentMetrics: [
      { type: 'Object', object: { describedObject, current: { value: '10' }, metric } },
      { type: 'Pods', pods: { metric, current: { averageValue: '5' } } },
      { type: 'External', external: { metric, current: { value: '0', averageValue: '5' } } },
      {
        type: 'ContainerResource',
        containerResource: { name: 'cpu', current: { averageValue: '1', averageUtilization: 50 }, container: 'app' },
      },
      { type: 'Resource', resource: { name: 'memory', current: { averageValue: '1' } } },
    ],
  };
  const stored = { ...autoscalers.defaulted({ 'spec.metrics': undefined }), status };
  stored.spec.metrics = metrics;
  assert.deepEqual(fromV1Autoscaler(toV1Autoscaler(stored)), stored);
});

test('annotations of version 1 that make no sense mean nothing', () => {
  const prefix = 'autoscaling.alpha.kubernetes.io';
  fc.assert(
    fc.property(
      fc.record({
        metrics: fc.oneof(fc.json(), fc.string()),
        behavior: fc.oneof(fc.json(), fc.string(), fc.constant('{"ScaleUp":{"Policies":{"a":1}}}')),
        'current-metrics': fc.oneof(fc.json(), fc.constant('[{"type":"Object","object":{}}]')),
        conditions: fc.json(),
      }),
      (texts) => {
        const annotations = Object.fromEntries(
          Object.entries(texts).map(([name, text]) => [`${prefix}/${name}`, text]),
        );
        const object = firsts.defaulted({ 'metadata.annotations': annotations });
        const stored = fromV1Autoscaler(object);
        assert.equal(stored.metadata.annotations, undefined);
        firsts.definition.rules.validate(object, { allowPrivileged: true });
        toV1Autoscaler(stored);
      },
    ),
  );
});
