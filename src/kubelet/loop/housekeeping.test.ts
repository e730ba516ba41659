import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { sleep } from '../../base/clock.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { PodUid } from '../model/ids.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import type { HousekeepingParts } from './housekeeping.ts';
import { Housekeeping } from './housekeeping.ts';

const runtimePod = (uid: string, ready: boolean): PodRuntimeStatus => ({
  ...emptyPodRuntimeStatus({ uid: podUid(uid), name: uid, namespace: 'default' }, 0),
  sandboxes: [{ ready }] as unknown as PodRuntimeStatus['sandboxes'],
});

function harness(extra: Partial<HousekeepingParts> = {}) {
  const clock = new FakeClock();
  const log = recordingLog();
  const calls: string[] = [];
  const known = new Set<PodUid>();
  const pods: PodRuntimeStatus[] = [];
  const housekeeping = new Housekeeping({
    workers: {
      stateOf: (uid) =>
        known.has(uid)
          ? uid.startsWith('over')
            ? { phase: 'finished', pod: {} as never, termination: {} as never }
            : { phase: 'syncing', pod: {} as never }
          : undefined,
      endAgain: (uid) => calls.push(`end ${uid} again`),
      killOrphan: (pod, graceMs) => {
        calls.push(`kill ${pod.uid} ${graceMs}`);
        known.add(pod.uid);
      },
    },
    podConfig: { sourcesReady: () => true },
    cache: { all: () => pods },
    cleanup: { collect: async (uid) => void calls.push(`collect ${uid}`) },
    cleaners: {},
    log,
    ...extra,
  });
  return { clock, log, calls, known, pods, housekeeping };
}

describe('housekeeping', () => {
  it('stops running orphans, removes stopped ones and does not touch known pods', async () => {
    const { housekeeping, clock, calls, known, pods } = harness();
    known.add(podUid('wanted'));
    pods.push(runtimePod('wanted', true), runtimePod('stray', true), runtimePod('dead', false));
    housekeeping.request();
    await clock.settle();
    assert.deepEqual(calls, ['kill stray 1000', 'collect dead']);
  });

  it('stops a finished pod again when one of its containers runs after all', async () => {
    const { housekeeping, clock, calls, known, pods } = harness();
    for (const [uid, ready] of [
      ['over-late', true],
      ['over', false],
    ] as const) {
      known.add(podUid(uid));
      pods.push(runtimePod(uid, ready));
    }
    housekeeping.request();
    await clock.settle();
    assert.deepEqual(calls, ['end over-late again']);
  });

  it('does nothing before every source has reported', async () => {
    let ready = false;
    const { housekeeping, clock, calls, pods } = harness({
      podConfig: { sourcesReady: () => ready },
      cleaners: { volumes: () => void calls.push('clean') },
    });
    pods.push(runtimePod('stray', true));
    housekeeping.request();
    await clock.settle();
    assert.deepEqual(calls, []);
    ready = true;
    housekeeping.request();
    await clock.settle();
    assert.deepEqual(calls, ['kill stray 1000', 'clean']);
  });

  it('continues with other cleaners when one fails or hangs, and never runs a cleaner twice at once', async () => {
    const clock = new FakeClock();
    const calls: string[] = [];
    const { housekeeping, log } = harness({
      cleaners: {
        hangs: async () => {
          calls.push('hangs');
          await sleep(clock, 60_000);
        },
        fails: () => {
          throw new Error('device busy');
        },
        works: () => void calls.push('works'),
      },
    });
    for (let i = 0; i < 3; i++) {
      housekeeping.request();
      await clock.advance(1000);
    }
    assert.deepEqual(calls, ['hangs', 'works', 'works', 'works']);
    assert.deepEqual(
      log.lines.map((line) => [line.fields['cleaner'], line.fields['error']]),
      Array.from({ length: 3 }, () => ['fails', 'device busy']),
    );
    await clock.advance(60_000);
    assert.equal(
      calls.filter((call) => call === 'hangs').length,
      2,
      'requests made meanwhile are merged into one more run',
    );
  });

  it('lets cleaners see pods that were added while they ran', async () => {
    const clock = new FakeClock();
    const seen: boolean[] = [];
    const { housekeeping, known } = harness({
      cleaners: {
        volumes: async (asked) => {
          await sleep(clock, 100);
          seen.push(asked.has(podUid('new')));
        },
      },
    });
    housekeeping.request();
    known.add(podUid('new'));
    await clock.advance(100);
    assert.deepEqual(seen, [true]);
  });
});
