import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ContainerStatus } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { aContainer, aPod, aRun, aStatus, anEphemeral } from '../pod-runtime/testing/builders.ts';
import type { ContainerStatusFacts } from './container-statuses.ts';
import { containerStatuses, timestamp } from './container-statuses.ts';

type Kind = 'init' | 'regular' | 'ephemeral';
interface How extends Partial<ContainerStatusFacts> {
  readonly kind?: Kind;
  readonly restartingAll?: boolean;
}

const said = (more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name: 'app',
  image: 'app:1',
  imageID: '',
  ready: true,
  restartCount: 0,
  ...more,
});

function statusesOf(pod: Pod, runs: readonly ContainerRuntimeStatus[], how: How = {}): ContainerStatus[] {
  const { kind = 'regular', restartingAll = false, ...facts } = how;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  return containerStatuses(
    {
      pod,
      runtime: aStatus(runs),
      previous: [],
      rules: {
        shouldBeStarted: (_pod, _container, newest) => newest?.state !== 'running',
        restartsAfterExit: () => true,
        isDefinitionChanged: () => false,
        shouldRestartAllContainers: () => restartingAll,
        needsNewSandbox: () => false,
        isGivenUp: () => false,
      },
      failures: { get: () => undefined },
      runtimeName: 'containerd',
      ...facts,
    },
    { regular: containers, init: initContainers, ephemeral: ephemeralContainers }[kind],
    kind,
  );
}

function statusOf(pod: Pod, runs: readonly ContainerRuntimeStatus[], how: How = {}): ContainerStatus {
  const [first] = statusesOf(pod, runs, how);
  assert.ok(first !== undefined);
  return first;
}

describe('a container without a record in the runtime', () => {
  it('waits to be created, or for the init containers of its pod', () => {
    const fresh = statusOf(aPod(), []);
    assert.deepEqual(
      [fresh.state, fresh.lastState, fresh.ready, fresh.restartCount, fresh.image],
      [{ waiting: { reason: 'ContainerCreating' } }, {}, false, 0, 'app:1'],
    );
    const later = statusOf(aPod({ initContainers: [aContainer('i')] }), []);
    assert.deepEqual(later.state, { waiting: { reason: 'PodInitializing' } });
    assert.deepEqual(statusOf(aPod({ initContainers: [] }), []).state, fresh.state);
  });

  it('keeps the published termination, but is not ready', () => {
    const published = said({ state: { terminated: { exitCode: 3 } }, restartCount: 4 });
    assert.deepEqual(statusOf(aPod(), [], { previous: [published] }), {
      ...published,
      ready: false,
      volumeMounts: undefined,
    });
  });

  it('has an unknown termination if it was reported as running and the pod is not being deleted; this is counted once', () => {
    const published = said({ state: { running: {} }, restartCount: 4 });
    const status = statusOf(aPod(), [], { previous: [published] });
    assert.deepEqual(
      [status.restartCount, status.state, status.lastState?.terminated?.exitCode],
      [5, { waiting: { reason: 'ContainerCreating' } }, 137],
    );
    const deleted = aPod({}, { deletionTimestamp: '2026-01-01T00:00:00Z' });
    assert.equal(statusOf(deleted, [], { previous: [published] }).restartCount, 4);
    const known = { ...published, lastState: { terminated: { exitCode: 7 } } };
    const again = statusOf(aPod(), [], { previous: [known] });
    assert.deepEqual([again.restartCount, again.lastState], [4, known.lastState]);
    const waiting = statusOf(aPod(), [], { previous: [said({ state: { waiting: {} }, restartCount: 2 })] });
    assert.deepEqual([waiting.restartCount, waiting.lastState], [2, {}]);
  });

  it('counts as restarted once if all containers of its pod were restarted', () => {
    const published = said({ state: { running: {} }, restartCount: 1 });
    const reason = 'RestartingAllContainers';
    const message = 'The container is removed because RestartAllContainers in place';
    const status = statusOf(aPod(), [], { previous: [published], restartingAll: true });
    assert.deepEqual(
      [status.restartCount, status.state, status.lastState],
      [2, { waiting: { reason, message } }, { terminated: { exitCode: 137, reason, message } }],
    );
    const again = statusOf(aPod(), [], { previous: [status], restartingAll: true });
    assert.deepEqual([again.restartCount, again.lastState], [2, status.lastState]);
  });
});

