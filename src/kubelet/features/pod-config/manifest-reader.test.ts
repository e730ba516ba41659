import assert from 'node:assert/strict';
import { test } from 'node:test';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';
import type { ManifestContent } from './manifest-reader.ts';
import { formatProblem, readManifest } from './manifest-reader.ts';

const read = (spec: string, standalone = true): ManifestContent =>
  readManifest(
    `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: x}]\n${spec}`,
    { kind: 'file', path: '/m/web.yaml' },
    { nodeName: 'n', standalone, validate: (pod) => validatePod(pod, permissivePolicy) },
  );

test('a doubtful value is a warning with its line, and the pod is accepted', () => {
  const { pods, errors, warnings } = read(
    '  terminationGracePeriodSeconds: -1\n  imagePullSecrets:\n  - name: a\n  - name: a\n',
  );
  assert.deepEqual([pods.length, errors], [1, []]);
  assert.deepEqual(
    warnings.map(({ severity, ...problem }) => [severity, formatProblem(problem)]),
    [
      ['warning', '/m/web.yaml:9:5: spec.imagePullSecrets[1].name: pod default/web: duplicate name "a"'],
      [
        'warning',
        '/m/web.yaml:6:3: spec.terminationGracePeriodSeconds: pod default/web: must be >= 0; negative values are invalid and will be treated as 1',
      ],
    ],
  );
});

test('a rejected pod has no warnings', () => {
  const { pods, errors, warnings } = read('  restartPolicy: Sometimes\n  terminationGracePeriodSeconds: -1\n');
  assert.deepEqual([pods, errors.length, warnings], [[], 1, []]);
});

test('an overhead without a runtime class is rejected on a standalone node; otherwise the API server decides', () => {
  assert.deepEqual(read('  overhead: {cpu: 1}\n').errors.map(formatProblem), [
    '/m/web.yaml:6:3: spec.overhead: pod default/web: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  ]);
  assert.deepEqual(
    [read('  overhead: {cpu: 1}\n  runtimeClassName: r\n').errors, read('  overhead: {cpu: 1}\n', false).errors],
    [[], []],
  );
});
