import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aPod } from './testing/builders.ts';
import { Harness } from './testing/harness.ts';

const POD_COUNT = 30;

test('of many pods at once only those with a slot get cgroup and folders, while the images of all are fetched', async () => {
  const h = new Harness();
  let placements = 0;
  let fetches = 0;
  h.image = async (name) => {
    fetches += 1;
    return { kind: 'present', imageRef: name, user: { username: '' } };
  };
  const passes = [];
  for (let index = 0; index < POD_COUNT; index += 1) {
    const pod = aPod({}, { name: `pod-${index}`, uid: `uid-${index}` });
    const placement = {
      then: (resolve: (value: { cgroupParent: string }) => void) => (
        (placements += 1), resolve({ cgroupParent: '/kubepods/pod' })
      ),
    } as Promise<{ cgroupParent: string }>;
    passes.push(h.begin(pod, { status: await h.status(pod), placement }));
  }
  await h.clock.advance(1);
  const { held } = h.pods.startPacer;
  assert.ok(held < POD_COUNT / 2, `${held} pods start side by side`);
  assert.deepEqual([placements, h.runtime.sandboxes().length <= held, fetches], [held, true, POD_COUNT]);
  await h.clock.advance(60_000);
  assert.equal((await Promise.all(passes)).flatMap(({ failures }) => failures).length, 0);
});