describe('a container with a record', () => {
  it('counts the larger of the restarts known to the runtime and to the API server', () => {
    assert.equal(statusOf(aPod(), [aRun('app', 'running', { attempt: 2 })]).restartCount, 2);
    const published = said({ restartCount: 5, containerID: 'containerd://app-2', state: { running: {} } });
    assert.equal(statusOf(aPod(), [aRun('app', 'running', { attempt: 2 })], { previous: [published] }).restartCount, 5);
  });

  it('counts one more restart when a new run appears after a termination that was published with the same or a higher count', () => {
    const published = said({
      restartCount: 5,
      containerID: 'containerd://gone',
      state: { terminated: { exitCode: 1 } },
    });
    const of = (state: 'running' | number, attempt: number, previous: Partial<ContainerStatus> = {}): number =>
      statusOf(aPod(), [aRun('app', state, { attempt })], { previous: [{ ...published, ...previous }] }).restartCount;
    assert.equal(of('running', 0), 6);
    assert.equal(of('running', 5), 6);
    assert.equal(of('running', 6), 6);
    assert.equal(of('running', 7), 7);
    assert.equal(of('running', 0, { containerID: 'containerd://app-0' }), 5, 'the same run');
    assert.equal(of('running', 0, { state: { waiting: {} } }), 5);
    assert.equal(of(1, 0), 5, 'only a start counts');
  });

  it('a recorded container with unknown state has an unknown termination and counts a restart if it was reported as running; otherwise it waits', () => {
    const running = said({ state: { running: {} }, restartCount: 2 });
    const ended = statusOf(aPod(), [aRun('app', 'unknown')], { previous: [running] });
    assert.deepEqual([ended.restartCount, ended.state?.terminated?.exitCode], [3, 137]);
    const waits = statusOf(aPod(), [aRun('app', 'unknown')]);
    assert.deepEqual([waits.restartCount, waits.state], [0, { waiting: {} }]);
    assert.deepEqual(statusOf(aPod(), [aRun('app', 'created')]).state, { waiting: {} });
  });

  it('keeps the reported state of a later run whose record was removed', () => {
    const published = said({
      restartCount: 3,
      containerID: 'containerd://gone',
      state: { terminated: { exitCode: 9, startedAt: '2026-01-01T00:00:00Z' } },
    });
    const of = (run: ContainerRuntimeStatus): number | undefined =>
      statusOf(aPod(), [run], { previous: [published] }).state?.terminated?.exitCode;
    assert.equal(of(aRun('app', 1, { attempt: 2 })), 9);
    assert.equal(statusOf(aPod(), [aRun('app', 1)], { previous: [published] }).ready, false);
    assert.equal(of(aRun('app', 1, { attempt: 3 })), 1, 'as late');
    assert.equal(of(aRun('app', 1, { attempt: 2, startedAtMs: Date.UTC(2026, 0, 1) })), 1, 'started as late');
    const same = { ...published, containerID: 'containerd://app-2' };
    const status = statusOf(aPod(), [aRun('app', 1, { attempt: 2 })], { previous: [same] });
    assert.equal(status.state?.terminated?.exitCode, 1, 'the very run');
  });

  it('shows the last termination from the older run, else from the published status', () => {
    const runs = [aRun('app', 'running', { attempt: 1 }), aRun('app', 4)];
    assert.equal(statusOf(aPod(), runs).lastState?.terminated?.exitCode, 4);
    const published = said({ containerID: 'containerd://other', state: { terminated: { exitCode: 6 } } });
    const fromPublished = statusOf(aPod(), [aRun('app', 'running')], { previous: [published] });
    assert.deepEqual(fromPublished.lastState, { terminated: { exitCode: 6 } });
    const older = said({ state: { running: {} }, lastState: { terminated: { exitCode: 5 } } });
    assert.deepEqual(statusOf(aPod(), [aRun('app', 'running')], { previous: [older] }).lastState, older.lastState);
    const notEnded = [aRun('app', 'running', { attempt: 1 }), aRun('app', 'created')];
    assert.deepEqual(statusOf(aPod(), notEnded).lastState, {});
  });

  it('shows its message, its user and, if requested, its stop signal', () => {
    const run = aRun('app', 1, {
      message: 'bye',
      stopSignal: 'SIGUSR1',
      user: { uid: 1, gid: 2, supplementalGroups: [3] },
    });
    const status = statusOf(aPod(), [run]);
    assert.equal(status.state?.terminated?.message, 'bye');
    assert.deepEqual(status.user, { linux: { uid: 1, gid: 2, supplementalGroups: [3] } });
    assert.equal('stopSignal' in status, false);
    assert.equal(statusOf(aPod(), [run], { stopSignals: true }).stopSignal, 'SIGUSR1');
    const plain = statusOf(aPod(), [aRun('app', 1)], { stopSignals: true });
    assert.deepEqual(
      ['user' in plain, 'stopSignal' in plain, 'message' in (plain.state?.terminated ?? {})],
      [false, false, false],
    );
  });

  it('shows what is allocated', () => {
    const asked = { requests: { cpu: '1' }, limits: { cpu: '2' } };
    const of = (resources: Parameters<typeof aContainer>[1] = {}): ContainerStatus =>
      statusOf(aPod({ containers: [aContainer('app', resources)] }), [aRun('app', 'running')]);
    assert.deepEqual(of({ resources: asked }).allocatedResources, { cpu: '1' });
    assert.deepEqual(of({ resources: asked }).resources, asked);
    assert.equal('allocatedResources' in of({ resources: { requests: {} } }), false);
    assert.equal('allocatedResources' in of(), false);
  });
});

