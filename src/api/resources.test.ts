import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computePodQos } from './qos.ts';
import { podLimits, podRequests } from './resources.ts';
import { matchesFields, matchesLabelSelector, parseFieldSelector, parseLabelSelector, podFields } from './selectors.ts';
import { buildPod } from './testing/pod-builder.ts';

const c0 = 'spec.containers[0].resources';

test('a pod needs the larger of its steady state and its hungriest init step', () => {
  const pod = buildPod({
    [c0]: { requests: { cpu: '100m', memory: '64Mi' } },
    'spec.initContainers': [
      { name: 'side', image: 'x:1', restartPolicy: 'Always', resources: { requests: { cpu: '50m' } } },
      { name: 'once', image: 'x:1', resources: { requests: { cpu: '200m' } } },
    ],
    'spec.overhead': { cpu: '10m' },
  });
  assert.deepEqual(podRequests(pod), { cpu: '260m', memory: '64Mi' });
  assert.deepEqual(podRequests(pod, { excludeOverhead: true }), { cpu: '250m', memory: '64Mi' });
  assert.deepEqual(podLimits(pod), {});
});

test('pod-level resources replace the sum of the containers', () => {
  const pod = buildPod({
    [c0]: { requests: { cpu: '100m' } },
    'spec.resources': { requests: { cpu: '1' }, limits: { cpu: '2' } },
  });
  assert.deepEqual(
    [podRequests(pod), podLimits(pod), podRequests(pod, { skipPodLevel: true })],
    [{ cpu: '1' }, { cpu: '2' }, { cpu: '100m' }],
  );
});

test('while a resize is under way the larger of asked, allocated and actual counts', () => {
  const pod = buildPod({ [c0]: { requests: { cpu: '100m' } } });
  pod.status = {
    containerStatuses: [
      {
        name: 'main',
        ready: true,
        restartCount: 0,
        image: '',
        imageID: '',
        resources: { requests: { cpu: '300m' } },
        allocatedResources: { cpu: '200m' },
      },
    ],
  };
  assert.deepEqual(podRequests(pod, { useStatus: true }), { cpu: '300m' });
  assert.deepEqual(podRequests(pod), { cpu: '100m' });
});

test('while a resize is infeasible only what is there counts; an init container that is done counts as asked', () => {
  const pod = buildPod({
    [c0]: { requests: { cpu: '2' } },
    'spec.initContainers': [{ name: 'init', image: 'x', resources: { requests: { cpu: '50m' } } }],
  });
  const has = (name: string, cpu: string) => ({
    name,
    ready: true,
    restartCount: 0,
    image: '',
    imageID: '',
    resources: { requests: { cpu } },
    allocatedResources: { cpu },
  });
  pod.status = {
    containerStatuses: [has('main', '300m')],
    initContainerStatuses: [has('init', '4')],
    conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
  };
  assert.deepEqual(podRequests(pod, { useStatus: true }), { cpu: '300m' });
});

test('the QoS class follows requests and limits of all containers, or of the pod', () => {
  const both = { cpu: '1', memory: '1Gi' };
  assert.equal(computePodQos(buildPod()), 'BestEffort');
  assert.equal(computePodQos(buildPod({ [c0]: { limits: { ...both, 'x.io/y': '1' } } })), 'Guaranteed');
  assert.equal(computePodQos(buildPod({ [c0]: { limits: both, requests: { cpu: '500m' } } })), 'Burstable');
  assert.equal(computePodQos(buildPod({ [c0]: { limits: { cpu: '1' } } })), 'Burstable');
  assert.equal(computePodQos(buildPod({ [c0]: { requests: { cpu: '0' } } })), 'BestEffort');
  assert.equal(
    computePodQos(buildPod({ [c0]: { limits: both }, 'spec.initContainers': [{ name: 'i', image: 'x:1' }] })),
    'Burstable',
  );
  assert.equal(computePodQos(buildPod({ 'spec.resources': { limits: both } })), 'Guaranteed');
  assert.equal(computePodQos(buildPod({ 'spec.resources': { requests: both } })), 'Burstable');
});

test('label selectors match as the API server matches them', () => {
  const labels = { app: 'web', tier: '2' };
  assert.equal(matchesLabelSelector(undefined, labels), false);
  assert.equal(matchesLabelSelector({}, labels), true);
  assert.equal(
    matchesLabelSelector(
      {
        matchLabels: { app: 'web' },
        matchExpressions: [
          { key: 'x', operator: 'DoesNotExist' },
          { key: 'x', operator: 'NotIn', values: ['1'] },
        ],
      },
      labels,
    ),
    true,
  );
  assert.equal(
    matchesLabelSelector({ matchExpressions: [{ key: 'tier', operator: 'In', values: ['1'] }] }, labels),
    false,
  );
  assert.deepEqual(parseLabelSelector('a=b,c!=d,e in (x, y),!f,g'), [
    { key: 'a', operator: 'In', values: ['b'] },
    { key: 'c', operator: 'NotIn', values: ['d'] },
    { key: 'e', operator: 'In', values: ['x', 'y'] },
    { key: 'f', operator: 'DoesNotExist', values: [] },
    { key: 'g', operator: 'Exists', values: [] },
  ]);
  assert.equal(typeof parseLabelSelector('a b'), 'string');
});

test('field selectors compare fields of the pod', () => {
  const fields = podFields(buildPod({ 'spec.nodeName': 'n1' }));
  const parsed = parseFieldSelector('spec.nodeName=n1,status.phase!=Running');
  assert.ok(typeof parsed !== 'string');
  assert.equal(matchesFields(parsed, fields), true);
  assert.equal(typeof parseFieldSelector('spec.nodeName'), 'string');
});
