import assert from 'node:assert/strict';
import { test } from 'node:test';
import { validatePod } from '../../../api/validation/pod/validate-pod.ts';
import { formatProblem, readManifest, type ManifestContent } from './manifest-reader.ts';

const read = (spec: string, standalone = true): ManifestContent =>
  readManifest(
    `apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec:\n  containers: [{name: main, image: x}]\n${spec}`,
    { kind: 'file', path: '/m/web.yaml' },
    { nodeName: 'n', standalone, validate: validatePod },
  );

test('what is hardly meant is warned of with its line, and the pod is taken', () => {
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

test('a pod that is refused is not warned of as well', () => {
  const { pods, errors, warnings } = read('  restartPolicy: Sometimes\n  terminationGracePeriodSeconds: -1\n');
  assert.deepEqual([pods, errors.length, warnings], [[], 1, []]);
});

test('an overhead that no runtime class gave is refused as by the API server, where there is none; else it is the business of that', () => {
  assert.deepEqual(read('  overhead: {cpu: 1}\n').errors.map(formatProblem), [
    '/m/web.yaml:6:3: spec.overhead: pod default/web: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
  ]);
  assert.deepEqual(
    [read('  overhead: {cpu: 1}\n  runtimeClassName: r\n').errors, read('  overhead: {cpu: 1}\n', false).errors],
    [[], []],
  );
});
