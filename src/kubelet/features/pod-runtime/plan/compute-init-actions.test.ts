import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../../model/runtime-status.ts';
import type { PlanFacts } from './plan-facts.ts';
import { aContainer, aPod, aRun, aStatus, anEphemeral } from '../testing/builders.ts';
import { plan } from '../testing/plan-text.ts';

const two = aPod({ containers: [aContainer('app'), aContainer('log')] });
const noSandbox: readonly never[] = [];

describe('init containers', () => {
  const pod = (restartPolicy: 'Always' | 'OnFailure' | 'Never' = 'Always'): Pod =>
    aPod({ restartPolicy, initContainers: [aContainer('i1'), aContainer('i2')] });
  const rows: [name: string, pod: Pod, status: PodRuntimeStatus, expected: string[], more?: Partial<PlanFacts>][] = [
    ['the first starts when none has a record', pod(), aStatus(), ['start init i1#0']],
    ['nothing starts while one runs', pod(), aStatus([aRun('i1', 'running')]), []],
    ['the next starts after the one before succeeded', pod(), aStatus([aRun('i1', 0)]), ['start init i2#0']],
    [
      'regular containers start once the last succeeded, even if records of the others are gone',
      pod(),
      aStatus([aRun('i2', 0)]),
      ['start regular app#0'],
    ],
    ['one that failed is started again', pod('OnFailure'), aStatus([aRun('i1', 1)]), ['start init i1#1']],
    [
      'one that failed with Never ends the pod',
      pod('Never'),
      aStatus([aRun('i1', 1)]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'one killed for lack of memory failed, whatever its code',
      pod('Never'),
      aStatus([aRun('i1', 0, { reason: 'OOMKilled' })]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'one in unknown state is killed and started again',
      pod(),
      aStatus([aRun('i1', 'unknown')]),
      ['kill i1-0 Unknown', 'start init i1#1'],
    ],
    [
      'one in unknown state with Never ends the pod',
      pod('Never'),
      aStatus([aRun('i1', 'unknown')]),
      ['killPod nothing-to-run 30000'],
    ],
    ['one left created is taken over', pod(), aStatus([aRun('i1', 'created')]), ['start init i1#0 adopted']],
    [
      'a changed image in a finished one does not run it again',
      pod(),
      aStatus([aRun('app', 'running'), aRun('i2', 0, { annotations: {} }), aRun('i1', 0, { annotations: {} })]),
      [],
    ],
    [
      'a changed image in the last one while the pod initialises does not run it again',
      pod(),
      aStatus([aRun('i2', 0, { annotations: {} })]),
      ['start regular app#0'],
    ],
    [
      'once a regular container runs, records of init containers do not matter',
      pod(),
      aStatus([aRun('app', 'running'), aRun('i2', 1)]),
      [],
    ],
    [
      'an exited regular container does not prove that the pod was initialised',
      pod(),
      aStatus([aRun('app', 1)]),
      ['start init i1#0'],
    ],
    [
      'older runs are pruned, the newest is kept',
      pod(),
      aStatus([aRun('i1', 1, { attempt: 2 }), aRun('i1', 1, { attempt: 1 }), aRun('i1', 1)]),
      ['remove i1-1 prune', 'remove i1-0 prune', 'start init i1#3'],
    ],
    [
      'a restart rule of an init container counts over Never',
      aPod({
        restartPolicy: 'Never',
        initContainers: [
          aContainer('i1', {
            restartPolicy: 'Never',
            restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [9] } }],
          }),
        ],
      }),
      aStatus([aRun('i1', 9)]),
      ['start init i1#1'],
    ],
    [
      'one in back-off delays what comes after it',
      aPod({ initContainers: [aContainer('i1')] }),
      aStatus([aRun('i1', 1)]),
      [],
      { crashWait: () => ({ waitMs: 5000, delayMs: 10_000 }) },
    ],
  ];
  for (const [name, subject, status, expected, more] of rows)
    test(name, () => assert.deepEqual(plan(subject, status, more), expected));
});

