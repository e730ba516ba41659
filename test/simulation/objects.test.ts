import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeathPoint } from './killable.ts';
import { paths, SimulatedNode } from './world.ts';

const WRITES = /^(runSandbox|createContainer|startContainer|ensure|update|write.*|rename)$/;
const MiB = 2 ** 20;

const runtimeClass = JSON.stringify({
  apiVersion: 'node.k8s.io/v1',
  kind: 'RuntimeClass',
  metadata: { name: 'late' },
  handler: 'second',
  overhead: { podFixed: { memory: '16Mi' } },
});
const service = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'shop' },
  spec: { clusterIP: '10.0.0.9', ports: [{ port: 80 }] },
});
const pod = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', uid: 'uid-1' },
  spec: {
    runtimeClassName: 'late',
    containers: [
      {
        name: 'main',
        image: 'docker.io/library/app:1',
        command: ['simulate'],
        args: ['{}'],
        resources: { limits: { cpu: '100m', memory: '64Mi' } },
      },
    ],
  },
});

/** A node whose manifests the test writes. */
class Node extends SimulatedNode {
  write(name: string, text: string): Promise<void> {
    return this.files.writeFileAtomic(`${paths.manifests}/${name}.yaml`, text, 0o644);
  }

  /** Handler, attempt, and the groups and environment of the container. */
  get seen(): string {
    const running = this.runtime.containers().filter(({ state }) => state === 'running');
    const main = running[0];
    const shop = main?.config.envs.find(({ key }) => key === 'SHOP_SERVICE_HOST')?.value;
    const memory = (this.cgroups.limitsOf('/kubepods/poduid-1')?.memoryBytes ?? 0) / MiB;
    return `${running.length} ${main?.config.image.runtimeHandler} #${main?.config.attempt} ${memory}Mi ${shop}`;
  }

  async until(what: string, wanted: string): Promise<void> {
    for (let second = 0; second < 120 && this.seen !== wanted; second++) await this.clock.advance(1000);
    assert.equal(this.seen, wanted, what);
  }
}

const SETTLED = '1 second #0 80Mi 10.0.0.9';

/**
 * Creates the class after the pod; the agent is killed at its `step`th write after that. Returns whether it got that
 * far.
 */
async function classWithDeath(step: number, point: DeathPoint): Promise<boolean> {
  const node = new Node({ seed: step });
  await node.write('service', service);
  await node.write('web', pod);
  node.start();
  await node.clock.advance(2000);
  assert.equal(node.runtime.containers().length, 0);
  const hasDied = node.dieAt({ calls: WRITES, step, point });
  await node.write('class', runtimeClass);
  await node.until(`killed ${point} write ${step}`, SETTLED);
  return hasDied();
}

describe('objects beside pods', () => {
  it('a pod waits for its runtime class, starts at once when it comes, and neither a restart nor the end of the class changes it', async () => {
    const node = new Node({ seed: 1 });
    await node.write('service', service);
    await node.write('web', pod);
    node.start();
    await node.clock.advance(30_000);
    assert.equal(node.runtime.containers().length, 0);
    await node.write('class', runtimeClass);
    await node.clock.advance(2000);
    assert.equal(node.seen, SETTLED);
    node.kill();
    node.start();
    await node.clock.advance(10_000);
    assert.equal(node.seen, SETTLED);
    await node.files.remove(`${paths.manifests}/class.yaml`);
    await node.clock.advance(10_000);
    assert.equal(node.seen, SETTLED);
    assert.deepEqual(node.agentErrors, []);
  });

  for (const point of ['before', 'after'] as const satisfies readonly DeathPoint[]) {
    it(`a kill ${point} any write leaves a pod whose class came late with one container, its handler and its overhead`, async () => {
      let step = 1;
      while (await classWithDeath(step, point)) step++;
      assert.ok(step > 5, `only ${step} writes`);
    });
  }
});
