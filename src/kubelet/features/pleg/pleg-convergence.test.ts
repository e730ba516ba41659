import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { podUid } from '../../model/ids.ts';
import type { EventSourceKind } from '../../ports/runtime.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import { buildContainerConfig, buildSandboxConfig, runPod } from '../../ports/testing/runtime-builders.ts';
import { Pleg } from './pleg.ts';
import { RuntimeCache } from './runtime-cache.ts';

const IMAGE = 'example/app:1';
const PODS = 12;
const STEPS = 40;

type Deed = (runtime: FakeRuntime, pick: <T>(items: readonly T[]) => T | undefined) => void;

/** Everything that can happen to a node without the agent, and to the events that the agent receives. */
const DEEDS: readonly Deed[] = [
  (runtime, pick) => {
    const victim = pick(runtime.containers().filter((container) => container.state === 'running' && !container.dead));
    if (victim !== undefined) runtime.killContainer(victim.id, { exitCode: 1 + victim.config.attempt });
  },
  (runtime, pick) => {
    const victim = pick(runtime.containers());
    if (victim !== undefined) runtime.removeContainerByHand(victim.id);
  },
  (runtime, pick) => {
    const victim = pick(runtime.sandboxes());
    if (victim !== undefined) runtime.killSandbox(victim.id, { withContainers: true });
  },
  (runtime, pick) => {
    const sandbox = pick(runtime.sandboxes().filter((candidate) => candidate.ready));
    if (sandbox === undefined) return;
    const pod = { uid: sandbox.config.uid };
    const attempt = sandbox.containers.size + 10;
    void runtime
      .createContainer(
        sandbox.id as never,
        buildContainerConfig(pod, { name: 'more', image: IMAGE, attempt }),
        buildSandboxConfig(pod),
      )
      .then((id) => runtime.startContainer(id))
      .catch(() => undefined);
  },
  (runtime) => void runtime.events.drop(3),
  (runtime) => void runtime.events.delay(3000, 3),
  (runtime) => void runtime.events.duplicate(3),
  (runtime) => runtime.events.reorder(3),
  (runtime) => runtime.events.disconnect(),
  (runtime) => {
    if (!runtime.isDown) runtime.restart({ downMs: 1500 });
  },
  (runtime) => void runtime.staleRead('containerStatus', 400, { times: 3 }),
  (runtime) => void runtime.staleRead('listContainers', 700, { times: 2 }),
  (runtime) => void runtime.staleRead('sandboxStatus', 400, { times: 2 }),
  (runtime) => void runtime.hang('containerStatus', { times: 1 }),
  (runtime) => void runtime.fail('listSandboxes', { times: 2, kind: 'Internal' }),
];

async function run(seed: number, sources: readonly EventSourceKind[]): Promise<void> {
  const clock = new FakeClock();
  const random = seededRandom(seed);
  const runtime = new FakeRuntime({
    clock,
    seed,
    images: [IMAGE],
    exitLagMs: 15,
    latencies: { containerStatus: 1, listContainers: 3 },
  });
  const cache = new RuntimeCache(clock);
  const pleg = new Pleg({
    clock,
    random,
    log: silentLogger,
    runtime,
    sources: sources.map((kind) => runtime.eventSource(kind)),
    cache,
    onEvent: () => undefined,
  });
  const exits = new Map<string, string>();
  const broken: string[] = [];
  const label = `seed ${seed}, ${sources.join('+')}`;
  cache.onChange(({ after }) => {
    for (const container of after?.containers ?? []) {
      const first = exits.get(container.id);
      const now = `${container.exitCode} at ${container.finishedAtMs}`;
      if (container.state === 'exited') exits.set(container.id, first ?? now);
      if (first !== undefined && (container.state !== 'exited' || now !== first))
        broken.push(`${first} became ${container.state} ${now}`);
    }
  });
  for (let index = 0; index < PODS; index++)
    void runPod(runtime, { uid: `pod-${index}` }, [
      { name: 'main', image: IMAGE },
      { name: 'side', image: IMAGE },
    ]);
  pleg.start();
  await clock.advance(1000);
  const pick = <T>(items: readonly T[]): T | undefined => items[Math.floor(random.next() * items.length)];
  for (let step = 0; step < STEPS; step++) {
    pick(DEEDS)?.(runtime, pick);
    await clock.advance(random.next() * 400);
  }
  runtime.clearFaults();
  await clock.advance(100_000);
  for (let index = 0; index < PODS; index++) {
    const uid = `pod-${index}`;
    const truth = runtime
      .containers(uid)
      .map(({ id, state, exitCode }) => `${id} ${state} ${exitCode}`)
      .sort();
    const known = cache.get(podUid(uid));
    assert.deepEqual(
      (known?.containers ?? []).map(({ id, state, exitCode }) => `${id} ${state} ${exitCode}`).sort(),
      truth,
      label,
    );
    assert.deepEqual(
      (known?.sandboxes ?? []).map(({ id, ready }) => `${id} ${ready}`),
      runtime.sandboxes(uid).map(({ id, ready }) => `${id} ${ready}`),
      label,
    );
    assert.equal(cache.isRead(podUid(uid)), true, label);
  }
  assert.deepEqual(broken, [], label);
  await pleg.stop();
}

test('whatever happens to the node, its calls and its events, no exit record changes and the cache converges', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    await run(seed, ['cri', 'containerd']);
    await run(seed, ['containerd']);
    await run(seed, []);
  }
});
