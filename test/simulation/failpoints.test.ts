import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ManifestFolder, objectsManifest } from './manifests.ts';
import type { DeathPoint } from './killable.ts';
import { InvariantChecker } from './invariant-checker.ts';
import { ConvergenceCheck } from './convergence-check.ts';
import { SimulatedNode } from './world.ts';

const WRITES =
  /^(runSandbox|createContainer|startContainer|stopContainer|removeContainer|stopSandbox|removeSandbox|write.*|appendFile|makeDirectory|remove.*|rename|symlink|ensure|mountTmpfs|unmount)$/;

const pod = JSON.stringify({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: {
    terminationGracePeriodSeconds: 2,
    initContainers: [
      {
        name: 'init',
        image: 'docker.io/library/tool:1',
        command: ['simulate'],
        args: [JSON.stringify({ exitAfterMs: 50, task: true })],
      },
    ],
    containers: [
      {
        name: 'main',
        image: 'docker.io/library/app:1',
        command: ['simulate'],
        args: ['{}'],
        volumeMounts: [
          { name: 'config', mountPath: '/c' },
          { name: 'tmp', mountPath: '/t' },
        ],
      },
    ],
    volumes: [
      { name: 'config', configMap: { name: 'settings' } },
      { name: 'tmp', emptyDir: { medium: 'Memory' } },
    ],
  },
});

/**
 * Creates a pod, kills its container and deletes the pod; the agent is killed at its `step`th write. Returns whether it
 * got that far.
 */
async function lifeWithDeath(step: number, point: DeathPoint): Promise<boolean> {
  const node = new SimulatedNode({ seed: step, runtime: { abandonedTakesEffect: step % 2 } });
  const manifests = new ManifestFolder(node);
  const invariants = new InvariantChecker(node, manifests);
  const convergence = new ConvergenceCheck(node, manifests, invariants);
  node.onAgent = (agent, kubelet) => invariants.watch(agent, kubelet);
  const hasDied = node.dieAt({ calls: WRITES, step, point });
  const settle = async (what: string): Promise<void> => {
    for (let second = 0; second < 60 && convergence.problems().length > 0; second++) await node.clock.advance(1000);
    assert.deepEqual(
      [convergence.problems(), invariants.violations],
      [[], []],
      `${what}: killed ${point} write ${step}`,
    );
  };
  await manifests.write('objects.yaml', objectsManifest(0));
  node.start();
  await manifests.write('web.yaml', pod);
  await settle('creation');
  const main = node.runtime
    .containers()
    .find((container) => container.config.name === 'main' && container.state === 'running');
  node.runtime.killContainer(main?.id ?? '');
  await settle('restart');
  await manifests.remove('web.yaml');
  await settle('deletion');
  return hasDied();
}

describe("kill -9 at every write of a pod's life", () => {
  for (const point of ['before', 'during', 'after'] as const) {
    it(`${point} the call: the next agent ends up with the same pod, and leaves nothing behind`, async () => {
      let step = 1;
      while (await lifeWithDeath(step, point)) step++;
      assert.ok(step > 25, `only ${step} writes were met`);
    });
  }
});
