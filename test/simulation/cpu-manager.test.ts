import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../src/api/core/pod.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import { parseCpuSet } from '../../src/kubelet/model/cpu-set.ts';
import type { DeathPoint } from './killable.ts';
import { paths, SimulatedNode } from './world.ts';

const WRITES =
  /^(runSandbox|createContainer|startContainer|stopContainer|removeContainer|updateContainerResources|write.*|rename)$/;
const STATE = `${paths.root}/cpu_manager_state`;

/** A Guaranteed pod with whole CPUs, or a pod in the shared pool. */
function pod(name: string, cpu: string | undefined): Pod {
  const amounts = { cpu, memory: '64Mi' };
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'spec.terminationGracePeriodSeconds': 1,
    'spec.containers[0]': {
      name: 'main',
      image: 'docker.io/library/app:1',
      command: ['simulate'],
      args: ['{}'],
      ...(cpu === undefined ? {} : { resources: { requests: amounts, limits: amounts } }),
    },
  });
}

/** A node with four CPUs, of which CPU 0 is reserved. */
class Node extends SimulatedNode {
  pods: readonly Pod[] = [];

  constructor(seed: number, config: Record<string, unknown> = {}) {
    super({ seed, config: { cpuManagerPolicy: 'static', kubeReserved: { cpu: '500m' }, ...config } });
    this.onAgent = (_agent, kubelet) =>
      void Promise.resolve().then(() => kubelet.podConfig.setSource('api', this.pods));
  }

  want(...pods: Pod[]): void {
    this.pods = pods;
    this.kubelet?.podConfig.setSource('api', pods);
  }

  /** `a#0 1` for each running container: its pod, its attempt, its CPUs. */
  cpus(): string[] {
    return this.runtime
      .containers()
      .filter(({ state }) => state === 'running')
      .map(({ config, resources, sandbox }) => `${sandbox.config.name}#${config.attempt} ${resources.cpusetCpus}`)
      .sort();
  }

  /** Whether these pods run, none was restarted, and none uses a CPU of another. */
  isDivided(exclusive: readonly string[], shared: readonly string[]): boolean {
    const cpus = this.cpus().map((text) => text.split(' '));
    const names = [...exclusive, ...shared].map((name) => `${name}#0`).sort();
    if (cpus.map(([name]) => name).join() !== names.join()) return false;
    const setOf = (name: string): number[] => parseCpuSet(cpus.find(([one]) => one === `${name}#0`)?.[1] ?? '') ?? [];
    const own = exclusive.map(setOf);
    const pool = [0, 1, 2, 3].filter((cpu) => !own.flat().includes(cpu));
    return (
      own.every(({ length }) => length === 1) &&
      new Set(own.flat()).size === exclusive.length &&
      shared.every((name) => setOf(name).join() === pool.join())
    );
  }

  async until(what: string, done: () => boolean): Promise<void> {
    for (let second = 0; second < 200 && !done(); second++) await this.clock.advance(1000);
    assert.ok(done(), `${what}: ${this.cpus().join(', ')}`);
  }
}

/** A pod with two CPUs: `own` has one exclusively, `other` uses the rest. */
function pooledPod(name: string): Pod {
  const [whole, part] = [
    { cpu: '2', memory: '64Mi' },
    { cpu: '1', memory: '32Mi' },
  ];
  const container = { image: 'docker.io/library/app:1', command: ['simulate'], args: ['{}'] };
  return buildPod({
    'metadata.name': name,
    'metadata.uid': name,
    'spec.terminationGracePeriodSeconds': 1,
    'spec.resources': { requests: whole, limits: whole },
    'spec.containers': [
      { name: 'own', ...container, resources: { requests: part, limits: part } },
      { name: 'other', ...container },
    ],
  });
}

const podLevel = {
  featureGates: { PodLevelResourceManagers: true },
  topologyManagerPolicy: 'best-effort',
  topologyManagerScope: 'pod',
};

