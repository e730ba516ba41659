import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { podUid } from '../../model/ids.ts';
import { judgeAdmission } from './admission-chain.ts';
import type { Rejection } from './admission-check.ts';
import { AdmissionManager } from './admission-manager.ts';
import { AdmittedRecord } from './admitted-record.ts';
import type { AdmissionAnswer, AdmissionStep } from './admission-step.ts';
import type { AdmissionState } from './admission-state.ts';

const node: Node = {
  metadata: { name: 'n1', namespace: '', uid: '', labels: {} },
  status: { allocatable: { cpu: '2', pods: '10' } },
};
const ask = (cpu: string, changes: Changes = {}): Changes => ({
  'spec.containers[0].resources.requests': { cpu },
  ...changes,
});

function harness(steps: readonly AdmissionStep[] = [], lastStepsOf?: (pod: Pod) => readonly AdmissionStep[]) {
  const clock = new FakeClock();
  const pods = new Map<string, Pod>();
  const log: string[] = [];
  const preempted: string[] = [];
  const world = {
    saved: Promise.resolve(),
    ran: new Set<string>(),
    ended: new Set<string>(),
    running: new Set<string>(),
    contained: new Set<string>(),
    pressure: undefined as Rejection | undefined,
    node,
  };
  const record = new AdmittedRecord();
  const manager = new AdmissionManager({
    judge: (question) =>
      judgeAdmission(question, { checks: {}, standalone: false, podLevelResources: true, taintComparisons: false }),
    steps,
    ...(lastStepsOf === undefined ? {} : { lastStepsOf }),
    node: () => world.node,
    livePods: () => [...pods.values()],
    pod: (uid) => pods.get(uid),
    hasRun: ({ metadata }) => world.ran.has(metadata.uid),
    runs: ({ metadata }) => world.running.has(metadata.uid),
    hasContainers: (uid) => world.contained.has(uid),
    pressureOn: () => world.pressure,
    hasEnded: ({ metadata }) => world.ended.has(metadata.uid),
    forgetRejection: () => undefined,
    record,
    saved: () => world.saved,
    allocated: (pod) => pod,
    stop: (uid) => void log.push(`stop ${uid}`),
    onPreempted: (resource) => void preempted.push(resource),
    hasStopped: (uid) => !world.running.has(uid),
    onChange: (uid) => void log.push(`changed ${uid}`),
    recorder: {
      event: ({ metadata }, type, reason, message) => void log.push(`${metadata.uid}: ${type} ${reason} ${message}`),
    },
    clock,
    log: silentLogger,
  });
  const add = (uid: string, changes: Changes = {}): AdmissionState => {
    const pod = buildPod({ 'metadata.uid': uid, 'metadata.name': uid, ...changes });
    pods.set(uid, pod);
    return manager.admit(pod);
  };
  const remove = (uid: string): void => {
    pods.delete(uid);
    manager.forget(podUid(uid));
  };
  const kind = (uid: string): string | undefined => manager.state(podUid(uid))?.kind;
  return { clock, manager, pods, log, preempted, world, record, add, remove, kind };
}

const FULL = "Node didn't have enough resource: cpu, requested: 1500, used: 1500, capacity: 2000";

