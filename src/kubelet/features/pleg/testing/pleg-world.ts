import assert from 'node:assert/strict';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { seededRandom } from '../../../../base/random.ts';
import type { ContainerId } from '../../../model/ids.ts';
import { podUid } from '../../../model/ids.ts';
import type { EventSourceKind } from '../../../ports/runtime.ts';
import { runPod } from '../../../ports/testing/runtime-builders.ts';
import type { FakeRuntimeOptions } from '../../../ports/testing/fake-runtime.ts';
import { FakeRuntime } from '../../../ports/testing/fake-runtime.ts';
import type { PlegOptions } from '../pleg.ts';
import { Pleg } from '../pleg.ts';
import { RuntimeCache } from '../runtime-cache.ts';

export const IMAGE = 'example/app:1';

export const UID = podUid('a');

export interface Fixture {
  readonly clock: FakeClock;
  readonly runtime: FakeRuntime;
  readonly cache: RuntimeCache;
  readonly pleg: Pleg;
  /** The monotonic time of the start of the PLEG. */
  startedMs: number;
  readonly log: RecordingLog;
  /** The kinds of the events so far, with the origin if it is the agent. */
  readonly reported: string[];
  /** Returns the runtime calls by name since the last call of this function. */
  readonly calls: () => Record<string, number>;
  readonly run: <T>(work: Promise<T>) => Promise<T>;
  readonly pod: (uid?: string, containers?: readonly string[]) => Promise<ContainerId[]>;
}

export async function setUp(
  options: Partial<FakeRuntimeOptions> & {
    sources?: readonly EventSourceKind[];
    annotations?: Record<string, string>;
    terminationMessage?: PlegOptions['terminationMessage'];
    before?: (world: Fixture) => Promise<void>;
  } = {},
): Promise<Fixture> {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: [IMAGE], ...options });
  const log = recordingLog();
  const cache = new RuntimeCache(clock);
  const reported: string[] = [];
  const pleg = new Pleg({
    clock,
    random: seededRandom(1),
    log,
    runtime,
    sources: (options.sources ?? ['cri']).map((kind) => runtime.eventSource(kind)),
    cache,
    ...(options.terminationMessage === undefined ? {} : { terminationMessage: options.terminationMessage }),
    onEvent: (event, origin) => void reported.push(origin === 'own' ? `own ${event.kind}` : event.kind),
  });
  const run = async <T>(work: Promise<T>): Promise<T> => {
    let done = false;
    const end = (): void => void (done = true);
    work.then(end, end);
    assert.ok(await clock.advanceUntil(() => done, 600_000), 'the work ends');
    return work;
  };
  const calls = (): Record<string, number> => {
    const counts = Object.fromEntries(runtime.journal.callCounts);
    runtime.journal.callCounts.clear();
    return counts;
  };
  const pod = async (uid = 'a', containers: readonly string[] = ['main']): Promise<ContainerId[]> =>
    (
      await run(
        runPod(
          runtime,
          { uid },
          containers.map((name) => ({ name, image: IMAGE })),
          { annotations: options.annotations ?? {} },
        ),
      )
    ).containers;
  const world: Fixture = { clock, runtime, cache, pleg, startedMs: 0, log, reported, calls, run, pod };
  await options.before?.(world);
  world.startedMs = clock.monotonicMs();
  pleg.start();
  await run(pleg.whenAdopted());
  calls();
  reported.splice(0);
  return world;
}

export const states = ({ cache }: Fixture, uid = UID): string[] =>
  cache.get(uid)?.containers.map((container) => `${container.name} ${container.state}`) ?? [];
