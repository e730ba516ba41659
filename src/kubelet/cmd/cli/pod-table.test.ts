import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerState, ContainerStatus, PodStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { age } from '../../../api/explanation/age.ts';
import { explanationText } from '../../../api/explanation/explanation-text.ts';
import { readyCount, statusWord } from '../../../api/pod-summary.ts';
import { podTable } from './pod-table.ts';

const container = (name: string, state: ContainerState, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: '',
  imageID: '',
  ready: false,
  restartCount: 0,
  state,
  ...more,
});
const running: ContainerState = { running: {} };
const waiting = (reason: string): ContainerState => ({ waiting: { reason } });
const ended = (exitCode: number, reason?: string, signal?: number): ContainerState => ({
  terminated: { exitCode, ...(reason === undefined ? {} : { reason }), ...(signal === undefined ? {} : { signal }) },
});
const pod = (
  status: PodStatus,
  metadata: Partial<Pod['metadata']> = {},
  init: readonly { name: string; restartPolicy?: 'Always' }[] = [],
): Pod =>
  ({
    metadata: { name: 'web', namespace: 'default', uid: 'u', ...metadata },
    spec: { containers: [{ name: 'a' }, { name: 'b' }], initContainers: init },
    status,
  }) as unknown as Pod;

describe('the STATUS column', () => {
  const twoInit = [{ name: 'i' }, { name: 'j' }];
  const sidecar = [{ name: 'i', restartPolicy: 'Always' as const }];
  const cases: readonly [string, Pod][] = [
    ['Pending', pod({})],
    ['Evicted', pod({ phase: 'Failed', reason: 'Evicted' })],
    ['ContainerCreating', pod({ phase: 'Pending', containerStatuses: [container('a', waiting('ContainerCreating'))] })],
    [
      'CrashLoopBackOff',
      pod({
        phase: 'Running',
        containerStatuses: [container('a', running, { ready: true }), container('b', waiting('CrashLoopBackOff'))],
      }),
    ],
    [
      'Error',
      pod({
        phase: 'Failed',
        containerStatuses: [container('a', ended(1, 'Error')), container('b', ended(0, 'Completed'))],
      }),
    ],
    ['ExitCode:3', pod({ phase: 'Failed', containerStatuses: [container('a', ended(3))] })],
    ['Signal:9', pod({ phase: 'Failed', containerStatuses: [container('a', ended(137, undefined, 9))] })],
    ['Running', pod({ phase: 'Running', containerStatuses: [container('a', running)] })],
    [
      'NotReady',
      pod({
        phase: 'Running',
        containerStatuses: [container('a', ended(0, 'Completed')), container('b', running, { ready: true })],
      }),
    ],
    [
      'Running',
      pod({
        phase: 'Running',
        conditions: [{ type: 'Ready', status: 'True' }],
        containerStatuses: [container('a', ended(0, 'Completed')), container('b', running, { ready: true })],
      }),
    ],
    [
      'Init:0/2',
      pod(
        {
          phase: 'Pending',
          initContainerStatuses: [container('i', running), container('j', waiting('PodInitializing'))],
        },
        {},
        twoInit,
      ),
    ],
    [
      'Init:1/2',
      pod(
        {
          phase: 'Pending',
          initContainerStatuses: [container('i', ended(0, 'Completed')), container('j', waiting('PodInitializing'))],
        },
        {},
        twoInit,
      ),
    ],
    [
      'Init:Error',
      pod(
        {
          phase: 'Pending',
          initContainerStatuses: [container('i', ended(1, 'Error')), container('j', waiting('PodInitializing'))],
        },
        {},
        twoInit,
      ),
    ],
    [
      'Init:ErrImagePull',
      pod({ phase: 'Pending', initContainerStatuses: [container('i', waiting('ErrImagePull'))] }, {}, twoInit),
    ],
    [
      'Running',
      pod(
        {
          phase: 'Running',
          initContainerStatuses: [container('i', running, { started: true })],
          containerStatuses: [container('a', running)],
        },
        {},
        sidecar,
      ),
    ],
    [
      'CrashLoopBackOff',
      pod(
        {
          phase: 'Running',
          conditions: [{ type: 'Initialized', status: 'True' }],
          initContainerStatuses: [container('i', ended(1, 'Error'))],
          containerStatuses: [container('a', waiting('CrashLoopBackOff'))],
        },
        {},
        sidecar,
      ),
    ],
    [
      'Terminating',
      pod(
        { phase: 'Running', containerStatuses: [container('a', waiting('CrashLoopBackOff'))] },
        { deletionTimestamp: '2026-01-01T00:00:00Z' },
      ),
    ],
    [
      'Completed',
      pod(
        { phase: 'Succeeded', containerStatuses: [container('a', ended(0, 'Completed'))] },
        { deletionTimestamp: '2026-01-01T00:00:00Z' },
      ),
    ],
  ];
  for (const [word, subject] of cases)
    it(`says ${word} for ${JSON.stringify(subject.status)}`, () => assert.equal(statusWord(subject), word));
});

