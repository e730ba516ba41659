import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import type { PodSource } from '../../src/kubelet/model/pod-update.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import type { CgroupLimits } from '../../src/kubelet/ports/cgroups.ts';
import type { DeathPoint } from './killable.ts';
import { SimulatedNode } from './world.ts';

const MiB = 2 ** 20;
const WRITES =
  /^(runSandbox|createContainer|startContainer|stopContainer|removeContainer|updateContainerResources|updateSandboxResources|update|write.*|rename)$/;
const POD_GROUP = '/kubepods/burstable/poduid-1';

interface Size {
  readonly cpu: string;
  readonly memory: string;
  readonly whole: string;
}

const small: Size = { cpu: '100m', memory: '64Mi', whole: '256Mi' };
const large: Size = { cpu: '300m', memory: '128Mi', whole: '512Mi' };

/**
 * A sidecar and a container that are resized in place, a container that restarts for memory changes, and one that only
 * the pod's limit bounds.
 */
function pod({ cpu, memory, whole }: Size): Pod {
  const container = (name: string, resources: object, more: object = {}) => ({
    name,
    image: 'docker.io/library/app:1',
    command: ['simulate'],
    args: ['{}'],
    resources,
    ...more,
  });
  const limits = { requests: { cpu: '10m', memory: '16Mi' }, limits: { cpu, memory } };
  return buildPod({
    'metadata.uid': 'uid-1',
    'spec.resources': { requests: { cpu: '100m', memory: '128Mi' }, limits: { memory: whole } },
    'spec.initContainers': [container('side', limits, { restartPolicy: 'Always' })],
    'spec.containers': [
      container('main', limits),
      container('again', limits, { resizePolicy: [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }] }),
      container('held', {}),
    ],
  });
}

/** A node whose pods come from the API server; they stay when the agent changes. */
class Node extends SimulatedNode {
  pods: readonly Pod[] = [];

  constructor(seed: number) {
    super({ seed });
    this.onAgent = (_agent, kubelet) =>
      void Promise.resolve().then(() => kubelet.podConfig.setSource('api', this.pods));
  }

  want(...pods: Pod[]): void {
    this.pods = pods;
    this.kubelet?.podConfig.setSource('api' satisfies PodSource, pods);
  }

  /** `main#0 64Mi` for the newest run of each container. */
  sizes(): string[] {
    return this.runtime
      .containers()
      .filter(({ state }) => state === 'running')
      .map(
        ({ config, resources }) =>
          `${config.name}#${config.attempt} ${(resources.memoryLimitBytes ?? 0) / MiB}Mi ${resources.cpuQuota}`,
      )
      .sort();
  }

  podLimits(): CgroupLimits | undefined {
    return this.cgroups.limitsOf(POD_GROUP);
  }

  conditions(): string[] {
    return (this.kubelet?.records.statuses.get('uid-1' as never)?.conditions ?? [])
      .filter(({ type }) => type.startsWith('PodResize'))
      .map(({ type, reason = '' }) => `${type} ${reason}`.trim());
  }

  /** A call that hangs is given up after two minutes; what comes of that is waited for, too. */
  async until(what: string, done: () => boolean): Promise<void> {
    for (let second = 0; second < 150 && !done(); second++) await this.clock.advance(1000);
    assert.ok(done(), `${what}: ${JSON.stringify([this.sizes(), this.podLimits(), this.conditions()])}`);
  }
}

const wanted = (size: Size, attempt: string): string[] => {
  const [memory, quota] = [size.memory, parseInt(size.cpu) * 100];
  return [
    `again#${attempt} ${memory} ${quota}`,
    `held#0 ${size.whole} 0`,
    `main#0 ${memory} ${quota}`,
    `side#0 ${memory} ${quota}`,
  ];
};
const isSized = (node: Node, size: Size, attempt: string): boolean => {
  const limits = node.podLimits();
  return (
    JSON.stringify(node.sizes()) === JSON.stringify(wanted(size, attempt)) &&
    limits?.memoryBytes === parseInt(size.whole) * MiB &&
    node.conditions().length === 0
  );
};

/**
 * Increases and reduces the size; the agent is killed at its `step`th write after that. Returns whether it got that
 * far.
 */