/**
 * Creates and deletes a pod with a pod-level pool next to one without; the agent is killed at its `step`th write.
 * Returns whether it got that far.
 */
async function poolWithDeath(step: number, point: DeathPoint): Promise<boolean> {
  const node = new Node(step, podLevel);
  node.want(pod('shared', undefined));
  node.start();
  await node.until('the first pod', () => node.cpus().join() === 'shared#0 0-3');
  const hasDied = node.dieAt({ calls: WRITES, step, point });
  node.want(pooledPod('pool'), pod('shared', undefined));
  await node.until(
    `the pool, killed ${point} write ${step}`,
    () => node.cpus().join() === 'pool#0 1,pool#0 2,shared#0 0,3',
  );
  node.want(pod('shared', undefined));
  await node.until(`the end, killed ${point} write ${step}`, () => node.cpus().join() === 'shared#0 0-3');
  return hasDied();
}

/** Creates and deletes pods; the agent is killed at its `step`th write. Returns whether it got that far. */
async function liveWithDeath(step: number, point: DeathPoint): Promise<boolean> {
  const node = new Node(step);
  node.want(pod('a', '1'), pod('shared', undefined));
  node.start();
  await node.until('the first pods', () => node.isDivided(['a'], ['shared']));
  const hasDied = node.dieAt({ calls: WRITES, step, point });
  node.want(pod('a', '1'), pod('b', '1'), pod('shared', undefined));
  await node.until(`another pod, killed ${point} write ${step}`, () => node.isDivided(['a', 'b'], ['shared']));
  const before = node.cpus().find((text) => text.startsWith('b#0'));
  node.want(pod('b', '1'), pod('shared', undefined));
  await node.until(`a pod less, killed ${point} write ${step}`, () => node.isDivided(['b'], ['shared']));
  assert.equal(node.cpus()[0], before, 'the other pod keeps its CPU');
  return hasDied();
}

describe('exclusive CPUs', () => {
  for (const point of ['before', 'during', 'after'] as const)
    it(`have one owner and are not lost if the agent is killed ${point} any write`, async () => {
      let step = 1;
      while (await liveWithDeath(step, point)) step += 1;
      assert.ok(step > 8, `only ${step} writes`);
    });

  for (const point of ['before', 'during', 'after'] as const)
    it(`of a pod as a whole have one owner and are not lost if the agent is killed ${point} any write`, async () => {
      let step = 1;
      while (await poolWithDeath(step, point)) step += 1;
      assert.ok(step > 8, `only ${step} writes`);
    });

  it('are given again to running containers when the state file is lost or damaged', async () => {
    const node = new Node(1);
    node.want(pod('a', '1'), pod('b', '1'), pod('shared', undefined));
    node.start();
    await node.until('the pods', () => node.isDivided(['a', 'b'], ['shared']));
    node.kill();
    await node.files.writeFileAtomic(STATE, '{"policyName":"static","defaultCpuSet":"0', 0o600);
    node.start();
    await node.clock.advance(5000);
    await node.until('the restart', () => node.isDivided(['a', 'b'], ['shared']));
    assert.match(await node.files.readText(`${STATE}.corrupt`), /^\{"policyName"/);
  });

  it('that are not left lead to a rejection, and free ones to the admission of the next pod', async () => {
    const node = new Node(2);
    node.want(pod('a', '3'));
    node.start();
    await node.until('the first pod', () => node.cpus().join() === 'a#0 1-3');
    node.want(pod('a', '3'), pod('b', '1'));
    await node.clock.advance(5000);
    assert.equal(node.kubelet?.records.statuses.get('b' as never)?.reason, 'UnexpectedAdmissionError');
    node.want();
    await node.until('the end', () => node.cpus().length === 0);
    node.want(pod('c', '3'));
    await node.until('the next pod', () => node.cpus().join() === 'c#0 1-3');
  });
});
