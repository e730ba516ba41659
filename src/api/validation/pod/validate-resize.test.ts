import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Changes } from '../../testing/pod-builder.ts';
import { buildPod } from '../../testing/pod-builder.ts';
import { validateResize } from './validate-resize.ts';

const c0 = 'spec.containers[0].resources';
const init = (resources: object, more: object = {}): Changes => ({
  'spec.initContainers': [{ name: 'init', image: 'x', resources, ...more }],
  [c0]: { requests: { cpu: '1' } },
});
const refused = (before: Changes, after: Changes): string[] =>
  validateResize(buildPod(before), buildPod(after)).map(({ field, message }) => `${field}: ${message}`);

test('CPU and memory may grow, shrink and be added', () => {
  const before = { [c0]: { requests: { cpu: '1' } } };
  for (const resources of [
    { requests: { cpu: '2' } },
    { requests: { cpu: '500m' } },
    { requests: { cpu: '1', memory: '1Gi' } },
    { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } },
  ])
    assert.deepEqual(refused(before, { [c0]: resources }), []);
  assert.deepEqual(
    refused(
      { ...before, 'spec.resources': { requests: { cpu: '2' } } },
      { ...before, 'spec.resources': { requests: { cpu: '3' }, limits: { memory: '1Gi' } } },
    ),
    [],
  );
});

test('rejects an invalid resize with the error texts of the API server', () => {
  const rows: [before: Changes, after: Changes, ...errors: string[]][] = [
    [
      { [c0]: { limits: { cpu: '1', memory: '1Gi' } } },
      { [c0]: { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } } },
      'spec: Invalid value: "Burstable": Pod QOS Class may not change as a result of resizing',
    ],
    [
      { [c0]: { requests: { cpu: '1', memory: '1Gi' } } },
      { [c0]: { requests: { cpu: '1' } } },
      `${c0}.requests: Forbidden: resource requests cannot be removed`,
    ],
    [
      { [c0]: { requests: { cpu: '1' }, limits: { cpu: '2' } } },
      { [c0]: { requests: { cpu: '1' } } },
      `${c0}.limits: Forbidden: resource limits cannot be removed`,
    ],
    [
      { [c0]: { requests: { cpu: '1', 'ephemeral-storage': '1Gi' } } },
      { [c0]: { requests: { cpu: '1', 'ephemeral-storage': '2Gi' } } },
      'spec: Forbidden: only cpu and memory resources are mutable',
    ],
    [
      init({ requests: { cpu: '1', 'ephemeral-storage': '1Gi' } }),
      init({ requests: { cpu: '1', 'ephemeral-storage': '2Gi' } }),
      'spec.initContainers[0]: Forbidden: only cpu and memory resources for init or sidecar containers are mutable',
    ],
    [
      init({ requests: { cpu: '1' } }),
      init({ requests: { cpu: '2' } }, { resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }] }),
      'spec.initContainers[0]: Forbidden: non-sidecar init containers with a resize policy of RestartContainer cannot be resized',
    ],
    [
      { [c0]: { requests: { cpu: '1' } }, 'spec.resources': { requests: { cpu: '1' } } },
      { [c0]: { requests: { cpu: '1' } } },
      'spec.resources: Forbidden: pod-level resources cannot be removed',
    ],
    [
      { 'spec.resources': { requests: { cpu: '1', memory: '1Gi' } } },
      { 'spec.resources': { requests: { cpu: '1' } } },
      'spec.resources.requests: Forbidden: pod-level resource requests cannot be removed',
    ],
    [
      { 'spec.resources': { requests: { cpu: '1' }, limits: { cpu: '2' } } },
      { 'spec.resources': { requests: { cpu: '1' } } },
      'spec.resources.limits: Forbidden: pod-level resource limits cannot be removed',
    ],
    [
      { 'spec.resources': { requests: { cpu: '1' }, limits: { 'hugepages-2Mi': '2Mi' } } },
      { 'spec.resources': { requests: { cpu: '1' }, limits: { 'hugepages-2Mi': '4Mi' } } },
      'spec: Forbidden: only cpu and memory resources are mutable at pod-level',
    ],
  ];
  for (const [before, after, ...errors] of rows) assert.deepEqual(refused(before, after), errors);
});