describe('the admission manager', () => {
  it('admits and records pods that fit, and rejects others with an event', () => {
    const { add, record, log } = harness();
    assert.deepEqual(add('a', ask('1500m')), { kind: 'admitted' });
    assert.deepEqual(add('b', ask('1500m')), { kind: 'rejected', reason: 'OutOfcpu', message: FULL });
    assert.deepEqual([record.snapshot().admitted, log], [['a'], [`b: Warning OutOfcpu ${FULL}`]]);
  });

  it('refuses a pod whose first container would start under pressure that began after its admission', () => {
    const { add, manager, record, log, world, pods } = harness();
    const begins = (uid: string): boolean => manager.mayBegin(pods.get(uid) ?? buildPod());
    for (const uid of ['begun', 'ran', 'late']) add(uid);
    assert.equal(begins('begun'), true);
    world.contained.add('ran');
    world.pressure = { reason: 'Evicted', message: 'The node had condition: [MemoryPressure]. ' };
    assert.deepEqual([begins('begun'), begins('ran'), begins('late'), begins('late')], [true, true, false, false]);
    assert.deepEqual(
      [manager.state(podUid('late'))?.kind, manager.activePods().map(({ metadata }) => metadata.uid)],
      ['rejected', ['begun', 'ran']],
    );
    assert.deepEqual(record.snapshot().admitted, ['begun', 'ran']);
    assert.deepEqual(log, ['late: Warning Evicted The node had condition: [MemoryPressure]. ']);
    world.pressure = undefined;
    assert.equal(begins('late'), false);
  });

  it('calls the last steps again for an admitted pod of which nothing runs any more, and for no other', async () => {
    const asked: string[] = [];
    const verdicts = new Map<string, AdmissionAnswer>();
    const devices = ({ metadata: { name } }: Pod): AdmissionStep[] =>
      name.startsWith('plain')
        ? []
        : [
            {
              name: 'devices',
              admit: () => {
                asked.push(name);
                return verdicts.get(name) ?? { kind: 'admit' };
              },
            },
          ];
    const hook: AdmissionStep = { name: 'hook', admit: () => ({ kind: 'reject', reason: 'Hook', message: 'again' }) };
    const { add, kind, record, world, manager, clock, log } = harness([hook], devices);
    const names = ['runs', 'returns', 'lacks', 'over', 'plain'];
    for (const name of names) record.add(podUid(name));
    world.running.add('runs');
    for (const name of names) world.ran.add(name);
    world.ended.add('over');
    verdicts.set('lacks', { kind: 'reject', reason: 'UnexpectedAdmissionError', message: 'no plugin' });
    for (const name of names) add(name, ask('1500m'));
    const places = (): string[] => manager.activePods().map(({ metadata }) => metadata.uid);
    assert.deepEqual([kind('returns'), kind('lacks'), places().includes('returns')], ['held', 'held', true]);
    await clock.advance(0);
    assert.deepEqual(
      names.map((name) => kind(name)),
      ['admitted', 'admitted', 'rejected', 'admitted', 'admitted'],
    );
    assert.deepEqual(asked, ['returns', 'lacks']);
    assert.deepEqual([places().includes('lacks'), record.snapshot().admitted.includes('lacks')], [false, false]);
    assert.deepEqual(
      log.filter((line) => line.includes('Warning')),
      ['lacks: Warning UnexpectedAdmissionError no plugin'],
    );
  });

  it('holds the pods that have steps of their own, and no others', async () => {
    const { clock, add, kind } = harness(undefined, ({ metadata }) =>
      metadata.name === 'a' ? [{ name: 'this agent', admit: () => ({ kind: 'hold', why: 'not supported yet' }) }] : [],
    );
    add('a');
    assert.equal(add('b').kind, 'admitted');
    await clock.advance(3_600_000);
    assert.equal(kind('a'), 'held');
  });

  it('sets the status of a rejected pod, and leaves that of an admitted one alone', () => {
    const { add, manager } = harness();
    add('a', ask('1500m'));
    add('b', ask('1500m'));
    assert.deepEqual(
      [manager.verdictOn(podUid('a')), manager.verdictOn(podUid('b'))],
      [undefined, { kind: 'rejected', reason: 'OutOfcpu', message: `Pod was rejected: ${FULL}` }],
    );
  });

  it('reserves no room for rejected pods, and decides on no pod twice', () => {
    const { add, remove, manager } = harness();
    add('a', ask('1500m'));
    add('b', ask('1500m'));
    assert.deepEqual(
      manager.activePods().map(({ metadata }) => metadata.uid),
      ['a'],
    );
    assert.equal(add('c', ask('500m')).kind, 'admitted');
    remove('a');
    assert.equal(add('b', ask('1500m')).kind, 'rejected');
    assert.equal(add('d', ask('1500m')).kind, 'admitted');
  });

  it('never decides on a pod that ran here, that was admitted by an earlier agent, or that is over', () => {
    const { add, world, record, log } = harness();
    world.node = { ...node, metadata: { ...node.metadata, labels: {} } };
    const misfit = { 'spec.nodeSelector': { zone: 'gone' } };
    world.ran.add('ran');
    world.ended.add('ended');
    record.add(podUid('recorded'));
    assert.deepEqual(
      ['ran', 'ended', 'recorded', 'new'].map((uid) => add(uid, misfit).kind),
      ['admitted', 'admitted', 'admitted', 'rejected'],
    );
    assert.equal(log.length, 1);
  });

  it('gives running pods their place before new ones, whichever are older', () => {
    const { manager, pods, world } = harness();
    const build = (uid: string) => buildPod({ 'metadata.uid': uid, ...ask('1500m') });
    world.ran.add('ran');
    for (const uid of ['new', 'ran']) pods.set(uid, build(uid));
    manager.adopt([build('new'), build('ran')]);
    assert.equal(manager.admit(build('new')).kind, 'rejected');
    assert.equal(manager.admit(build('ran')).kind, 'admitted');
  });

  it('decides again on a pod that was removed and comes back', () => {
    const { add, remove, kind } = harness();
    add('a', ask('1500m'));
    add('b', ask('1500m'));
    remove('a');
    remove('b');
    assert.equal(kind('b'), undefined);
    assert.equal(add('b', ask('1500m')).kind, 'admitted');
  });

  it('reports for a running pod whether more resources would fit', () => {
    const { add, manager } = harness();
    add('a', ask('500m'));
    add('b', ask('500m'));
    const grown = (cpu: string) => manager.misfit(buildPod({ 'metadata.uid': 'a', ...ask(cpu) }))?.reason;
    assert.deepEqual([grown('1500m'), grown('1501m')], [undefined, 'OutOfcpu']);
  });
});

