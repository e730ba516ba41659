import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import type { CpuSet } from '../model/cpu-set.ts';
import type { AllocationProblem } from '../model/topology-hints.ts';
import { ResourceManagers } from './resource-managers.ts';

const pod = buildPod({ 'metadata.uid': 'a' });
const missing: AllocationProblem = { reason: 'UnexpectedAdmissionError', message: 'none left' };

function world({ policyName = 'static' as 'static' | 'none', quotaOffWithExclusiveCpus = true } = {}) {
  const calls: string[] = [];
  const log = recordingLog();
  const state = {
    ready: true,
    problem: undefined as AllocationProblem | undefined,
    own: undefined as CpuSet | undefined,
    /** Containers that share the CPUs of their pod. */
    sharing: new Set<string>(),
    nodes: undefined as ReadonlySet<number> | undefined,
    present: 'a',
    place: '',
    unread: '',
    ended: '',
    running: '',
  };
  const listeners: (() => void)[] = [];
  const shared = new Set([0, 1]);
  const managers = new ResourceManagers({
    topology: {
      check: () => (calls.push('check'), state.problem),
      allocate: () => (calls.push('allocate'), state.problem),
    },
    cpu: {
      policyName,
      affinity: () => (policyName === 'none' ? undefined : (state.own ?? shared)),
      exclusive: () => state.own,
      isAlone: (_pod, { name }) => state.own !== undefined && !state.sharing.has(name),
      retain: (isLive) => void calls.push(`retain ${['a', 'b'].filter(isLive).join(' ')}`),
      onChange: (listener) => void listeners.push(listener),
    },
    memory: {
      affinity: () => state.nodes,
      retain: () => undefined,
    },
    updater: {
      start: () => void calls.push('start'),
      stop: async () => void calls.push('stop'),
      wake: () => void calls.push('wake'),
      noteCreated: (uid, container, cpus) => void calls.push(`created ${uid}/${container} ${[...cpus].join()}`),
      retain: () => undefined,
    },
    saved: async () => void calls.push('saved'),
    directory: { isPresent: (uid) => uid === state.present, isTerminal: (uid) => uid === state.ended },
    admission: () => ({ hasPlace: (uid) => uid === state.place }),
    runtime: { isRead: (uid) => uid !== state.unread, runsContainer: (uid) => uid === state.running },
    sourcesReady: () => state.ready,
    quotaOffWithExclusiveCpus,
    podLevel: true,
    log,
  });
  return { managers, calls, log, state, listeners };
}

describe('resources of pods', () => {
  it('pod resources of pods that are over are returned before a new one is checked', () => {
    const { managers, calls } = world();
    assert.equal(managers.check(pod), undefined);
    assert.deepEqual(calls, ['retain a', 'check']);
  });

  it('pod resources are kept for a pod that has a worker, that has a place, or of which the runtime may run something', () => {
    const { managers, calls, state } = world();
    Object.assign(state, { present: '', place: 'b' });
    managers.release();
    Object.assign(state, { place: '', unread: 'a' });
    managers.release();
    state.unread = '';
    managers.release();
    assert.deepEqual(calls, ['retain b', 'retain a', 'retain ']);
  });

  it('pod resources are returned when a pod has ended that its source still lists, but not while a container of it runs', () => {
    const { managers, calls, state } = world();
    Object.assign(state, { place: 'a', ended: 'a', running: 'a' });
    managers.release();
    state.running = '';
    managers.release();
    assert.deepEqual(calls, ['retain a', 'retain ']);
  });

  it('pod resources are not returned while a source of pods has not reported', () => {
    const { managers, calls, state } = world();
    state.ready = false;
    managers.release();
    assert.deepEqual(calls, []);
  });

  it('pod resources are on disk before a container of the pod is created with them', async () => {
    const { managers, calls, state } = world();
    state.own = new Set([3]);
    managers.podAdmitted(pod);
    const { pinning, exclusiveCpus } = await managers.place(pod);
    assert.deepEqual(pinning?.('main'), { cpusetCpus: '3' });
    assert.deepEqual(calls, ['allocate', 'saved', 'created a/main 3']);
    assert.equal(exclusiveCpus?.('main'), true);
  });

  it('pod resources are those of the shared pool without CPUs of its own, and the disk is not waited for', async () => {
    const { managers, calls } = world();
    const { pinning, exclusiveCpus } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), exclusiveCpus?.('main')], [{ cpusetCpus: '0-1' }, false]);
    assert.deepEqual(calls, ['created a/main 0,1']);
  });

  it('pod resources include the memory of NUMA nodes', async () => {
    const { managers, calls, state } = world({ policyName: 'none' });
    state.nodes = new Set([1, 0]);
    const { pinning } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), calls], [{ cpusetMems: '0-1' }, ['saved']]);
  });

  it('pod resources are not mentioned to the runtime with the policy none', async () => {
    const { managers, calls } = world({ policyName: 'none' });
    managers.start();
    managers.runtimeChanged();
    const { pinning } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), calls], [{}, []]);
  });

  it('pod resources need no quota, unless the gate is off', () => {
    const { managers, state } = world({ quotaOffWithExclusiveCpus: false });
    state.own = new Set([3]);
    assert.equal(managers.hasExclusiveCpus(pod), false);
  });

  it('pod resources need no quota for a pod when one container has them, or all in a pod with resources of its own', () => {
    const { managers, state } = world();
    state.own = new Set([3]);
    const containers = ['main', 'other'].map((name) => ({ name, image: 'x' }));
    const plain = buildPod({ 'spec.containers': containers });
    const amounts = { cpu: '2', memory: '1Gi' };
    const pooled = buildPod({
      'spec.containers': containers,
      'spec.resources': { requests: amounts, limits: amounts },
    });
    assert.deepEqual([managers.hasExclusiveCpus(plain), managers.hasExclusiveCpus(pooled)], [true, true]);
    state.sharing.add('other');
    assert.deepEqual([managers.hasExclusiveCpus(plain), managers.hasExclusiveCpus(pooled)], [true, false]);
    assert.deepEqual(
      ['main', 'other'].map((name) => managers.hasExclusiveCpus(pooled, name)),
      [true, false],
    );
  });

  it('pod resources that an admitted pod cannot have are logged once and tried again before it starts', async () => {
    const { managers, calls, state, log } = world();
    state.problem = missing;
    managers.podAdmitted(pod);
    await managers.place(pod);
    assert.deepEqual(calls, ['allocate', 'allocate']);
    assert.equal(log.lines.length, 1);
    state.problem = undefined;
    await managers.place(pod);
    await managers.place(pod);
    assert.equal(calls.filter((call) => call === 'allocate').length, 3);
  });

  it('pod resources that change are followed by running containers at once', () => {
    const { managers, calls, listeners } = world();
    managers.start();
    for (const listener of listeners) listener();
    managers.runtimeChanged();
    assert.deepEqual(calls, ['start', 'wake', 'wake']);
  });
});
