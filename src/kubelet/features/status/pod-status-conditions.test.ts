import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { container, pod, record, exited, rules, runtime, generate, conditions } from './testing/status-builder.ts';

describe('the readiness and conditions of a pod', () => {
  const probed = pod({ containers: [container('web', { readinessProbe: {}, startupProbe: {} })] });

  it('a pod without probes is ready at once', () => {
    assert.deepEqual(conditions(generate(pod(), runtime(record('web')))), {
      PodReadyToStartContainers: 'True',
      Initialized: 'True',
      Ready: 'True',
      ContainersReady: 'True',
      PodScheduled: 'True',
    });
  });

  it('PodReadyToStartContainers is true when the volumes are ready, even if the sandbox was ready before', () => {
    const sandboxOnly = { ...runtime(record('web')), containers: [] };
    const readyToStart = (of: PodRuntimeStatus, waitsForVolumes: boolean): unknown =>
      conditions(generate(pod(), of, { waitsForVolumes })).PodReadyToStartContainers;
    assert.deepEqual(
      [
        readyToStart(sandboxOnly, true),
        readyToStart(sandboxOnly, false),
        readyToStart(runtime(record('web')), true),
        readyToStart({ ...sandboxOnly, sandboxes: [] }, false),
      ],
      ['False', 'True', 'True', 'False'],
    );
  });

  it('waits for the startup probe before started, and for readiness before ready', () => {
    const verdicts = (startup: string | undefined, readiness: string | undefined) => ({
      get: (type: string) => (type === 'startup' ? startup : readiness) as never,
    });
    const flags = (startup?: string, readiness?: string) => {
      const [web] =
        generate(probed, runtime(record('web')), { probes: verdicts(startup, readiness) }).containerStatuses ?? [];
      return [web?.started, web?.ready];
    };
    assert.deepEqual(
      [flags(), flags('success'), flags('success', 'failure'), flags('success', 'success')],
      [
        [false, false],
        [true, false],
        [true, false],
        [true, true],
      ],
    );
  });

  it('shows a succeeded pod as initialized and completed, with init containers and without', () => {
    for (const initContainers of [undefined, [container('init')]]) {
      const status = generate(
        pod({ restartPolicy: 'Never', initContainers }),
        runtime(exited('web', 0), exited('init', 0)),
      );
      assert.deepEqual(
        [conditions(status).Initialized, conditions(status).Ready],
        ['True PodCompleted', 'False PodCompleted'],
      );
    }
  });

  it('stays initialized when its init containers run again', () => {
    const subject = pod({ initContainers: [container('init')] });
    assert.equal(conditions(generate(subject, runtime(record('init')))).Initialized, 'False ContainersNotInitialized');
    const previous: PodStatus = { ...generate(subject, runtime(record('web'), exited('init', 0))) };
    assert.equal(
      conditions(generate(subject, runtime(record('init', { attempt: 1 })), { previous })).Initialized,
      'True',
    );
  });

  it('names the containers that are not ready', () => {
    const status = generate(pod({ containers: [container('web'), container('b')] }), runtime(record('web')));
    const condition = status.conditions?.find((candidate) => candidate.type === 'ContainersReady');
    assert.deepEqual(
      [condition?.reason, condition?.message],
      ['ContainersNotReady', 'containers with unready status: [b]'],
    );
  });

  it('a pod is Ready only if every readiness gate is true', () => {
    const gated = pod({ readinessGates: [{ conditionType: 'example.com/ok' }] });
    const condition = generate(gated, runtime(record('web'))).conditions?.find(
      (candidate) => candidate.type === 'Ready',
    );
    assert.deepEqual(
      [condition?.status, condition?.reason, condition?.message],
      [
        'False',
        'ReadinessGatesNotReady',
        'corresponding condition of pod readiness gate "example.com/ok" does not exist.',
      ],
    );
  });

  it('a pod does not wait for an init container that a late create left and that will never be started', () => {
    const subject = pod({ initContainers: [container('init')] });
    const late = record('init', { state: 'created', attempt: 1 });
    const known = generate(subject, runtime(record('web'), late, exited('init', 0)));
    assert.deepEqual([known.phase, known.initContainerStatuses?.[0]?.state?.terminated?.exitCode], ['Running', 0]);
    assert.equal(
      generate(subject, runtime(record('web'), late)).initContainerStatuses?.[0]?.state?.terminated?.reason,
      'Completed',
    );
    assert.deepEqual(
      generate(subject, runtime(exited('web', 1), late, exited('init', 0))).initContainerStatuses?.[0]?.state,
      { waiting: {} },
    );
  });

  describe('the status of a pod that is not started again', () => {
    const over = { rules: { ...rules, isGivenUp: () => true } };
    const never = pod({
      restartPolicy: 'Never',
      initContainers: [container('init')],
      containers: [container('web'), container('b')],
    });

    it('the phase is Failed if a container has no record, because its success is unknown', () => {
      const status = generate(never, runtime(exited('init', 0), exited('web', 0)), over);
      const lost = status.containerStatuses?.find(({ name }) => name === 'b')?.state?.terminated;
      assert.deepEqual([status.phase, lost?.exitCode, lost?.reason], ['Failed', 137, 'ContainerStatusUnknown']);
    });

    it('containers that never had their turn are shown as waiting, and the pod as not initialized', () => {
      const subject = pod({
        restartPolicy: 'Never',
        initContainers: [container('a'), container('s', { restartPolicy: 'Always' }), container('z')],
      });
      const status = generate(subject, runtime(exited('a', 1)), over);
      assert.deepEqual(
        [status.phase, ...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])]
          .slice(2)
          .map((each) => (each as { state?: object }).state),
        Array.from({ length: 3 }, () => ({ waiting: { reason: 'PodInitializing' } })),
      );
      assert.deepEqual([status.phase, conditions(status).Initialized], ['Failed', 'False ContainersNotInitialized']);
    });

    it('the phase is Failed if the sandbox died before the next init container was created', () => {
      const subject = pod({ restartPolicy: 'Never', initContainers: [container('a'), container('z')] });
      const status = generate(subject, runtime(exited('a', 0)), over);
      assert.deepEqual(
        [
          status.phase,
          status.initContainerStatuses?.[1]?.state?.terminated?.reason,
          status.containerStatuses?.[0]?.state?.waiting?.reason,
        ],
        ['Failed', 'ContainerStatusUnknown', 'PodInitializing'],
      );
    });

    it('the phase is Failed if the sandbox died before the regular containers were created', () => {
      assert.equal(generate(never, runtime(exited('init', 0)), over).phase, 'Failed');
    });

    it('the phase is Failed if a container was created and not started', () => {
      assert.equal(
        generate(never, runtime(exited('init', 0), exited('web', 0), record('b', { state: 'created' })), over).phase,
        'Failed',
      );
    });

    it('a vanished container is shown with only its termination, on every computation', () => {
      const running = generate(never, runtime(exited('init', 0), exited('web', 0), record('b')));
      const lost = generate(never, runtime(exited('init', 0), exited('web', 0)), { ...over, previous: running });
      const web = lost.containerStatuses?.find(({ name }) => name === 'b');
      assert.deepEqual([lost.phase, web?.state?.terminated?.exitCode, web?.lastState], ['Failed', 137, {}]);
      assert.deepEqual(
        generate(never, runtime(exited('init', 0), exited('web', 0)), {
          ...over,
          previous: lost,
        }).containerStatuses?.map(({ state }) => state),
        lost.containerStatuses?.map(({ state }) => state),
      );
    });

    it('the pod ends even if one of its containers has restart policy Always', () => {
      const always = pod({ restartPolicy: 'Never', containers: [container('web', { restartPolicy: 'Always' })] });
      assert.deepEqual(
        [generate(always, runtime(exited('web', 0))).phase, generate(always, runtime(exited('web', 0)), over).phase],
        ['Running', 'Succeeded'],
      );
    });

    it('the pod keeps running while one of its containers runs', () => {
      assert.equal(generate(never, runtime(exited('init', 0), record('web')), over).phase, 'Running');
    });
  });

  describe('the status of a pod that is over', () => {
    const over = { isTerminal: true, isOver: true };

    it('the phase is Failed if no container ran and none waits; static pods keep their phase', () => {
      const status = generate(pod(), runtime(), over);
      assert.deepEqual(
        [status.phase, status.containerStatuses?.[0]?.state?.terminated?.reason],
        ['Failed', 'ContainerStatusUnknown'],
      );
      const again = generate(pod(), runtime(), { ...over, previous: status });
      assert.deepEqual(again.containerStatuses, status.containerStatuses);
      const fixed = pod({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
      const first = generate(fixed, runtime(), { ...over, previous: { phase: 'Pending' } });
      assert.deepEqual(
        [first.phase, generate(fixed, runtime(), { ...over, previous: first }).phase],
        ['Pending', 'Pending'],
      );
    });

    it('shows how its containers ended, and why it was stopped', () => {
      const status = generate(pod(), runtime(exited('web', 143)), {
        ...over,
        previous: { phase: 'Failed', reason: 'DeadlineExceeded', message: 'm' },
      });
      assert.deepEqual(
        [status.phase, status.reason, status.containerStatuses?.[0]?.state?.terminated?.exitCode],
        ['Failed', 'DeadlineExceeded', 143],
      );
    });
  });

  it('sets the observed generation of every condition of its own except the one of RestartAllContainers', () => {
    const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [1] } };
    const status = generate(
      pod({ containers: [container('web', { restartPolicyRules: [rule] })] }, { generation: 4 }),
      runtime(record('web')),
    );
    assert.deepEqual(
      [
        status.observedGeneration,
        status.conditions?.map(({ type, observedGeneration }) => `${type} ${observedGeneration}`),
      ],
      [
        4,
        [
          'PodReadyToStartContainers 4',
          'Initialized 4',
          'Ready 4',
          'ContainersReady 4',
          'PodScheduled 4',
          'AllContainersRestarting undefined',
        ],
      ],
    );
  });

  it('keeps conditions of others and the addresses of a stopped pod', () => {
    const previous: PodStatus = { phase: 'Running', podIPs: [{ ip: '10.0.0.5' }] };
    const subject: Pod = { ...pod(), status: { conditions: [{ type: 'example.com/mine', status: 'True' }] } };
    const status = generate(subject, { ...runtime(), sandboxes: [] }, { previous });
    assert.equal(conditions(status)['example.com/mine'], 'True');
    assert.equal(status.podIP, '10.0.0.5');
  });
});