describe('sidecars', () => {
  const side = (fields: Parameters<typeof aContainer>[1] = {}): ReturnType<typeof aContainer> =>
    aContainer('side', { restartPolicy: 'Always', ...fields });
  const pod = aPod({ initContainers: [side(), aContainer('i2')] });
  const probed = aPod({ initContainers: [side({ startupProbe: {} }), aContainer('i2')] });
  const alive = aPod({ initContainers: [side({ livenessProbe: {} })] });
  const never = aPod({ restartPolicy: 'Never', initContainers: [side()] });
  const failing: Partial<PlanFacts> = { probe: (type) => (type === 'liveness' ? 'failure' : undefined) };
  const rows: [name: string, pod: Pod, status: PodRuntimeStatus, expected: string[], more?: Partial<PlanFacts>][] = [
    ['it starts first', pod, aStatus(), ['start sidecar side#0']],
    ['the next starts as soon as it runs', pod, aStatus([aRun('side', 'running')]), ['start init i2#0']],
    ['with a startup probe the next waits for the verdict', probed, aStatus([aRun('side', 'running')]), []],
    [
      'while its startup probe has no result the next waits',
      probed,
      aStatus([aRun('side', 'running')]),
      [],
      { probe: () => 'unknown' },
    ],
    [
      'once its startup probe passed the next starts',
      probed,
      aStatus([aRun('side', 'running')]),
      ['start init i2#0'],
      { probe: () => 'success' },
    ],
    [
      'a failed startup probe restarts it',
      probed,
      aStatus([aRun('side', 'running')]),
      ['kill side-0 StartupProbe', 'start sidecar side#1'],
      { probe: () => 'failure' },
    ],
    [
      'a failed liveness probe restarts it without delaying the next',
      alive,
      aStatus([aRun('side', 'running')]),
      ['kill side-0 LivenessProbe', 'start sidecar side#1', 'start regular app#0'],
      failing,
    ],
    [
      'a changed image restarts it',
      aPod({ initContainers: [side()] }),
      aStatus([aRun('app', 'running'), aRun('side', 'running', { annotations: {} })]),
      ['kill side-0 DefinitionChanged', 'start sidecar side#1'],
    ],
    [
      'when it exits it is restarted, even with Never',
      never,
      aStatus([aRun('app', 'running'), aRun('side', 0)]),
      ['start sidecar side#1'],
    ],
    [
      'when its record is gone and the pod runs it is started',
      never,
      aStatus([aRun('app', 'running')]),
      ['start sidecar side#0'],
    ],
    [
      'it is not restarted once the pod is over',
      never,
      aStatus([aRun('app', 0), aRun('side', 'running')]),
      ['killPod nothing-to-run 30000'],
    ],
    [
      'one in unknown state is killed and started',
      never,
      aStatus([aRun('app', 'running'), aRun('side', 'unknown')]),
      ['kill side-0 Unknown', 'start sidecar side#1'],
    ],
    [
      'a second one after a first that runs',
      aPod({ initContainers: [side(), aContainer('s2', { restartPolicy: 'Always' })] }),
      aStatus([aRun('side', 'running')]),
      ['start sidecar s2#0'],
    ],
    [
      'one that crashed while a later init container runs is restarted',
      pod,
      aStatus([aRun('i2', 'running'), aRun('side', 1)]),
      ['start sidecar side#1'],
    ],
    [
      'one in back-off does not delay regular containers',
      never,
      aStatus([aRun('app', 'created'), aRun('side', 1)]),
      ['start regular app#0 adopted'],
      { crashWait: (container) => (container.name === 'side' ? { waitMs: 1, delayMs: 10_000 } : undefined) },
    ],
  ];
  for (const [name, subject, status, expected, more] of rows)
    test(name, () => assert.deepEqual(plan(subject, status, more), expected));
});

describe('ephemeral containers', () => {
  const pod = aPod({ ephemeralContainers: [anEphemeral('debug')], initContainers: [aContainer('i1')] });
  test('they start at any time, before init containers are done', () =>
    assert.deepEqual(plan(pod, aStatus([aRun('i1', 'running')])), ['start ephemeral debug#0']));
  test('they are never restarted', () =>
    assert.deepEqual(plan(pod, aStatus([aRun('debug', 1), aRun('i1', 'running')])), []));
  test('one created and never started is started', () =>
    assert.deepEqual(plan(pod, aStatus([aRun('debug', 'created'), aRun('i1', 'running')])), [
      'start ephemeral debug#0 adopted',
    ]));
  test('they wait for the sandbox', () =>
    assert.deepEqual(plan(pod, aStatus([], noSandbox)), ['sandbox 0 new-pod', 'start init i1#0']));
});

describe('back-off of init containers and of resets', () => {
  const waiting = { waitMs: 5000, delayMs: 10_000 };

  test('an init container in back-off delays the containers after it, and a sidecar does not', () => {
    const pod = aPod({ initContainers: [aContainer('side', { restartPolicy: 'Always' }), aContainer('i2')] });
    const crashed = aStatus([aRun('i2', 1), aRun('side', 1)]);
    assert.deepEqual(plan(pod, crashed), ['start sidecar side#1', 'start init i2#1'], 'in the order of the pod');
    const sideWaits: PlanFacts['crashWait'] = ({ name }) => (name === 'side' ? waiting : undefined);
    assert.deepEqual(plan(pod, crashed, { crashWait: sideWaits }), ['start init i2#1']);
  });

  test('only a run of the same container delays its next start', () => {
    const crashWait: PlanFacts['crashWait'] = (_, exited) => (exited.name === 'app' ? waiting : undefined);
    const other = aStatus([aRun('app', 1), aRun('log', 'unknown')]);
    assert.deepEqual(plan(two, other, { crashWait }), ['kill log-0 Unknown', 'start regular log#1']);
  });

  const reset = (name: string): ReturnType<typeof aContainer> =>
    aContainer(name, {
      restartPolicy: 'Never',
      restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
    });
  const both = aPod({ restartPolicy: 'Never', containers: [reset('app'), reset('log'), aContainer('web')] });
  const asked = aStatus([aRun('app', 42), aRun('log', 42), aRun('web', 'running')]);

  test('a reset waits while one of the containers that request it is in back-off, and the others continue', () => {
    const steps = plan(both, asked, { crashWait: ({ name }) => (name === 'app' ? waiting : undefined) });
    assert.deepEqual(steps, ['start regular log#1']);
    assert.deepEqual(plan(both, asked)[0], 'kill web-0 RestartAllContainers 0');
  });

  test('a running container requests no reset, whatever its last exit code was', () => {
    const runs = aStatus([aRun('app', 'running', { exitCode: 42 }), aRun('log', 'running'), aRun('web', 'running')]);
    assert.deepEqual(plan(both, runs), []);
  });
});
