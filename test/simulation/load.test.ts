import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../src/kubelet/model/ids.ts';
import { ManifestFolder, objectsManifest } from './manifests.ts';
import { InvariantChecker } from './invariant-checker.ts';
import { ConvergenceCheck } from './convergence-check.ts';
import { SimulatedNode } from './world.ts';

function setUp() {
  const node = new SimulatedNode({ seed: 1 });
  const manifests = new ManifestFolder(node);
  const invariants = new InvariantChecker(node, manifests);
  const convergence = new ConvergenceCheck(node, manifests, invariants);
  node.onAgent = (agent, kubelet) => invariants.watch(agent, kubelet);
  const settle = async (limitMs: number): Promise<void> => {
    const endMs = node.clock.monotonicMs() + limitMs;
    while (convergence.problems().length > 0 && node.clock.monotonicMs() < endMs) await node.clock.advance(500);
    assert.deepEqual([convergence.problems(), invariants.violations], [[], []]);
  };
  const pod = (name: string, behaviour: object = {}, more: object = {}): string =>
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: {
        terminationGracePeriodSeconds: 2,
        containers: [
          {
            name: 'main',
            image: 'docker.io/library/app:1',
            command: ['simulate'],
            args: [JSON.stringify(behaviour)],
            ...more,
          },
        ],
      },
    });
  return { node, manifests, invariants, settle, pod };
}

describe('many pods and bad company', () => {
  it('F47: 110 pods appear at once, survive a kill -9 without a write, and go at once', async () => {
    const { node, manifests, invariants, settle, pod } = setUp();
    await manifests.write('objects.yaml', objectsManifest(0));
    node.start();
    for (let index = 0; index < 110; index++) await manifests.write(`p${index}.yaml`, pod(`p${index}`));
    await settle(30_000);
    const before = invariants.effective.length;
    node.kill();
    node.start();
    await node.clock.advance(1000);
    await settle(0);
    assert.equal(invariants.effective.length, before);
    for (let index = 0; index < 110; index++) await manifests.remove(`p${index}.yaml`);
    await settle(60_000);
  });

  it('50 pods that became ready one by one just before a kill -9 keep their transition times', async () => {
    const { node, manifests, settle, pod } = setUp();
    node.start();
    const readySince = (): (string | undefined)[] =>
      Array.from({ length: 50 }, (_, index) => {
        const uid = node.kubelet?.store.pods().find(({ metadata }) => metadata.name === `p${index}-sim`)?.metadata.uid;
        const status = node.kubelet?.records.statuses.get(podUid(uid ?? ''));
        return status?.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime;
      });
    for (let index = 0; index < 50; index++) {
      await manifests.write(`p${index}.yaml`, pod(`p${index}`));
      await node.clock.advance(100);
    }
    await settle(1500);
    const before = readySince();
    node.kill();
    node.start();
    await node.clock.advance(5000);
    await settle(0);
    assert.ok(!before.includes(undefined));
    assert.deepEqual(readySince(), before);
  });

  it('F48: 110 pods that crash at once back off, and a healthy one beside them does not notice', async () => {
    const { node, manifests, invariants, settle, pod } = setUp();
    node.start();
    await manifests.write('healthy.yaml', pod('healthy'));
    await settle(10_000);
    for (let index = 0; index < 110; index++)
      await manifests.write(`c${index}.yaml`, pod(`c${index}`, { exitAfterMs: 1, exitCode: 1, faulty: true }));
    await node.clock.advance(600_000);
    const starts = node.runtime.journal.processes.filter((entry) => entry.what === 'started').length;
    assert.ok(starts <= 1 + 110 * 8, `${starts} starts in ten minutes`);
    assert.deepEqual(invariants.violations, []);
  });

  it('F2: kill -9 in a tight loop for minutes ends with one instance of each container', async () => {
    const { node, manifests, invariants, settle, pod } = setUp();
    for (let index = 0; index < 8; index++) await manifests.write(`p${index}.yaml`, pod(`p${index}`, { stopMs: 700 }));
    for (let round = 0; round < 300; round++) {
      node.kill();
      node.start();
      await node.clock.advance(50 + ((round * 137) % 900));
      const running =
        round % 50 === 25 ? node.runtime.containers().find((container) => container.state === 'running') : undefined;
      if (running !== undefined) node.runtime.killContainer(running.id);
    }
    await settle(400_000);
    assert.deepEqual(invariants.violations, []);
  });

  it('F10: a runtime that is away for ten minutes costs no container', async () => {
    const { node, manifests, settle, pod } = setUp();
    node.start();
    for (let index = 0; index < 5; index++) await manifests.write(`p${index}.yaml`, pod(`p${index}`));
    await settle(10_000);
    const before = node.runtime.journal.processes.length;
    node.runtime.restart({ downMs: 600_000 });
    await node.clock.advance(630_000);
    await settle(5000);
    assert.equal(node.runtime.journal.processes.length, before);
  });

  it('F54: a container that ignores SIGTERM is gone after its grace, and holds up no other', async () => {
    const { node, manifests, settle, pod } = setUp();
    node.start();
    await manifests.write('stubborn.yaml', pod('stubborn', { ignoresTerm: true }));
    await manifests.write('other.yaml', pod('other'));
    await settle(10_000);
    await manifests.remove('stubborn.yaml');
    await manifests.remove('other.yaml');
    await settle(5000);
  });
});
