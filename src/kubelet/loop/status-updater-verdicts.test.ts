import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../api/core/pod-status.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { createStatusUpdaterWorld, uid } from './testing/status-updater-world.ts';

describe('the status of a pod that the node held, rejected, preempted or evicted', () => {
  it('contains only the reason for a rejected pod', () => {
    const { updater, world, clock } = createStatusUpdaterWorld();
    world.verdict = { kind: 'rejected', reason: 'NodeAffinity', message: 'Pod was rejected: no' };
    assert.deepEqual(updater.refresh(uid), {
      phase: 'Failed',
      qosClass: 'BestEffort',
      reason: 'NodeAffinity',
      message: 'Pod was rejected: no',
      startTime: new Date(clock.nowMs()).toISOString().replace('.000', ''),
      conditions: [],
    });
  });

  it('stays unchanged for a pod that an earlier run rejected', () => {
    const rejected: PodStatus = { phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'Pod was rejected: x' };
    const { world, updater } = createStatusUpdaterWorld({}, { [uid]: rejected });
    world.worker = { phase: 'finished' } as WorkerState;
    assert.deepEqual(updater.compute(buildPod({})), rejected);
  });

  it('names the holder of a held pod, and drops it afterwards', () => {
    const { updater, world } = createStatusUpdaterWorld();
    world.verdict = { kind: 'held', reason: 'AdmissionHeld', message: 'held by x: y' };
    const held = updater.refresh(uid);
    assert.deepEqual(
      [held?.phase, held?.reason, held?.message, held?.containerStatuses],
      ['Pending', 'AdmissionHeld', 'held by x: y', undefined],
    );
    world.verdict = undefined;
    const free = updater.refresh(uid);
    assert.deepEqual(
      [free?.phase, free?.reason, free?.message, free?.containerStatuses?.length],
      ['Pending', undefined, undefined, 1],
    );
  });

  it('does not report an end for a held pod of which the runtime knows nothing any more', () => {
    const running = {
      name: 'main',
      image: 'i',
      imageID: 'id',
      ready: true,
      restartCount: 0,
      containerID: 'containerd://c',
      state: { running: { startedAt: '2025-01-01T00:00:00Z' } },
      lastState: {},
    };
    const { updater, world } = createStatusUpdaterWorld({
      'spec.restartPolicy': 'Never',
      'status.phase': 'Running',
      'status.containerStatuses': [running],
    });
    world.restarts = false;
    world.verdict = { kind: 'held', reason: 'AdmissionHeld', message: 'held by devices: no healthy devices present' };
    for (const turn of [1, 2]) {
      const held = updater.refresh(uid);
      const [main] = held?.containerStatuses ?? [];
      assert.deepEqual([held?.phase, main?.state, main?.ready], ['Running', running.state, false], `turn ${turn}`);
    }
    world.verdict = { kind: 'rejected', reason: 'UnexpectedAdmissionError', message: 'Pod was rejected: no devices' };
    const rejected = updater.refresh(uid);
    assert.deepEqual([rejected?.phase, rejected?.reason], ['Failed', 'UnexpectedAdmissionError']);
  });

  it('reports the end of a held pod whose containers the runtime still knows', () => {
    const { updater, world, contain } = createStatusUpdaterWorld({
      'spec.restartPolicy': 'Never',
      'status.phase': 'Running',
    });
    world.restarts = false;
    world.runtime = contain('exited', 0);
    world.verdict = { kind: 'held', reason: 'AdmissionHeld', message: 'held by devices: no healthy devices present' };
    assert.equal(updater.refresh(uid)?.phase, 'Succeeded');
  });

  it('shows that a pod was preempted, with the condition for it', () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    assert.equal(updater.refresh(uid)?.phase, 'Running');
    world.verdict = {
      kind: 'preempted',
      reason: 'Preempting',
      message: 'm',
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'c' },
    };
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason, status?.message], ['Failed', 'Preempting', 'm']);
    world.runtime = contain('exited', 137);
    world.worker = {
      phase: 'terminated',
      pod: buildPod(),
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    updater.refresh(uid);
    world.verdict = undefined;
    const after = updater.refresh(uid);
    assert.deepEqual(
      [after?.reason, after?.conditions?.filter(({ type }) => type === 'DisruptionTarget').map(({ reason }) => reason)],
      ['Preempting', ['TerminationByKubelet']],
    );
  });

  it('takes the final phase of a preempted pod from its containers, also after a restart of the agent', () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    world.verdict = {
      kind: 'preempted',
      reason: 'Preempting',
      message: 'm',
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'c' },
    };
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
    world.worker = {
      phase: 'terminating',
      subject: { kind: 'pod', pod: buildPod() },
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
    world.runtime = contain('exited');
    const ended = updater.refresh(uid);
    assert.deepEqual(
      [ended?.phase, ended?.reason, ended?.conditions?.some(({ type }) => type === 'DisruptionTarget')],
      ['Succeeded', undefined, true],
    );
    world.worker = { phase: 'syncing', pod: buildPod() };
    assert.equal(updater.refresh(uid)?.phase, 'Succeeded');
  });

  for (const kind of ['preempted', 'evicted'] as const)
    it(`publishes no end of a pod that is ${kind} before its containers and its sandbox have stopped`, () => {
      const { updater, world, contain, statuses } = createStatusUpdaterWorld();
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'c',
      } as const;
      world.runtime = contain('running');
      updater.refresh(uid);
      if (kind === 'evicted') world.evicted = { reason: 'Evicted', message: 'm', condition };
      else world.verdict = { kind, reason: 'Preempting', message: 'm', condition };
      const published: (string | undefined)[] = [];
      const refresh = (): void => {
        updater.refresh(uid);
        published.push(statuses.get(uid)?.phase);
      };
      refresh();
      world.worker = {
        phase: 'terminating',
        subject: { kind: 'pod', pod: buildPod() },
        termination: { cause: 'evicted', graceMs: 1000, gone: false },
      };
      refresh();
      const stopped = contain('exited');
      world.runtime = { ...stopped, sandboxes: contain('running').sandboxes };
      refresh();
      assert.deepEqual(published, ['Running', 'Running', 'Running']);
      world.runtime = stopped;
      refresh();
      assert.equal(published.at(-1), 'Succeeded');
    });

  it('takes the final phase of an evicted pod from its containers, and keeps the reason of one that failed', () => {
    const ends: [number | undefined, string, string | undefined][] = [
      [0, 'Succeeded', undefined],
      [137, 'Failed', 'Evicted'],
      [undefined, 'Failed', 'Evicted'],
    ];
    for (const [exitCode, phase, reason] of ends) {
      const { updater, world, contain, statuses } = createStatusUpdaterWorld();
      const running = contain('running');
      world.runtime = exitCode === undefined ? { ...running, containers: [] } : running;
      updater.refresh(uid);
      const before = statuses.get(uid)?.phase;
      const condition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' } as const;
      world.evicted = { reason: 'Evicted', message: 'm', condition };
      if (exitCode !== undefined)
        assert.deepEqual([updater.refresh(uid)?.phase, statuses.get(uid)?.phase], ['Failed', before]);
      world.worker = {
        phase: 'terminated',
        pod: buildPod(),
        termination: { cause: 'evicted', graceMs: 1000, gone: false },
      };
      if (exitCode !== undefined) world.runtime = contain('exited', exitCode);
      updater.refresh(uid);
      const published = statuses.get(uid);
      assert.deepEqual(
        [published?.phase, published?.reason, published?.conditions?.[0]?.reason],
        [phase, reason, 'TerminationByKubelet'],
      );
    }
  });

  it('keeps a static pod that a shutdown ended Failed when its policy would restart it', () => {
    const { updater, world, contain } = createStatusUpdaterWorld({
      'metadata.annotations': { 'kubernetes.io/config.source': 'file' },
    });
    world.runtime = contain('running');
    updater.refresh(uid);
    world.evicted = { reason: 'Terminated', message: 'm' };
    world.worker = {
      phase: 'terminated',
      pod: buildPod(),
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    world.runtime = contain('exited', 0);
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'Terminated']);
  });
});
