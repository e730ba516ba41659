import assert from 'node:assert/strict';
import test from 'node:test';
import type { Scale } from '../../../api/autoscaling/scale.ts';
import type { PodTemplate } from '../../../api/core/pod-template.ts';
import type { ReplicationController } from '../../../api/core/replication-controller.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'main', image: 'nginx:1.27' }] },
};
const controllers = new RulesFixture<ReplicationController>('v1', 'ReplicationController', { spec: { template } });
const templates = new RulesFixture<PodTemplate>('v1', 'PodTemplate', { template });

test('a replication controller selects by the labels of its template, and gets them', () => {
  const { metadata, spec, status } = controllers.created();
  assert.deepEqual(
    [metadata.labels, spec.selector, spec.replicas, spec.template?.spec.restartPolicy, status],
    [{ app: 'web' }, { app: 'web' }, 1, 'Always', { replicas: 0 }],
  );
});

test('an invalid ReplicationController gets upstream’s error messages', () => {
  const cases: readonly [Record<string, unknown>, string[]][] = [
    [{}, []],
    [{ 'spec.replicas': -1 }, ['spec.replicas: Invalid value: -1: must be greater than or equal to 0']],
    [{ 'spec.template': undefined }, ['spec.selector: Required value', 'spec.template: Required value']],
    [
      { 'spec.selector': { app: 'other' } },
      ['spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'],
    ],
    [
      { 'spec.template.spec.restartPolicy': 'Never' },
      ['spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'],
    ],
  ];
  for (const [changes, expected] of cases)
    assert.deepEqual(controllers.refusals(changes), expected, JSON.stringify(changes));
  assert.deepEqual(controllers.statusRefusals({ replicas: 1, readyReplicas: 2 }), [
    'status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas',
  ]);
});

test('its scale selects by its labels, and the table shows its counts', () => {
  const object = controllers.created({ 'spec.replicas': 3 });
  const scale = controllers.definition.views?.[0]?.read?.(object) as Scale;
  assert.deepEqual([scale.spec.replicas, scale.status?.selector], [3, 'app=web']);
  assert.deepEqual(controllers.cells({ 'spec.replicas': 3, 'spec.selector': { app: 'web' } })['Selector'], 'app=web');
});

test('a pod template is checked as a pod would be', () => {
  assert.deepEqual(templates.refusals(), []);
  assert.deepEqual(templates.refusals({ 'template.spec.containers[0].image': '' }), [
    'template.spec.containers[0].image: Required value',
  ]);
  assert.equal(templates.cells()['Pod Labels'], 'app=web');
});