describe('a container whose start failed', () => {
  const failures = { get: () => ({ reason: 'ErrImagePull', message: 'no' }) };
  const waiting = { waiting: { reason: 'ErrImagePull', message: 'no' } };

  it('waits with the reason, and its end becomes the last state', () => {
    const status = statusOf(aPod(), [aRun('app', 4)], { failures });
    assert.deepEqual([status.state, status.lastState?.terminated?.exitCode], [waiting, 4]);
    const published = said({ state: { waiting: {} }, lastState: { terminated: { exitCode: 5 } } });
    const fresh = statusOf(aPod(), [], { failures, previous: [published] });
    assert.deepEqual([fresh.state, fresh.lastState], [waiting, published.lastState]);
  });

  it('shows the failure neither while it runs, nor if it is an ephemeral container that was created', () => {
    assert.notEqual(statusOf(aPod(), [aRun('app', 'running')], { failures }).state?.running, undefined);
    const debug = aPod({ ephemeralContainers: [anEphemeral('debug')] });
    const made = statusOf(debug, [aRun('debug', 1)], { failures, kind: 'ephemeral' });
    assert.equal(made.state?.terminated?.exitCode, 1);
    assert.deepEqual(statusOf(debug, [], { failures, kind: 'ephemeral' }).state, waiting);
  });
});

describe('init containers', () => {
  const pod = aPod({ initContainers: [aContainer('i')] });

  it('that were created and not started are ignored when the pod is past them', () => {
    const late = [aRun('i', 'created', { attempt: 1 }), aRun('i', 0)];
    const of = (...runs: ContainerRuntimeStatus[]): boolean =>
      statusOf(pod, [...runs, ...late], { kind: 'init' }).state?.terminated !== undefined;
    assert.equal(of(aRun('app', 'running')), true);
    assert.equal(of(aRun('app', 1)), false);
    assert.equal(of(aRun('other', 'running')), false);
    const side = aPod({ initContainers: [aContainer('i', { restartPolicy: 'Always' })] });
    const sidecar = statusOf(side, [aRun('app', 'running'), ...late], { kind: 'init' });
    assert.deepEqual(sidecar.state, { waiting: {} }, 'sidecars start again');
    const regular = statusOf(aPod(), [aRun('app', 'created', { attempt: 1 }), aRun('app', 'running')]);
    assert.deepEqual(regular.state, { waiting: {} });
  });

  it('keep their order; all others are sorted by name', () => {
    const containers = [aContainer('b'), aContainer('a')];
    const names = (of: Pod, kind: Kind): string[] => statusesOf(of, [], { kind }).map(({ name }) => name);
    assert.deepEqual(names(aPod({ initContainers: containers }), 'init'), ['b', 'a']);
    assert.deepEqual(names(aPod({ containers }), 'regular'), ['a', 'b']);
  });
});