describe('making room', () => {
  const critical = { 'spec.priority': 2_000_000_000 };

  it('stops the victims, gives the reason, and admits the pod when nothing of them runs any more', async () => {
    const { add, manager, log, world, kind, record, clock, preempted } = harness();
    add('low', ask('1500m'));
    world.running.add('low');
    const held = add('high', ask('1500m', critical));
    assert.deepEqual(preempted, ['cpu']);
    assert.deepEqual(held, {
      kind: 'held',
      sinceMs: 1_767_225_600_000,
      by: 'preemption',
      why: 'waiting for preempted pods to stop: default/low',
    });
    assert.deepEqual(log, ['low: Warning Preempting Preempted in order to admit critical pod', 'stop low']);
    const verdict = manager.verdictOn(podUid('low'));
    assert.deepEqual(verdict, {
      kind: 'preempted',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
      condition: {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'Pod was preempted by Kubelet to accommodate a critical pod.',
      },
    });
    await clock.advance(0);
    world.running.delete('low');
    manager.podStopped(podUid('low'));
    assert.deepEqual(
      [kind('high'), record.snapshot(), log.at(-1)],
      ['admitted', { admitted: ['high'], preempted: ['low'] }, 'changed high'],
    );
  });

  it('uses the room only when the preemption is on disk: a later agent would restart the victim', async () => {
    const { add, manager, world, kind, clock } = harness();
    const { promise, resolve } = Promise.withResolvers<void>();
    world.saved = promise;
    add('low', ask('1500m'));
    add('high', ask('1500m', critical));
    manager.podStopped(podUid('low'));
    await clock.advance(5000);
    assert.equal(kind('high'), 'held');
    resolve();
    await clock.advance(0);
    assert.equal(kind('high'), 'admitted');
  });

  it('preemption of a victim is remembered by the next agent, whatever is left of it in the runtime', () => {
    const { add, manager, world, record } = harness();
    record.preempt(podUid('low'));
    world.ran.add('low');
    assert.equal(add('low', ask('1500m')).kind, 'admitted');
    assert.equal(manager.verdictOn(podUid('low'))?.reason, 'Preempting');
    assert.equal(add('high', ask('1500m')).kind, 'admitted');
    manager.forget(podUid('low'));
    assert.equal(manager.verdictOn(podUid('low')), undefined);
  });

  it('reserves the room for the pod that it is made for', () => {
    const { add, world } = harness();
    add('low', ask('1500m'));
    world.running.add('low');
    add('high', ask('1500m', critical));
    assert.equal(add('other', ask('1')).kind, 'rejected');
    assert.equal(add('small', ask('500m')).kind, 'admitted');
  });

  it('preemption goes on without a victim that does not end within one and a half of its grace period', async () => {
    const { add, world, kind, clock, log } = harness();
    add('low', ask('1500m', { 'spec.terminationGracePeriodSeconds': 20 }));
    world.running.add('low');
    add('high', ask('1500m', critical));
    await clock.advance(29_999);
    assert.equal(kind('high'), 'held');
    await clock.advance(1);
    assert.deepEqual(
      [kind('high'), log.at(-2)],
      [
        'admitted',
        'low: Warning ExceededGracePeriod Container runtime did not kill the pod within specified grace period.',
      ],
    );
  });

  it('preemption is given up when the pod that it is for is removed', () => {
    const { add, world, remove, manager, kind } = harness();
    add('low', ask('1500m'));
    world.running.add('low');
    add('high', ask('1500m', critical));
    remove('high');
    world.running.delete('low');
    manager.podStopped(podUid('low'));
    assert.equal(kind('high'), undefined);
  });
});

