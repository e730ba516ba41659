import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { ContainerStatus, PodCondition } from '../../../api/core/pod-status.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ConditionFacts } from './conditions.ts';
import { computeConditions } from './conditions.ts';

const container = (name: string, more: Partial<Container> = {}): Container => ({ name, image: 'x', ...more });
const sidecar = container('side', { restartPolicy: 'Always' });
const podOf = (spec: Partial<Pod['spec']>, more: Partial<Pod> = {}): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u1', generation: 3 },
  spec: { containers: [container('web'), container('log')], ...spec },
  ...more,
});
type State = 'running' | 'terminated' | 'waiting';
const status = (name: string, state: State, more: Partial<ContainerStatus> = {}): ContainerStatus => ({
  name,
  image: 'x',
  imageID: '',
  ready: false,
  restartCount: 0,
  state: state === 'terminated' ? { terminated: { exitCode: 0 } } : { [state]: {} },
  ...more,
});

function conditionsOf(pod: Pod, facts: Partial<ConditionFacts>): PodCondition[] {
  const base = { phase: 'Pending', statuses: [], sandboxReady: true, restartingAll: false, previous: [] } as const;
  return computeConditions({ pod, ...base, ...facts });
}

function verdict(type: string, pod: Pod, facts: Partial<ConditionFacts>): string {
  const {
    status: said = '',
    reason = '',
    message = '',
  } = conditionsOf(pod, facts).find((condition) => condition.type === type) ?? {};
  return [said, reason, message].filter((part) => part !== '').join(' | ');
}

describe('Initialized', () => {
  const pod = podOf({ initContainers: [container('i1'), sidecar, container('i2')] });
  const of = (statuses: readonly ContainerStatus[], more: Partial<ConditionFacts> = {}): string =>
    verdict('Initialized', pod, { statuses, ...more });
  const done = status('i1', 'terminated', { ready: true });
  const started = status('side', 'running', { started: true });

  it('is true once init containers are done and sidecars have started', () => {
    assert.equal(of([done, started, status('i2', 'terminated', { ready: true })]), 'True');
    assert.equal(verdict('Initialized', podOf({}), {}), 'True');
  });

  it('names containers with unknown and with incomplete status', () => {
    assert.equal(
      of([done, status('side', 'running', { started: false, ready: true })]),
      'False | ContainersNotInitialized | containers with unknown status: [i2], containers with incomplete status: [side]',
    );
    assert.equal(
      of([status('i1', 'running'), started]),
      'False | ContainersNotInitialized | containers with unknown status: [i2], containers with incomplete status: [i1]',
    );
    assert.equal(of([]), 'False | ContainersNotInitialized | containers with unknown status: [i1 side i2]');
  });

  it('is true when one regular container has run, or when it was true before', () => {
    for (const state of ['running', 'terminated'] as const) assert.equal(of([status('log', state)]), 'True');
    assert.match(of([status('log', 'waiting')]), /^False/);
    assert.equal(of([], { previous: [{ type: 'Initialized', status: 'True' }] }), 'True');
    assert.match(of([], { previous: [{ type: 'Initialized', status: 'False' }] }), /^False/);
    assert.match(of([], { previous: [{ type: 'Ready', status: 'True' }] }), /^False/);
  });

  it('is completed with the pod, unless the state of a container is unknown', () => {
    const all = [done, status('side', 'terminated'), status('i2', 'terminated')];
    assert.equal(of(all, { phase: 'Succeeded' }), 'True | PodCompleted');
    assert.match(of(all.slice(1), { phase: 'Succeeded' }), /^False \| ContainersNotInitialized/);
  });
});

describe('ContainersReady and Ready', () => {
  const pod = podOf({ initContainers: [container('i1'), sidecar] });
  const ready = ['side', 'web', 'log'].map((name) => status(name, 'running', { ready: true }));
  const of = (statuses: readonly ContainerStatus[], more: Partial<ConditionFacts> = {}): string =>
    verdict('ContainersReady', pod, { statuses, phase: 'Running', ...more });

  it('are true when all regular containers and sidecars are ready', () => {
    assert.equal(of(ready), 'True');
    assert.equal(verdict('Ready', pod, { statuses: ready }), 'True');
    assert.equal(
      of([...ready.slice(0, 1), status('web', 'running')]),
      'False | ContainersNotReady | containers with unknown status: [log], containers with unready status: [web]',
    );
    assert.match(of(ready.slice(1)), /unknown status: \[side\]/);
  });

  it('report how the pod ended', () => {
    assert.equal(of(ready, { phase: 'Succeeded' }), 'False | PodCompleted');
    assert.match(of(ready.slice(1), { phase: 'Succeeded' }), /^False \| ContainersNotReady/);
    assert.equal(of(ready, { phase: 'Failed' }), 'False | PodFailed');
    assert.equal(verdict('Ready', pod, { statuses: ready, phase: 'Failed' }), 'False | PodFailed');
  });

  it('conditions with the types of readiness gates are not overwritten', () => {
    const gated = (...conditions: PodCondition[]): string =>
      verdict(
        'Ready',
        podOf(
          { readinessGates: [{ conditionType: 'lb' }] },
          { status: { conditions: [{ type: 'other', status: 'True' }, ...conditions] } },
        ),
        { statuses: ready },
      );
    assert.equal(
      gated(),
      'False | ReadinessGatesNotReady | corresponding condition of pod readiness gate "lb" does not exist.',
    );
    assert.equal(gated({ type: 'lb', status: 'True' }), 'True');
    assert.equal(
      gated({ type: 'lb', status: 'False' }),
      'False | ReadinessGatesNotReady | the status of pod readiness gate "lb" is not "True", but False',
    );
  });
});

