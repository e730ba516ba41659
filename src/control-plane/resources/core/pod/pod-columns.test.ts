import assert from 'node:assert/strict';
import test from 'node:test';
import type { Pod } from '../../../../api/core/pod.ts';
import type { ContainerState } from '../../../../api/core/pod-status.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../../api/testing/pod-builder.ts';
import { podColumns } from './pod-columns.ts';
import { nowMs } from '../../testing/rules-fixture.ts';

const ago = (minutes: number): string => new Date(nowMs - minutes * 60_000).toISOString();
const status = (name: string, state: object, more: object = {}): object => ({
  name,
  state,
  ready: false,
  restartCount: 0,
  image: 'x',
  imageID: 'y',
  ...more,
});
const running = (name: string, more: object = {}): object =>
  status(name, { running: {} }, { ready: true, started: true, ...more });
const ended = (name: string, exitCode: number, reason = ''): object =>
  status(name, { terminated: { exitCode, ...(reason !== '' && { reason }) } });
const waiting = (name: string, reason: string): object => status(name, { waiting: { reason } });
const restarted = (finishedAt: string): { lastState: ContainerState } => ({
  lastState: { terminated: { exitCode: 1, finishedAt } },
});
const isReady = { type: 'Ready', status: 'True' };

function cells(changes: Changes): Record<string, unknown> {
  const pod: Pod = buildPod(changes);
  return Object.fromEntries(podColumns.map(({ name, cell }) => [name, cell(pod, nowMs)]));
}

function summary(changes: Changes): string {
  const { Ready, Status, Restarts } = cells(changes);
  return [Ready, Status, Restarts].join(' ');
}

test('one word tells the state of a pod, as kubectl users know it', () => {
  const two = { 'spec.containers[1]': { name: 'side', image: 'x' } };
  const of = (phase: string, ...containerStatuses: object[]): Changes => ({
    'status.phase': phase,
    'status.containerStatuses': containerStatuses,
  });
  const cases: readonly [Changes, string][] = [
    [{ 'status.phase': 'Pending' }, '0/1 Pending 0'],
    [{ 'status.phase': 'Failed', 'status.reason': 'Evicted' }, '0/1 Evicted 0'],
    [
      {
        'status.phase': 'Pending',
        'status.conditions': [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated' }],
      },
      '0/1 SchedulingGated 0',
    ],
    [of('Pending', waiting('main', 'ContainerCreating')), '0/1 ContainerCreating 0'],
    [of('Pending', waiting('main', 'ImagePullBackOff')), '0/1 ImagePullBackOff 0'],
    [of('Running', running('main')), '1/1 Running 0'],
    [of('Running', running('main', { ready: false })), '0/1 Running 0'],
    [of('Succeeded', ended('main', 0, 'Completed')), '0/1 Completed 0'],
    [of('Failed', ended('main', 1, 'Error')), '0/1 Error 0'],
    [of('Failed', ended('main', 7)), '0/1 ExitCode:7 0'],
    [of('Failed', status('main', { terminated: { exitCode: 137, signal: 9 } })), '0/1 Signal:9 0'],
    [
      of(
        'Running',
        status('main', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 3, ...restarted(ago(5)) }),
      ),
      '0/1 CrashLoopBackOff 3 (5m ago)',
    ],
    [of('Running', running('main', { restartCount: 2 })), '1/1 Running 2'],
    [
      { ...two, ...of('Running', ended('main', 0, 'Completed'), running('side')), 'status.conditions': [isReady] },
      '1/2 Running 0',
    ],
    [{ ...two, ...of('Running', ended('main', 0, 'Completed'), running('side')) }, '1/2 NotReady 0'],
    [{ ...two, ...of('Running', ended('main', 0, 'Completed'), ended('side', 2, 'Error')) }, '0/2 Error 0'],
    [{ ...of('Running', running('main')), 'metadata.deletionTimestamp': ago(1) }, '1/1 Terminating 0'],
    [{ ...of('Succeeded', ended('main', 0, 'Completed')), 'metadata.deletionTimestamp': ago(1) }, '0/1 Completed 0'],
    [
      { ...of('Running', running('main')), 'metadata.deletionTimestamp': ago(1), 'status.reason': 'NodeLost' },
      '1/1 Unknown 0',
    ],
  ];
  for (const [changes, expected] of cases) assert.equal(summary(changes), expected);
});

