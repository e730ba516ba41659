import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allocationOf, effectiveLimits, sameRequirements, withAllocation } from './pod-allocation.ts';
import { buildPod } from './testing/pod-builder.ts';

const pod = buildPod({
  'spec.resources': { requests: { cpu: '2' } },
  'spec.containers[0].resources': { requests: { cpu: '1', memory: '1Gi' } },
  'spec.initContainers': [
    { name: 'side', image: 'x', restartPolicy: 'Always', resources: { limits: { cpu: '500m' } } },
  ],
});

test('a pod as it asks is the very same pod, however the amounts are written', () => {
  assert.equal(withAllocation(pod, allocationOf(pod)), pod);
  const spelt = {
    containers: {
      main: { requests: { cpu: '1000m', memory: '1024Mi' } },
      side: { limits: { cpu: '0.5' }, requests: { cpu: '0.5' } },
    },
    pod: { requests: { cpu: '2000m' } },
  };
  assert.equal(withAllocation(pod, spelt), pod);
});

test('other grants replace the resources of that container, and those of the pod; containers without a grant keep theirs', () => {
  const allocated = withAllocation(pod, {
    containers: { side: { limits: { cpu: '100m' } } },
    pod: { requests: { cpu: '1' } },
  });
  assert.deepEqual(
    [allocated.spec.initContainers?.[0]?.resources, allocated.spec.containers[0]?.resources, allocated.spec.resources],
    [{ limits: { cpu: '100m' } }, { requests: { cpu: '1', memory: '1Gi' } }, { requests: { cpu: '1' } }],
  );
  assert.deepEqual(
    [pod.spec.initContainers?.[0]?.resources?.limits, 'resources' in withAllocation(pod, { containers: {} }).spec],
    [{ cpu: '500m' }, false],
  );
});

test('resources are the same when every amount is, and no name is missing', () => {
  assert.deepEqual(
    [
      sameRequirements(undefined, {}),
      sameRequirements({ requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }),
      sameRequirements({ requests: { cpu: '1' } }, { limits: { cpu: '1' } }),
      sameRequirements({ requests: { cpu: '1' } }, { requests: { cpu: '1', memory: '0' } }),
    ],
    [true, true, false, false],
  );
});

test("a container without its own limit of CPU or memory has the pod's; of nothing else", () => {
  const limits = { cpu: '2', memory: '2Gi', 'hugepages-2Mi': '4Mi' };
  assert.deepEqual(effectiveLimits({ limits }, { resources: { limits: { cpu: '1' } } }), { cpu: '1', memory: '2Gi' });
  assert.deepEqual(
    [effectiveLimits({ limits }, {}), effectiveLimits(undefined, { resources: { limits: { cpu: '1' } } })],
    [{ cpu: '2', memory: '2Gi' }, { cpu: '1' }],
  );
});
