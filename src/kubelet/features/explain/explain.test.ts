import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import { ActivityTracker } from './activity-tracker.ts';
import type { BlockerFacts } from './compute-blockers.ts';
import { computeBlockers } from './compute-blockers.ts';
import { ExplainStore } from './explain-store.ts';
import { Timeline } from './timeline.ts';

const uid = podUid('u1');
const pod = buildPod({
  'metadata.uid': 'u1',
  'spec.containers[0].name': 'web',
  'spec.containers[0].readinessProbe': { periodSeconds: 3 },
});
const running = {
  name: 'web',
  image: '',
  imageID: '',
  restartCount: 0,
  started: true,
  state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
};
const facts = (extra: Partial<BlockerFacts> = {}): BlockerFacts => ({
  pod,
  status: { phase: 'Running', containerStatuses: [{ ...running, ready: true }] },
  worker: 'syncing',
  workerSinceMs: 1000,
  activities: [],
  failures: [],
  waits: [],
  volumes: [],
  probes: [],
  retry: { lastError: undefined, nextTryAtMs: undefined },
  ...extra,
});
const steps = (extra: Partial<BlockerFacts>): string[] => computeBlockers(facts(extra)).map((blocker) => blocker.step);

describe('blockers', () => {
  it('are none for a pod that runs and is ready, or that is over', () => {
    assert.deepEqual(steps({}), []);
    assert.deepEqual(
      steps({ worker: 'finished', status: { phase: 'Failed', containerStatuses: [{ ...running, ready: false }] } }),
      [],
    );
  });

  it('name what keeps the agent from starting a pod, whatever it was before', () => {
    const heldBack = { sinceMs: 500, errors: ['PLEG is not healthy', 'the runtime is down'] };
    assert.deepEqual(computeBlockers(facts({ worker: 'none', heldBack })), [
      {
        step: 'admit the pod',
        cause: 'no pod is started before the container runtime has answered',
        sinceMs: 500,
        lastError: 'PLEG is not healthy; the runtime is down',
      },
    ]);
    assert.deepEqual(steps({ worker: 'syncing', heldBack }), []);
  });

  it('name an unready container with the last answer of its probe and the next try', () => {
    const probes = [
      {
        container: 'web',
        type: 'readiness',
        verdict: 'failure',
        lastOutput: 'HTTP probe failed with statuscode: 503',
        nextTryAtMs: 9000,
      },
    ] as const;
    assert.deepEqual(
      computeBlockers(
        facts({ probes, status: { phase: 'Running', containerStatuses: [{ ...running, ready: false }] } }),
      ),
      [
        {
          step: 'readiness of container web',
          cause: 'its readiness probe has not succeeded yet (every 3 s)',
          sinceMs: Date.UTC(2026, 0, 1),
          lastError: 'HTTP probe failed with statuscode: 503',
          nextTryAtMs: 9000,
        },
      ],
    );
  });

  it('count the time of a container that lost its readiness from then, not from its start', () => {
    const conditions = [
      { type: 'ContainersReady', status: 'False' as const, lastTransitionTime: '2026-01-01T01:00:00Z' },
    ];
    const [blocker] = computeBlockers(
      facts({ status: { phase: 'Running', conditions, containerStatuses: [{ ...running, ready: false }] } }),
    );
    assert.equal(blocker?.sinceMs, Date.UTC(2026, 0, 1, 1));
  });

  it('name the pending or infeasible resize of a running pod', () => {
    const status = (reason: string): BlockerFacts['status'] => ({
      phase: 'Running',
      containerStatuses: [{ ...running, ready: true }],
      conditions: [
        {
          type: 'PodResizePending',
          status: 'True',
          reason,
          message: 'too much',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
    });
    const sinceMs = Date.parse('2026-01-01T00:00:00Z');
    assert.deepEqual(computeBlockers(facts({ status: status('Deferred') })), [
      {
        step: 'resize the pod',
        cause: 'the node has no room for the resize now',
        sinceMs,
        lastError: 'too much',
      },
    ]);
    assert.deepEqual(
      computeBlockers(facts({ status: status('Infeasible') })).map(({ cause }) => cause),
      ['the resize is infeasible on this node'],
    );
  });

  it('name a pass that does not return, for a pod without another problem', () => {
    const terminated = { ...running, ready: false, state: { terminated: { exitCode: 1 } } };
    const stuck = { busySinceMs: 7, status: { phase: 'Running' as const, containerStatuses: [terminated] } };
    assert.deepEqual(computeBlockers(facts(stuck)), [
      { step: 'sync the pod', cause: 'a call to the container runtime or the disk has not returned yet', sinceMs: 7 },
    ]);
  });

  it('put volumes and failed starts before what merely goes on', () => {
    const volume = { step: 'volume data', cause: 'configmap "c" not found', sinceMs: 1 };
    const failure = {
      step: 'start container web',
      reason: 'ErrImagePull',
      message: 'no such host',
      sinceMs: 2,
      retryAtMs: 3,
    };
    const activity = { step: 'pull image b', cause: 'waiting for the registry', sinceMs: 4 };
    assert.deepEqual(steps({ volumes: [volume], failures: [failure], activities: [activity] }), [
      'volume data',
      'start container web',
      'pull image b',
    ]);
  });

  it('give the next pass as the next try of a failure without a time of its own', () => {
    const failure = {
      step: 'start container web',
      reason: 'CreateContainerConfigError',
      message: 'configmap "c" not found',
      sinceMs: 2,
    };
    const tries = (retryAtMs?: number) =>
      computeBlockers(
        facts({
          failures: [retryAtMs === undefined ? failure : { ...failure, retryAtMs }],
          retry: { lastError: undefined, nextTryAtMs: 50 },
        }),
      ).map((blocker) => blocker.nextTryAtMs);
    assert.deepEqual([tries(), tries(70)], [[50], [70]]);
  });

  it('show when a crashed container starts again, and how it ended', () => {
    const status = {
      phase: 'Running',
      containerStatuses: [
        {
          ...running,
          ready: false,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: { terminated: { exitCode: 2, reason: 'Error', finishedAt: '2026-01-01T00:00:05Z' } },
        },
      ],
    } as const;
    const [blocker] = computeBlockers(
      facts({ status: status as never, waits: [{ container: 'web', untilMs: 77, why: 'back-off 10s' }] }),
    );
    assert.deepEqual(blocker, {
      step: 'restart container web',
      cause: 'back-off 10s',
      sinceMs: Date.UTC(2026, 0, 1, 0, 0, 5),
      nextTryAtMs: 77,
      lastError: 'exit code 2 (Error)',
    });
  });

  it('show what a terminating pod waits for, and the error that delays it', () => {
    const stopping = (extra: Partial<BlockerFacts>): unknown[] =>
      computeBlockers(facts({ worker: 'terminating', ...extra })).map(({ step, cause, nextTryAtMs }) => [
        step,
        /^[^,]* grace period/.exec(cause)?.[0],
        nextTryAtMs,
      ]);
    assert.deepEqual(stopping({ graceEndsMs: 9000, isGraceOver: false }), [
      ['stop the containers', 'the containers were told to stop and their grace period', 9000],
    ]);
    assert.deepEqual(stopping({ graceEndsMs: 9000, isGraceOver: true }), [
      ['stop the containers', 'the grace period', undefined],
    ]);
    const [blocker] = computeBlockers(
      facts({ worker: 'terminated', retry: { lastError: 'device busy', nextTryAtMs: 5 } }),
    );
    assert.deepEqual(
      [blocker?.step, blocker?.lastError, blocker?.nextTryAtMs],
      ['clean up volumes and cgroups', 'device busy', 5],
    );
    assert.deepEqual(steps({ worker: 'queued' }), ['wait for the name']);
  });
});

describe('timeline', () => {
  it('counts a repeated line instead of filling up with it, and stays bounded', async () => {
    const clock = new FakeClock();
    const timeline = new Timeline(clock);
    for (let i = 0; i < 500; i++)
      timeline.record(uid, { kind: 'event', type: 'Warning', reason: 'BackOff', message: 'again' });
    assert.deepEqual(
      timeline.of(uid).map((line) => line.count),
      [500],
    );
    for (let i = 0; i < 500; i++)
      timeline.record(uid, { kind: 'event', type: 'Normal', reason: 'Started', message: `${i}` });
    assert.equal(timeline.of(uid).length, 64);
  });

  it('the timeline is kept across a restart, and for the last removed pods', () => {
    const clock = new FakeClock();
    const before = new Timeline(clock);
    before.record(uid, { kind: 'event', type: 'Normal', reason: 'Started', message: 'm' });
    before.retire(uid);
    const after = new Timeline(clock, JSON.parse(JSON.stringify(before.snapshot())) as never);
    assert.deepEqual(after.of(uid), before.of(uid));
  });
});

describe('the records of removed pods', () => {
  const line = { kind: 'event', type: 'Normal', reason: 'Started', message: 'm' } as const;

  it('are kept of the last fifty, also over many restarts of the agent', () => {
    let timeline = new Timeline(new FakeClock());
    for (let run = 0; run < 10; run++) {
      for (let i = 0; i < 20; i++) timeline.record(podUid(`${run}-${i}`), line);
      timeline = new Timeline(new FakeClock(), JSON.parse(JSON.stringify(timeline.snapshot())) as never);
      timeline.retireUnknown(new Set());
    }
    assert.equal(Object.keys(timeline.snapshot()).length, 50);
    assert.equal(timeline.of(podUid('9-19')).length, 1);
  });

  it('stay as long as the pod does when it comes back', () => {
    const timeline = new Timeline(new FakeClock());
    timeline.record(uid, line);
    timeline.retire(uid);
    timeline.record(uid, { ...line, message: 'again' });
    for (let i = 0; i < 60; i++) {
      timeline.record(podUid(`other-${i}`), line);
      timeline.retire(podUid(`other-${i}`));
    }
    assert.equal(timeline.of(uid).length, 2);
  });
});

describe('explain store', () => {
  it('keeps the start of a failure while it stays the same', () => {
    const clock = new FakeClock();
    const activityTracker = new ActivityTracker(clock);
    const sources = {
      pods: () => [pod],
      status: () => undefined,
      worker: () => ({ worker: 'syncing' as const, workerSinceMs: 0, retry: facts().retry }),
      probes: () => [],
      volumes: () => [],
      suggestions: () => ['a suggestion'],
    };
    const store = new ExplainStore({ sources, activityTracker, timeline: new Timeline(clock) });
    store.setOutcome(uid, {
      failures: [{ step: 'start container web', reason: 'ErrImagePull', message: 'a', sinceMs: 10 }],
      waits: [],
    });
    store.setOutcome(uid, {
      failures: [{ step: 'start container web', reason: 'ErrImagePull', message: 'b', sinceMs: 99 }],
      waits: [],
    });
    const [blocker] = store.explain(pod).blockers;
    assert.deepEqual([blocker?.sinceMs, blocker?.lastError], [10, 'b']);
    assert.deepEqual(store.explain(pod).suggestions, ['a suggestion']);
    assert.deepEqual(
      store.explain({ ...pod, metadata: { ...pod.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }).suggestions,
      [],
    );
    const end = activityTracker.begin(uid, 'pull image', 'registry is slow');
    assert.equal(store.explain(pod).blockers.length, 2);
    end();
    store.setOutcome(uid, { failures: [], waits: [] });
    assert.deepEqual([store.explain(pod).settled, store.explain(pod).suggestions], [true, []]);
  });

  it('begins with the outage of the API server, for a pod that waits for it', () => {
    const clock = new FakeClock();
    const state = { outage: undefined as { sinceMs: number; message: string } | undefined };
    const volumes = [{ step: 'volume v', cause: 'no secret', sinceMs: 20 }];
    const sources = {
      pods: () => [pod],
      status: () => undefined,
      worker: () => ({ worker: 'syncing' as const, workerSinceMs: 0, retry: facts().retry }),
      probes: () => [],
      volumes: () => volumes,
      suggestions: () => [],
      outage: () => state.outage,
    };
    const store = new ExplainStore({
      sources,
      activityTracker: new ActivityTracker(clock),
      timeline: new Timeline(clock),
    });
    assert.deepEqual(store.explain(pod).blockers, volumes);
    state.outage = { sinceMs: 5, message: 'connect ECONNREFUSED' };
    assert.deepEqual(store.explain(pod).blockers, [
      { step: 'query the API server', cause: 'it cannot be reached', sinceMs: 5, lastError: 'connect ECONNREFUSED' },
      ...volumes,
    ]);
    volumes.length = 0;
    assert.equal(store.explain(pod).settled, true);
  });
});
