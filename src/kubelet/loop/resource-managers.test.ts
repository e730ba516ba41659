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
    /** The containers that share the CPUs of their pod. */
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
  it('the resources of terminal pods are released before a new pod is checked', () => {
    const { managers, calls } = world();
    assert.equal(managers.check(pod), undefined);
    assert.deepEqual(calls, ['retain a', 'check']);
  });

  it('a pod keeps its resources while it has a worker or was admitted, or while the runtime may run something of it', () => {
    const { managers, calls, state } = world();
    Object.assign(state, { present: '', place: 'b' });
    managers.release();
    Object.assign(state, { place: '', unread: 'a' });
    managers.release();
    state.unread = '';
    managers.release();
    assert.deepEqual(calls, ['retain b', 'retain a', 'retain ']);
  });

  it('an ended pod that its source still lists releases its resources, but not while one of its containers runs', () => {
    const { managers, calls, state } = world();
    Object.assign(state, { place: 'a', ended: 'a', running: 'a' });
    managers.release();
    state.running = '';
    managers.release();
    assert.deepEqual(calls, ['retain a', 'retain ']);
  });

  it('nothing is released while a source has not reported', () => {
    const { managers, calls, state } = world();
    state.ready = false;
    managers.release();
    assert.deepEqual(calls, []);
  });

  it("a container is created only after its pod's resources were written to disk", async () => {
    const { managers, calls, state } = world();
    state.own = new Set([3]);
    managers.podAdmitted(pod);
    const { pinning, exclusiveCpus } = await managers.place(pod);
    assert.deepEqual(pinning?.('main'), { cpusetCpus: '3' });
    assert.deepEqual(calls, ['allocate', 'saved', 'created a/main 3']);
    assert.equal(exclusiveCpus?.('main'), true);
  });

  it('a pod without exclusive CPUs gets the shared pool, and does not wait for the disk', async () => {
    const { managers, calls } = world();
    const { pinning, exclusiveCpus } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), exclusiveCpus?.('main')], [{ cpusetCpus: '0-1' }, false]);
    assert.deepEqual(calls, ['created a/main 0,1']);
  });

  it('a pod also gets the memory of NUMA nodes', async () => {
    const { managers, calls, state } = world({ policyName: 'none' });
    state.nodes = new Set([1, 0]);
    const { pinning } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), calls], [{ cpusetMems: '0-1' }, ['saved']]);
  });

  it('the policy none passes no resources to the runtime', async () => {
    const { managers, calls } = world({ policyName: 'none' });
    managers.start();
    managers.runtimeChanged();
    const { pinning } = await managers.place(pod);
    assert.deepEqual([pinning?.('main'), calls], [{}, []]);
  });

  it('exclusive CPUs need no quota, unless the gate is off', () => {
    const { managers, state } = world({ quotaOffWithExclusiveCpus: false });
    state.own = new Set([3]);
    assert.equal(managers.hasExclusiveCpus(pod), false);
  });

  it('a pod needs no quota if one container has exclusive CPUs, or if all have them in a pod with pod-level resources', () => {
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

  it('an allocation that fails for an admitted pod is logged once, and tried again before the pod starts', async () => {
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

  it('running containers follow a change of their pinning at once', () => {
    const { managers, calls, listeners } = world();
    managers.start();
    for (const listener of listeners) listener();
    managers.runtimeChanged();
    assert.deepEqual(calls, ['start', 'wake', 'wake']);
  });
});