describe("an operator's own step", () => {
  /** A step with scripted answers. */
  function scripted(extra: Partial<AdmissionStep> = {}) {
    const control = { answer: { kind: 'admit' } as AdmissionAnswer | Error | 'hang', asked: [] as string[] };
    const step: AdmissionStep = {
      name: 'driver',
      admit: async ({ pod, attempt }) => {
        control.asked.push(`${pod.metadata.uid} ${attempt}`);
        if (control.answer === 'hang') return new Promise(() => undefined);
        if (control.answer instanceof Error) throw control.answer;
        return control.answer;
      },
      ...extra,
    };
    return { step, control };
  }

  it('may hold a pod until an event; the pod takes no room meanwhile', async () => {
    const { step, control } = scripted();
    const { add, clock, manager, kind, log } = harness([step]);
    const ready = Promise.withResolvers<void>();
    control.answer = { kind: 'hold', why: 'no driver', until: ready.promise };
    assert.equal(add('a', ask('1500m')).kind, 'held');
    await clock.advance(0);
    assert.deepEqual(manager.state(podUid('a')), {
      kind: 'held',
      by: 'driver',
      why: 'no driver',
      sinceMs: clock.nowMs(),
      nextTryAtMs: clock.nowMs() + 60_000,
    });
    assert.deepEqual(manager.verdictOn(podUid('a')), {
      kind: 'held',
      reason: 'AdmissionHeld',
      message: 'held by driver: no driver',
    });
    assert.equal(log[0], 'a: Normal AdmissionHeld Held by admission step driver: no driver');
    assert.equal(manager.misfit(buildPod({ 'metadata.uid': 'z', ...ask('2') })), undefined);
    control.answer = { kind: 'admit' };
    ready.resolve();
    await clock.advance(100);
    assert.deepEqual([kind('a'), log.at(-1), control.asked], ['admitted', 'changed a', ['a 1', 'a 2']]);
  });

  it('is called again after a growing pause, at its own pace, or when the manager is woken', async () => {
    const { step, control } = scripted();
    const { add, clock, manager } = harness([step]);
    control.answer = { kind: 'hold', why: 'not yet' };
    add('a');
    await clock.advance(1000 + 2000 + 4000 - 1);
    assert.equal(control.asked.length, 3);
    control.answer = { kind: 'hold', why: 'not yet', retryAfterMs: 500_000 };
    await clock.advance(1);
    await clock.advance(100_000);
    assert.equal(control.asked.length, 4);
    manager.wake();
    await clock.advance(0);
    assert.equal(control.asked.length, 5);
  });

  it('may reject a pod with a reason of its own', async () => {
    const { step, control } = scripted();
    const { add, clock, manager, log } = harness([step]);
    control.answer = { kind: 'reject', reason: 'NoGpu', message: 'this node has none' };
    add('a');
    await clock.advance(0);
    assert.deepEqual(manager.verdictOn(podUid('a')), {
      kind: 'rejected',
      reason: 'NoGpu',
      message: 'Pod was rejected: this node has none',
    });
    assert.deepEqual(log, ['a: Warning NoGpu this node has none', 'changed a']);
  });

  it('that fails or hangs holds its pod and no other, and reports why', async () => {
    const { step, control } = scripted({ timeoutMs: 2000 });
    const { add, clock, manager, kind } = harness([step]);
    control.answer = 'hang';
    add('a');
    control.answer = { kind: 'admit' };
    add('b');
    await clock.advance(0);
    assert.deepEqual([kind('a'), kind('b')], ['held', 'admitted']);
    await clock.advance(2000);
    const state = manager.state(podUid('a'));
    assert.match(
      state?.kind === 'held' ? state.why : '',
      /the step failed: admission step driver took longer than 2000 ms/,
    );
    await clock.advance(1000);
    assert.equal(kind('a'), 'admitted');
  });

  it('that fails is skipped when it is configured so', async () => {
    const { step, control } = scripted({ onFailure: 'ignore' });
    const { add, clock, kind } = harness([step]);
    control.answer = new Error('broken');
    add('a');
    await clock.advance(0);
    assert.equal(kind('a'), 'admitted');
  });

  it('is not called for a pod that the node would not take, nor for one that ran here', async () => {
    const { step, control } = scripted();
    const { add, clock, world } = harness([step]);
    world.ran.add('ran');
    add('ran');
    assert.equal(add('misfit', { 'spec.nodeSelector': { a: 'b' } }).kind, 'rejected');
    await clock.advance(0);
    assert.deepEqual(control.asked, []);
  });

  it('releases a pod into a new decision: its room may be taken', async () => {
    const { step, control } = scripted();
    const { add, clock, world, manager, pods } = harness([step]);
    control.answer = { kind: 'hold', why: 'x', retryAfterMs: 1000 };
    add('a', ask('1500m'));
    world.ran.add('b');
    pods.set('b', buildPod({ 'metadata.uid': 'b', ...ask('1500m') }));
    manager.adopt([...pods.values()]);
    await clock.advance(0);
    control.answer = { kind: 'admit' };
    await clock.advance(1000);
    assert.equal(manager.verdictOn(podUid('a'))?.reason, 'OutOfcpu');
  });

  it('is not called again for a pod that is being stopped, and gets an abort', async () => {
    const signals: AbortSignal[] = [];
    const step: AdmissionStep = {
      name: 's',
      admit: (_request, signal) => (signals.push(signal), { kind: 'hold', why: 'x' }),
    };
    const { add, clock, manager, kind } = harness([step]);
    add('a');
    await clock.advance(0);
    manager.withdraw(podUid('a'));
    await clock.advance(60_000);
    assert.deepEqual([signals.length, signals[0]?.aborted, kind('a')], [1, true, undefined]);
  });

  it('gets the current spec of the pod', async () => {
    const names: (string | undefined)[] = [];
    const step: AdmissionStep = {
      name: 's',
      admit: ({ pod }) => (names.push(pod.metadata.labels?.['version']), { kind: 'hold', why: 'x' }),
    };
    const { add, clock, pods } = harness([step]);
    add('a', { 'metadata.labels': { version: '1' } });
    pods.set('a', buildPod({ 'metadata.uid': 'a', 'metadata.labels': { version: '2' } }));
    await clock.advance(1000);
    assert.deepEqual(names, ['1', '2']);
  });

  it('is not called in a busy loop if its `until` has already settled', async () => {
    const { step, control } = scripted();
    const { add, clock } = harness([step]);
    control.answer = { kind: 'hold', why: 'x', until: Promise.resolve() };
    add('a');
    await clock.advance(1000);
    assert.ok(control.asked.length >= 2 && control.asked.length <= 12, String(control.asked.length));
  });

  it('is called after the step before it', async () => {
    const first = scripted();
    const second = scripted();
    const { add, clock, kind } = harness([{ ...first.step, name: 'first' }, second.step]);
    first.control.answer = { kind: 'hold', why: 'x', retryAfterMs: 1000 };
    add('a');
    await clock.advance(0);
    assert.deepEqual([first.control.asked.length, second.control.asked.length], [1, 0]);
    first.control.answer = { kind: 'admit' };
    await clock.advance(1000);
    assert.deepEqual([second.control.asked.length, kind('a')], [1, 'admitted']);
  });
});
