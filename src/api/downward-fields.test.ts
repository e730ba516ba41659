import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultLimitsOf, podFieldValue, podMetadataValue, resourceFieldValue } from './downward-fields.ts';
import { buildPod } from './testing/pod-builder.ts';

const pod = buildPod({
  'metadata.name': 'web',
  'metadata.labels': { b: '2', a: 'one "two"' },
  'metadata.annotations': { 'x.io/y': 'l1\nl2' },
  'spec.nodeName': 'n',
  'spec.serviceAccountName': 'sa',
  'spec.containers[0].name': 'main',
  'spec.containers[0].resources': {
    requests: { cpu: '250m', 'hugepages-2Mi': '4Mi' },
    limits: { memory: '1Gi', 'hugepages-2Mi': '4Mi' },
  },
  'spec.initContainers': [{ name: 'init' }],
});
const [main] = pod.spec.containers;
const allocatable = { cpu: '3500m', memory: '8Gi', 'ephemeral-storage': '10Gi', 'hugepages-2Mi': '1Gi' };

test('maps are given sorted, one line each, quoted as Go does it', () => {
  assert.equal(podMetadataValue(pod, 'metadata.labels'), 'a="one \\"two\\""\nb="2"');
  assert.equal(podMetadataValue(pod, 'metadata.annotations'), 'x.io/y="l1\\nl2"');
  assert.deepEqual(
    ["metadata.labels['b']", "metadata.labels['none']", "metadata.annotations['x.io/y']"].map((path) =>
      podMetadataValue(pod, path),
    ),
    ['2', '', 'l1\nl2'],
  );
});

test('a variable may show more than a file', () => {
  const addresses = { podIps: ['10.0.0.1', 'fd00::1'], hostIps: ['192.168.0.1', 'fd01::1'] };
  const paths = [
    'spec.nodeName',
    'spec.serviceAccountName',
    'status.hostIP',
    'status.hostIPs',
    'status.podIP',
    'status.podIPs',
    'metadata.name',
  ];
  assert.deepEqual(
    paths.map((fieldPath) => podFieldValue({ fieldPath }, pod, addresses)),
    ['n', 'sa', '192.168.0.1', '192.168.0.1,fd01::1', '10.0.0.1', '10.0.0.1,fd00::1', 'web'],
  );
  assert.throws(() => podMetadataValue(pod, 'spec.nodeName'), {
    kind: 'Invalid',
    message: 'unsupported fieldPath: spec.nodeName',
  });
  assert.throws(() => podMetadataValue(pod, "spec.nodeSelector['a']"), {
    message: 'fieldPath "spec.nodeSelector[\'a\']" does not support subscript',
  });
  assert.throws(
    () => podMetadataValue(pod, "metadata.labels['a b']"),
    /invalid key subscript in metadata\.labels\['a b'\]: name part must consist of/,
  );
});

test('amounts are divided and rounded up', () => {
  const value = (resource: string, divisor?: string): string =>
    resourceFieldValue({ resource, divisor }, pod, {
      container: main,
      defaultLimits: allocatable,
      defaultsInit: false,
    });
  assert.deepEqual(
    [value('requests.cpu'), value('requests.cpu', '1m'), value('limits.memory', '1Mi'), value('limits.memory', '0')],
    ['1', '250', '1024', String(2 ** 30)],
  );
  assert.deepEqual(
    [
      value('limits.cpu'),
      value('limits.cpu', '1m'),
      value('limits.ephemeral-storage', '1Gi'),
      value('requests.memory'),
    ],
    ['4', '3500', '10', String(2 ** 30)],
  );
  assert.deepEqual(
    [value('limits.hugepages-2Mi', '1Mi'), value('requests.hugepages-2Mi'), value('limits.hugepages-1Gi')],
    ['4', String(2 ** 22), '0'],
  );
  assert.throws(() => value('limits.example.com/gpu'), {
    message: 'unsupported container resource : limits.example.com/gpu',
  });
});

test('a container can be named; only files give an init container the limits of the node', () => {
  const value = (containerName: string, defaultsInit: boolean): string =>
    resourceFieldValue({ containerName, resource: 'limits.cpu' }, pod, {
      container: main,
      defaultLimits: allocatable,
      defaultsInit,
    });
  assert.deepEqual([value('main', false), value('init', true), value('init', false)], ['4', '4', '0']);
  assert.throws(() => value('none', true), { message: 'container none not found' });
});

test('the default limit of CPU and memory is the pod-level limit before the allocatable of the node', () => {
  const limited = { ...pod, spec: { ...pod.spec, resources: { limits: { cpu: '1', memory: '0' } } } };
  assert.deepEqual(defaultLimitsOf(limited, allocatable), { ...allocatable, cpu: '1' });
  assert.deepEqual(defaultLimitsOf(pod, { memory: '1Gi' }), { memory: '1Gi' });
});