test('init containers are shown until they are through, sidecars count as containers', () => {
  const inits = {
    'spec.initContainers': [
      { name: 'one', image: 'x' },
      { name: 'two', image: 'x' },
    ],
    'status.phase': 'Pending',
  };
  const creating = { 'status.containerStatuses': [waiting('main', 'PodInitializing')] };
  const at = (...initContainerStatuses: object[]): Changes => ({
    ...inits,
    ...creating,
    'status.initContainerStatuses': initContainerStatuses,
  });
  assert.equal(summary(at(running('one'), waiting('two', 'PodInitializing'))), '0/1 Init:0/2 0');
  assert.equal(summary(at(ended('one', 0, 'Completed'), waiting('two', 'PodInitializing'))), '0/1 Init:1/2 0');
  assert.equal(summary(at(ended('one', 0), waiting('two', 'ErrImagePull'))), '0/1 Init:ErrImagePull 0');
  assert.equal(summary(at(ended('one', 1, 'Error'))), '0/1 Init:Error 0');
  assert.equal(summary(at(ended('one', 5))), '0/1 Init:ExitCode:5 0');
  assert.equal(
    summary(at(status('one', { waiting: { reason: 'CrashLoopBackOff' } }, { restartCount: 4, ...restarted(ago(3)) }))),
    '0/1 Init:CrashLoopBackOff 4 (3m ago)',
  );
  assert.equal(summary(at(ended('one', 0), ended('two', 0))), '0/1 PodInitializing 0');
  const sidecar = {
    'spec.initContainers': [{ name: 'proxy', image: 'x', restartPolicy: 'Always' }],
    'status.phase': 'Running',
  };
  assert.equal(
    summary({
      ...sidecar,
      'status.initContainerStatuses': [running('proxy', { restartCount: 1 })],
      'status.containerStatuses': [running('main', { restartCount: 1 })],
    }),
    '2/2 Running 2',
  );
  assert.equal(
    summary({ ...sidecar, 'status.initContainerStatuses': [running('proxy', { started: false })] }),
    '0/2 Init:0/1 0',
  );
  // Restarts of plain init containers are history once the others run.
  assert.equal(
    summary({
      ...inits,
      'status.phase': 'Running',
      'status.initContainerStatuses': [{ ...ended('one', 0), restartCount: 9 }, ended('two', 0)],
      'status.containerStatuses': [running('main')],
    }),
    '1/1 Running 0',
  );
});

test('the wide table tells address, node and gates, or that there are none', () => {
  const { IP, Node, 'Nominated Node': nominated, 'Readiness Gates': gates } = cells({});
  assert.deepEqual([IP, Node, nominated, gates], ['<none>', '<none>', '<none>', '<none>']);
  const full = cells({
    'spec.nodeName': 'n1',
    'spec.readinessGates': [{ conditionType: 'a/x' }, { conditionType: 'a/y' }],
    'status.conditions': [
      { type: 'a/x', status: 'True' },
      { type: 'a/y', status: 'False' },
    ],
    'status.podIPs': [{ ip: '10.0.0.7' }, { ip: 'fd00::7' }],
    'status.nominatedNodeName': 'n2',
    'metadata.creationTimestamp': ago(61),
  });
  assert.deepEqual(
    [full['IP'], full['Node'], full['Nominated Node'], full['Readiness Gates'], full['Age']],
    ['10.0.0.7', 'n1', 'n2', '1/2', '61m'],
  );
  assert.deepEqual(
    podColumns.map(({ name, priority = 0 }) => `${name} ${priority}`),
    ['Ready 0', 'Status 0', 'Restarts 0', 'Age 0', 'IP 1', 'Node 1', 'Nominated Node 1', 'Readiness Gates 1'],
  );
});