describe('an OOM-killed container', () => {
  const killed = aRun('app', 137, { reason: 'OOMKilled' });
  const pod = aPod({ restartPolicy: 'Never' });
  const messageOf = (how: How): string | undefined => statusOf(pod, [killed], how).state?.terminated?.message;
  const oomKills = {
    containerMessage: (id: string) => (id === killed.id ? 'used 32Mi of 32Mi' : undefined),
    condition: undefined,
  };

  it('reports the exceeded limit, unless the container left a message', () => {
    assert.equal(messageOf({ oomKills }), 'used 32Mi of 32Mi');
    const spoke = statusOf(pod, [{ ...killed, message: 'out of heap' }], { oomKills });
    assert.equal(spoke.state?.terminated?.message, 'out of heap');
    const other = statusOf(pod, [{ ...killed, reason: 'Error' }], { oomKills });
    assert.equal(other.state?.terminated?.message, undefined);
  });

  it('keeps what an earlier agent reported, also as the last state of the next run', () => {
    const published = statusOf(pod, [killed], { oomKills });
    assert.equal(messageOf({ previous: [published] }), 'used 32Mi of 32Mi');
    const again = [aRun('app', 'running', { attempt: 1 }), killed];
    const restarted = statusOf(pod, again, { previous: [published] });
    assert.equal(restarted.lastState?.terminated?.message, 'used 32Mi of 32Mi');
    const later = statusOf(pod, again, { previous: [restarted] });
    assert.equal(later.lastState?.terminated?.message, 'used 32Mi of 32Mi');
  });
});

describe('read-only mounts', () => {
  const mounts = [
    { name: 'v', mountPath: 'data', readOnly: true },
    { name: 'w', mountPath: '/w' },
  ];
  const pod = aPod({ containers: [aContainer('app', { volumeMounts: mounts })] });
  const said1 = (status: ContainerStatus): string | undefined => status.volumeMounts?.[0]?.recursiveReadOnly;

  it('report whether submounts are read-only too, as mounted, else as published before', () => {
    const made = (recursiveReadOnly: boolean): ContainerRuntimeStatus =>
      aRun('app', 'running', { mounts: [{ containerPath: '/data', recursiveReadOnly }] as never });
    assert.deepEqual(
      [said1(statusOf(pod, [made(true)])), said1(statusOf(pod, [made(false)]))],
      ['Enabled', 'Disabled'],
    );
    const previous = [said({ volumeMounts: [{ name: 'v', mountPath: 'data', recursiveReadOnly: 'Enabled' }] })];
    assert.deepEqual([said1(statusOf(pod, [], { previous })), said1(statusOf(pod, []))], ['Enabled', 'Disabled']);
    assert.deepEqual(statusOf(pod, []).volumeMounts?.[1], { name: 'w', mountPath: '/w' });
    const bare = { previous: [said()] };
    assert.equal(said1(statusOf(pod, [aRun('app', 'running')], bare)), 'Disabled');
  });
});

describe('timestamps', () => {
  it('a timestamp has whole seconds, and is absent if the runtime does not report it', () => {
    assert.equal(timestamp(Date.UTC(2026, 0, 1) + 999), '2026-01-01T00:00:00Z');
    assert.deepEqual([timestamp(0), timestamp(-1)], [undefined, undefined]);
  });
});
