import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Container } from '../../../../api/core/container.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { NodeFacts, PodPlacement } from './node-facts.ts';
import { containerResources, oomScore } from './resources-config.ts';
import { aContainer, aPod } from '../testing/builders.ts';
import { testNode, testSettings } from '../testing/harness.ts';

const placement: PodPlacement = { cgroupParent: '/kubepods/pod' };
const node: NodeFacts = { ...testNode, memoryCapacityBytes: 1000 * 2 ** 20 };

describe('resources', () => {
  const facts = (more: Partial<NodeFacts> = {}): Parameters<typeof containerResources>[2] => ({
    settings: testSettings,
    node: { ...node, ...more },
    placement,
  });
  test('requests default to limits, unnamed hugepages are 0, and cgroup v2 kills the container as a whole', () => {
    const container = aContainer('app', {
      resources: { limits: { cpu: '500m', memory: '64Mi', 'hugepages-2Mi': '4Mi' } },
    });
    const pod = aPod({ containers: [container] });
    assert.deepEqual(containerResources(pod, container, facts({ hugePageSizes: ['2MB', '1GB'] })), {
      cpuShares: 512,
      memoryLimitBytes: 67_108_864,
      cpuPeriod: 100_000,
      cpuQuota: 50_000,
      oomScoreAdj: 999,
      hugepageLimits: [
        { pageSize: '2MB', limitBytes: 4_194_304 },
        { pageSize: '1GB', limitBytes: 0 },
      ],
    });
    assert.deepEqual(containerResources(pod, container, facts({ cgroupVersion: 2, swapControl: true })).unified, {
      'memory.oom.group': '1',
      'memory.swap.max': '0',
    });
  });

  test('on cgroup v2 the OOM killer takes one process only where the agent is configured so', () => {
    const of = (singleProcessOomKill: boolean | undefined): unknown =>
      containerResources(aPod(), aContainer('app'), {
        ...facts({ cgroupVersion: 2 }),
        settings: { ...testSettings, singleProcessOomKill },
      }).unified?.['memory.oom.group'];
    assert.deepEqual([of(undefined), of(false), of(true)], ['1', '1', undefined]);
  });

  test('with MemoryQoS a container is protected and throttled beside its other control files', () => {
    const container = aContainer('app', { resources: { requests: { memory: '50Mi' }, limits: { memory: '100Mi' } } });
    const memoryQos = { throttlingFactor: 0.9, reservesRequests: true };
    assert.deepEqual(
      containerResources(aPod({ containers: [container] }), container, {
        ...facts({ cgroupVersion: 2, swapControl: true }),
        settings: { ...testSettings, memoryQos },
      }).unified,
      { 'memory.oom.group': '1', 'memory.swap.max': '0', 'memory.low': '52428800', 'memory.high': '99614720' },
    );
  });

  test('with LimitedSwap a burstable container has swap in proportion to its request; no other has any', () => {
    const node2 = {
      cgroupVersion: 2 as const,
      swapControl: true,
      memoryCapacityBytes: 1000 * 2 ** 20,
      swapCapacityBytes: 500 * 2 ** 20,
    };
    const swapOf = (swapBehavior: 'NoSwap' | 'LimitedSwap', resources: Container['resources']): string | undefined => {
      const container = aContainer('app', { resources });
      return containerResources(aPod({ containers: [container] }), container, {
        ...facts(node2),
        settings: { ...testSettings, swapBehavior },
      }).unified?.['memory.swap.max'];
    };
    const request = { requests: { memory: '100Mi' } };
    const alike = { limits: { cpu: '1', memory: '100Mi' }, requests: { cpu: '1', memory: '100Mi' } };
    assert.deepEqual(
      [
        swapOf('LimitedSwap', request),
        swapOf('NoSwap', request),
        swapOf('LimitedSwap', {}),
        swapOf('LimitedSwap', alike),
      ],
      [String(50 * 2 ** 20), '0', '0', '0'],
    );
  });

  test('OOM scores follow class and request, and a sidecar never dies before those it serves', () => {
    const asking = (memory: string): Container => aContainer('app', { resources: { requests: { memory } } });
    const score = (container: Container, pod: Pod): number => oomScore(pod, container, node.memoryCapacityBytes);
    const burstable = aPod({ containers: [asking('250Mi')] });
    const guaranteed = aContainer('app', {
      resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1', memory: '1Gi' } },
    });
    const sidecar = aContainer('side', { restartPolicy: 'Always' });
    assert.deepEqual(
      [
        score(aContainer('app'), aPod()),
        score(guaranteed, aPod({ containers: [guaranteed] })),
        score(asking('250Mi'), burstable),
        score(asking('1000Mi'), burstable),
        score(sidecar, { ...burstable, spec: { ...burstable.spec, initContainers: [sidecar] } }),
      ],
      [1000, -997, 750, 3, 750],
    );
  });
});