async function resizeWithDeath(step: number, point: DeathPoint): Promise<boolean> {
  const node = new Node(step);
  node.want(pod(small));
  node.start();
  await node.until('creation', () => isSized(node, small, '0'));
  await node.clock.advance(1000);
  const hasDied = node.dieAt({ calls: WRITES, step, point });
  node.want(pod(large));
  await node.until(`growth, killed ${point} write ${step}`, () => isSized(node, large, '1'));
  node.want(pod(small));
  await node.until(`shrinking, killed ${point} write ${step}`, () => isSized(node, small, '2'));
  return hasDied();
}

describe('a pod of an API server', () => {
  it('changes its resources in place, and its phase, class and other containers stay as they are', async () => {
    const node = new Node(1);
    node.want(pod(small));
    node.start();
    await node.until('creation', () => isSized(node, small, '0'));
    node.want(pod(large));
    await node.until('growth', () => isSized(node, large, '1'));
    const status = node.kubelet?.records.statuses.get('uid-1' as never);
    assert.deepEqual(
      [
        status?.phase,
        status?.qosClass,
        status?.resources?.limits?.['memory'],
        status?.containerStatuses?.map(({ name, restartCount }) => `${name} ${restartCount}`),
      ],
      ['Running', 'Burstable', '512Mi', ['again 1', 'held 0', 'main 0']],
    );
  });

  it('is deferred while the node has no room, across a restart of the agent, and grows when there is some', async () => {
    const node = new Node(2);
    const other = (cpu: string, generation: number): Pod =>
      buildPod({
        'metadata.uid': 'uid-1',
        'metadata.generation': generation,
        'spec.containers[0]': {
          name: 'main',
          image: 'docker.io/library/app:1',
          command: ['simulate'],
          args: ['{}'],
          resources: { requests: { cpu } },
        },
      });
    const big = buildPod({
      'metadata.uid': 'big',
      'metadata.name': 'big',
      'spec.containers[0]': {
        name: 'main',
        image: 'docker.io/library/app:1',
        command: ['simulate'],
        args: ['{}'],
        resources: { requests: { cpu: '3' } },
      },
    });
    node.want(other('500m', 1), big);
    node.start();
    await node.until('creation', () => node.sizes().length === 2);
    node.want(other('2', 2), big);
    await node.until('the refusal', () => node.conditions().join() === 'PodResizePending Deferred');
    node.kill();
    node.start();
    await node.clock.advance(10_000);
    assert.deepEqual([node.conditions(), node.podLimits()?.cpuShares], [['PodResizePending Deferred'], 512]);
    node.want(other('2', 2));
    await node.until('the growth', () => node.podLimits()?.cpuShares === 2048 && node.conditions().length === 0);
    assert.deepEqual(
      node.runtime.containers('uid-1').map(({ config }) => config.attempt),
      [0],
    );
  });
});

