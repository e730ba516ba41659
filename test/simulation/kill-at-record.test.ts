import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ClientView } from './client-view.ts';
import { IMAGES, paths, SimulatedNode } from './world.ts';

const record = `${paths.state}/statuses.jsonl`;
const manifest = (behaviour: object): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', uid: 'a' },
    spec: {
      terminationGracePeriodSeconds: 1,
      restartPolicy: 'OnFailure',
      containers: [{ name: 'main', image: IMAGES[0], command: ['simulate'], args: [JSON.stringify(behaviour)] }],
    },
  });

/** A node with one pod that clients see as Pending. From now on, the disk does not let the agent record it. */
async function begin(behaviour: object) {
  const node = new SimulatedNode({ seed: 1 });
  const phases: string[] = [];
  const view = new ClientView(node, (_pod, before, phase) => phases.push(`${before} -> ${phase}`));
  node.onAgent = (agent, kubelet) => view.watch(agent, kubelet);
  node.files.seed({ [`${paths.manifests}/a.yaml`]: manifest(behaviour) });
  node.start();
  const advance = async (untilMs: number, until: () => boolean): Promise<void> => {
    for (let ms = 0; ms < untilMs && !until(); ms += 5) {
      await node.clock.advance(5);
      view.look();
    }
    assert.ok(until(), 'what the test waits for did not happen');
  };
  const own = (): string | undefined => node.kubelet?.records.statuses.get('a' as never)?.phase;
  return { node, phases, advance, own };
}

describe('an agent that is killed before a status is on record', () => {
  for (const [name, behaviour, before, phase] of [
    ['runs', {}, 'Pending', 'Running'],
    ['has ended', { exitAfterMs: 3000, exitCode: 0 }, 'Running', 'Succeeded'],
  ] as const)
    it(`has not shown that the pod ${name}, so that the next agent takes nothing back while the runtime is late`, async () => {
      const { node, phases, advance, own } = await begin(behaviour);
      await advance(5000, () => own() === before && node.files.peek(record)?.includes(`"phase":"${before}"`) === true);
      const release = node.files.hang(record);
      await advance(5000, () => own() === phase);
      assert.equal(phases.includes(`${before} -> ${phase}`), false, phases.join());
      node.kill();
      release();
      node.runtime.delay('listContainers', 3000, { times: 1 });
      node.start();
      await advance(20_000, () => phases.includes(`${before} -> ${phase}`));
      await node.clock.advance(10_000);
      assert.deepEqual(
        phases,
        phase === 'Running' ? ['Pending -> Running'] : ['Pending -> Running', 'Running -> Succeeded'],
      );
      node.kill();
    });

  it('shows it all the same when the disk hangs for long', async () => {
    const { node, phases, advance, own } = await begin({});
    await advance(5000, () => own() === 'Pending' && node.files.peek(record) !== undefined);
    node.files.hang(record);
    await advance(10_000, () => phases.length > 0);
    assert.deepEqual(phases, ['Pending -> Running']);
    node.kill();
  });
});