describe('AllContainersRestarting', () => {
  const asks = container('web', { restartPolicyRules: [{ action: 'RestartAllContainers' }] });
  const pod = podOf({ containers: [container('log'), asks] });
  const of = (facts: Partial<ConditionFacts>): string => verdict('AllContainersRestarting', pod, facts);

  it('is reported only for pods that have a rule for it', () => {
    const restarts = container('web', { restartPolicyRules: [{ action: 'Restart' }] });
    for (const other of [podOf({}), podOf({ containers: [restarts] })])
      assert.equal(verdict('AllContainersRestarting', other, { restartingAll: true }), '');
    const init = podOf({ initContainers: [asks] });
    assert.match(verdict('AllContainersRestarting', init, { restartingAll: true }), /^True/);
  });

  it('tells whether the restart continues, and ends with the pod', () => {
    assert.equal(
      of({ restartingAll: true }),
      'True | RestartAllContainersStarted | container exited with restart policy rule',
    );
    assert.equal(of({}), 'False');
    assert.equal(of({ restartingAll: true, phase: 'Succeeded' }), 'False | PodCompleted');
    assert.equal(of({ restartingAll: true, phase: 'Failed' }), 'False | PodFailed');
  });

  it('leaves PodReadyToStartContainers alone with the gate PodReadyToStartContainersCondition off', () => {
    const own = { type: 'PodReadyToStartContainers', status: 'True' as const };
    const shown = (conditions: PodCondition[]) =>
      conditionsOf({ ...pod, status: { conditions } }, { hidesReadyToStart: true }).filter(
        ({ type }) => type === own.type,
      );
    assert.deepEqual([shown([]), shown([own])], [[], [own]]);
  });

  it('is the only condition without a generation', () => {
    const generations = conditionsOf(pod, {}).map(({ type, observedGeneration }) => [type, observedGeneration]);
    assert.deepEqual(generations, [
      ['PodReadyToStartContainers', 3],
      ['Initialized', 3],
      ['Ready', 3],
      ['ContainersReady', 3],
      ['PodScheduled', 3],
      ['AllContainersRestarting', undefined],
    ]);
    const file = podOf({}, { metadata: { name: 'a', namespace: 'default', uid: 'u1' } });
    assert.ok(conditionsOf(file, {}).every((condition) => !('observedGeneration' in condition)));
  });
});

describe('conditions of other clients', () => {
  const disruption = (reason: string): PodCondition => ({ type: 'DisruptionTarget', status: 'True', reason });
  const typesOf = (conditions: readonly PodCondition[]): string[] =>
    conditions.slice(0, -5).map(({ type, reason = '' }) => `${type} ${reason}`.trim());

  it('come first and are kept; the resize conditions follow', () => {
    const pod = podOf({}, { status: { conditions: [disruption('theirs'), { type: 'Ready', status: 'True' }] } });
    const resize = [{ type: 'PodResizePending', status: 'True' as const }];
    assert.deepEqual(typesOf(conditionsOf(pod, { resize })), ['DisruptionTarget theirs', 'PodResizePending']);
  });

  it('a disruption condition of the agent replaces that of another client', () => {
    const conditions = [{ type: 'lb', status: 'True' as const }, disruption('theirs')];
    const pod = podOf({}, { status: { conditions } });
    const previous = [{ type: 'Ready', status: 'True' as const }, disruption('own')];
    assert.deepEqual(typesOf(conditionsOf(pod, { previous })), ['lb', 'DisruptionTarget own']);
  });
});

describe('processes that the kernel killed', () => {
  const oomKilled: PodCondition = { type: 'OOMKilled', status: 'True', reason: 'ProcessKilled', message: 'once' };

  it('an OOM kill in a pod is a condition, which survives a restart of the agent and is replaced by a newer kill', () => {
    assert.equal(verdict('OOMKilled', podOf({}), {}), '');
    assert.equal(verdict('OOMKilled', podOf({}), { oomKilled }), 'True | ProcessKilled | once');
    assert.equal(verdict('OOMKilled', podOf({}), { previous: [oomKilled] }), 'True | ProcessKilled | once');
    const newer = { ...oomKilled, message: 'twice' };
    const both = conditionsOf(podOf({}, { status: { conditions: [oomKilled] } }), {
      previous: [oomKilled],
      oomKilled: newer,
    });
    assert.deepEqual(
      both.filter(({ type }) => type === 'OOMKilled'),
      [newer],
    );
  });
});