describe('a pod that is not simply running', () => {
  const one = (memory: string, more: { args?: object; generation?: number } = {}): Pod =>
    buildPod({
      'metadata.uid': 'uid-1',
      'metadata.generation': more.generation ?? 1,
      'spec.terminationGracePeriodSeconds': 2,
      'spec.containers[0]': {
        name: 'main',
        image: 'docker.io/library/app:1',
        command: ['simulate'],
        args: [JSON.stringify(more.args ?? {})],
        resources: { requests: { memory: '16Mi' }, limits: { memory } },
      },
    });
  const sizes = (node: Node): string[] =>
    node.runtime
      .containers('uid-1')
      .map(
        ({ config, state, resources }) => `#${config.attempt} ${state} ${(resources.memoryLimitBytes ?? 0) / MiB}Mi`,
      );

  it('waits no longer for its crash back-off when it gets other resources, and starts with them, in a group that allows them', async () => {
    const node = new Node(3);
    const args = { exitAfterMs: 100, exitCode: 1, faulty: true };
    node.want(one('32Mi', { args }));
    node.start();
    await node.until('two crashes', () =>
      node.runtime.containers('uid-1').some(({ config, state }) => config.attempt === 2 && state === 'exited'),
    );
    node.want(one('64Mi', { args, generation: 2 }));
    await node.clock.advance(2000);
    assert.ok(
      sizes(node).some((size) => size === '#3 exited 64Mi'),
      sizes(node).join(),
    );
    assert.equal(node.podLimits()?.memoryBytes, 64 * MiB);
  });

  it('has a new sandbox made while its resources change: its group allows what they are then', async () => {
    const node = new Node(6);
    node.want(one('32Mi'));
    node.start();
    await node.until('creation', () => sizes(node).join() === '#0 running 32Mi');
    node.runtime.hang('updateContainerResources', { times: 1 });
    node.want(one('64Mi', { generation: 2 }));
    const [sandbox] = node.runtime.sandboxes('uid-1');
    node.runtime.killSandbox(sandbox?.id ?? '', { withContainers: true });
    await node.until(
      'the new one',
      () =>
        sizes(node).some((size) => size === '#1 running 64Mi') &&
        node.podLimits()?.memoryBytes === 64 * MiB &&
        node.conditions().length === 0,
    );
  });

  it('has containers that never started: they and its cgroup match the last allocation', async () => {
    const node = new Node(8);
    const lift = node.runtime.fail('pullImage', { kind: 'Unavailable' });
    const pulled = (memory: string): Pod => {
      const pod = one(memory);
      return {
        ...pod,
        spec: {
          ...pod.spec,
          containers: pod.spec.containers.map((container) => ({ ...container, image: 'docker.io/library/pulled:1' })),
        },
      };
    };
    node.want(pulled('32Mi'));
    node.start();
    await node.until(
      'the sandbox',
      () => node.podLimits()?.memoryBytes === 32 * MiB && node.runtime.sandboxes('uid-1').length === 1,
    );
    await node.clock.advance(5000);
    node.want(pulled('64Mi'));
    await node.clock.advance(5000);
    lift();
    await node.until(
      'the start',
      () =>
        sizes(node).some((size) => size === '#0 running 64Mi') &&
        node.podLimits()?.memoryBytes === 64 * MiB &&
        node.conditions().length === 0,
    );
  });

  it('is held to its old limits by the kernel for a while, and no longer than that', async () => {
    const node = new Node(7);
    const args = { exitAfterMs: 100, exitCode: 1, faulty: true };
    node.want(one('32Mi', { args }));
    node.start();
    await node.until('a crash', () =>
      node.runtime.containers('uid-1').some(({ config, state }) => config.attempt === 1 && state === 'exited'),
    );
    node.cgroups.fail('update', { name: POD_GROUP, kind: 'Unavailable', times: 2 });
    node.want(one('64Mi', { args, generation: 2 }));
    await node.until(
      'the new limit',
      () => node.podLimits()?.memoryBytes === 64 * MiB && node.conditions().length === 0,
    );
  });

  it('comes back under its uid while it is being stopped, with what it asks for then', async () => {
    const node = new Node(4);
    node.want(one('32Mi', { args: { stopMs: 1500 } }));
    node.start();
    await node.until('creation', () => sizes(node).join() === '#0 running 32Mi');
    node.want();
    await node.clock.advance(500);
    node.want(one('64Mi', { args: { stopMs: 1500 } }));
    await node.until(
      'the new one',
      () => sizes(node).some((size) => size.endsWith('running 64Mi')) && node.conditions().length === 0,
    );
  });

  it('is gone before its resize was done, and leaves nothing of it', async () => {
    const node = new Node(5);
    node.want(one('32Mi'));
    node.start();
    await node.until('creation', () => sizes(node).length === 1);
    node.runtime.fail('updateContainerResources', { kind: 'Unavailable' });
    node.want(one('64Mi', { generation: 2 }));
    await node.until('the failure', () => node.conditions().join() === 'PodResizeInProgress Error');
    node.want();
    await node.until('the end', () => sizes(node).length === 0 && node.podLimits() === undefined);
    assert.equal(node.kubelet?.records.allocated.get('uid-1' as never), undefined);
  });
});

describe('kill -9 at every write of a resize', () => {
  for (const point of ['before', 'during', 'after'] as const) {
    it(`${point} the call: the next agent ends it, and no container restarts once more than it must`, async () => {
      let step = 1;
      while (await resizeWithDeath(step, point)) step++;
      assert.ok(step > 20, `only ${step} writes were met`);
    });
  }
});