describe('the other columns', () => {
  it('count sidecars as containers', () => {
    const status: PodStatus = {
      initContainerStatuses: [container('i', running, { ready: true }), container('j', ended(0), { ready: true })],
      containerStatuses: [container('a', running, { ready: true }), container('b', running)],
    };
    assert.equal(readyCount(pod(status, {}, [{ name: 'i', restartPolicy: 'Always' }, { name: 'j' }])), '2/3');
  });

  it('write ages as kubectl does', () => {
    const minute = 60_000;
    const hour = 60 * minute;
    const day = 24 * hour;
    const ages: readonly [number, string][] = [
      [-5000, '0s'],
      [0, '0s'],
      [119_999, '119s'],
      [2 * minute, '2m'],
      [3 * minute + 12_000, '3m12s'],
      [10 * minute + 30_000, '10m'],
      [179 * minute, '179m'],
      [3 * hour, '3h'],
      [4 * hour + 7 * minute, '4h7m'],
      [8 * hour + 7 * minute, '8h'],
      [47 * hour, '47h'],
      [48 * hour, '2d'],
      [2 * day + 3 * hour, '2d3h'],
      [8 * day + 3 * hour, '8d'],
      [729 * day, '729d'],
      [730 * day, '2y'],
      [740 * day, '2y10d'],
      [9 * 365 * day + 40 * day, '9y'],
    ];
    for (const [ms, text] of ages) assert.equal(age(ms), text, `${ms} ms`);
  });

  it('show the age of a static pod since the node accepted it, also after a restart of the agent', () => {
    const status: PodStatus = {
      startTime: '2026-01-01T00:00:00Z',
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: '2025-12-31T23:00:00Z' }],
    };
    const ageOf = (annotations: Record<string, string>, shown: PodStatus): string | undefined =>
      podTable([pod(shown, { annotations })], Date.UTC(2026, 0, 1, 0, 1))
        .split('\n')[1]
        ?.split(/ +/)[5];
    const fromFile = { 'kubernetes.io/config.source': 'file' };
    assert.equal(ageOf(fromFile, status), '61m');
    assert.equal(ageOf({}, status), '60s', 'the scheduler may have chosen the node long before');
    assert.equal(ageOf(fromFile, { ...status, conditions: [] }), '60s');
    assert.equal(ageOf(fromFile, {}), '');
  });

  it('line up', () => {
    const status: PodStatus = {
      phase: 'Running',
      startTime: '2026-01-01T00:00:00Z',
      podIP: '10.0.0.9',
      containerStatuses: [container('a', running, { ready: true, restartCount: 2 })],
    };
    assert.equal(
      podTable([pod(status)], Date.UTC(2026, 0, 1, 0, 0, 30)),
      'NAMESPACE   NAME   READY   STATUS    RESTARTS   AGE   IP\ndefault     web    1/2     Running   2          30s   10.0.0.9\n',
    );
  });
});

describe('an explanation', () => {
  it('names step, cause, since when, last error and next try, and the record below', () => {
    const blockers = [
      {
        step: 'start container a',
        cause: 'ErrImagePull',
        sinceMs: 1000,
        lastError: 'no such host\ntry later\n',
        nextTryAtMs: 66_500,
      },
    ];
    const timeline = [
      { atMs: 31_000, kind: 'event' as const, type: 'Warning' as const, reason: 'Failed', message: 'pull', count: 3 },
    ];
    const text = explanationText(
      {
        uid: 'u' as never,
        namespace: 'default',
        name: 'web',
        phase: 'Pending',
        settled: false,
        blockers,
        suggestions: ['ConfigMap default/a does not exist: put it into /m'],
        timeline,
      },
      61_000,
      true,
    );
    assert.equal(
      text,
      [
        'default/web: Pending, not settled',
        '  blocked on   start container a',
        '    because    ErrImagePull',
        '    since      60s ago',
        '    last error no such host | try later',
        '    next try   in 6s',
        '  to do        ConfigMap default/a does not exist: put it into /m',
        '  timeline',
        '       30s ago  ! Failed: pull (x3)',
        '',
      ].join('\n'),
    );
  });
});
