import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { computeFeatureGates } from '../../model/config/feature-gates.ts';
import { createFieldDropper, dropDisabledFields } from './drop-disabled-fields.ts';

type Rule = NonNullable<Container['restartPolicyRules']>[number];
const restart: Rule = { action: 'Restart', exitCodes: { operator: 'In', values: [3] } };
const restartAll: Rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [4] } };
const container: Container = {
  name: 'app',
  image: 'app:1',
  restartPolicy: 'Always',
  restartPolicyRules: [restart, restartAll],
  env: [
    { name: 'A', value: 'a' },
    { name: 'B', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'env', key: 'B' } } },
  ],
};
const sidecar: Container = { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' };
const pod: Pod = {
  metadata: { uid: 'u', name: 'web', namespace: 'shop' },
  spec: {
    containers: [container],
    initContainers: [sidecar],
    hostnameOverride: 'db.example.org',
    restartPolicy: 'Never',
  },
};
const gates = (off: readonly string[]) =>
  computeFeatureGates(Object.fromEntries(off.map((name) => [name, false]))).gates;
const { restartPolicy: _policy, restartPolicyRules: _rules, ...plain } = container;

const cases: readonly (readonly [off: readonly string[], spec: Partial<Pod['spec']>])[] = [
  [
    ['EnvFiles'],
    {
      containers: [
        {
          ...container,
          env: [
            { name: 'A', value: 'a' },
            { name: 'B', value: '' },
          ],
        },
      ],
    },
  ],
  [['HostnameOverride'], { hostnameOverride: undefined }],
  [['RestartAllContainersOnContainerExits'], { containers: [{ ...container, restartPolicyRules: [restart] }] }],
  [['ContainerRestartRules', 'RestartAllContainersOnContainerExits'], { containers: [plain] }],
];
for (const [off, spec] of cases)
  test(`a pod loses what ${off.join(' and ')} is about, and nothing else, while that is off`, () => {
    const expected = { ...pod.spec, ...spec };
    if (expected.hostnameOverride === undefined) delete expected.hostnameOverride;
    assert.deepEqual(dropDisabledFields(pod, gates(off)), { ...pod, spec: expected });
  });

test('a pod without such fields, and every pod with all gates on, stays the same object', () => {
  assert.equal(dropDisabledFields(pod, gates([])), pod);
  const without: Pod = { ...pod, spec: { containers: [plain], initContainers: [sidecar] } };
  const bare: Pod = { ...without, spec: { ...without.spec, containers: [{ name: 'a', image: 'b' }] } };
  assert.equal(dropDisabledFields(bare, gates(cases.flatMap(([off]) => off))), bare);
});

test('the same pod of a source gives the same object again', () => {
  const drop = createFieldDropper(gates(['HostnameOverride']));
  assert.equal(drop([pod])[0], drop([pod])[0]);
  const pods = [pod];
  assert.equal(createFieldDropper(gates([]))(pods), pods);
});
