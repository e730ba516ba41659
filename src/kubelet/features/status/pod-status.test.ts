import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { PodStatusFacts } from './pod-status.ts';
import { generatePodStatus } from './pod-status.ts';
import type { RestartRules } from './interfaces.ts';

const START = Date.UTC(2026, 0, 1);
const container = (name: string, extra: Partial<Container> = {}): Container => ({ name, image: 'web:1', ...extra });
const pod = (spec: Partial<Pod['spec']> = {}, metadata: Partial<Pod['metadata']> = {}): Pod => ({
  metadata: { name: 'a', namespace: 'default', uid: 'u1', ...metadata },
  spec: { containers: [container('web')], restartPolicy: 'Always', ...spec },
});
const record = (name: string, extra: Partial<ContainerRuntimeStatus> = {}): ContainerRuntimeStatus => ({
  id: containerId(`${name}-${extra.attempt ?? 0}`),
  sandboxId: sandboxId('s0'),
  name,
  attempt: 0,
  state: 'running',
  createdAtMs: START,
  startedAtMs: START + 1000,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: 'web:1',
  imageRef: 'sha256:1',
  imageId: 'sha256:1',
  logPath: '',
  labels: {},
  annotations: {},
  ...extra,
});
const exited = (name: string, exitCode: number, extra: Partial<ContainerRuntimeStatus> = {}) =>
  record(name, {
    state: 'exited',
    exitCode,
    reason: exitCode === 0 ? 'Completed' : 'Error',
    finishedAtMs: START + 5000,
    ...extra,
  });
const runtime = (...containers: ContainerRuntimeStatus[]): PodRuntimeStatus => ({
  uid: podUid('u1'),
  name: 'a',
  namespace: 'default',
  sandboxes: [
    {
      id: sandboxId('s0'),
      podUid: podUid('u1'),
      podName: 'a',
      podNamespace: 'default',
      attempt: 0,
      ready: true,
      createdAtMs: START,
      ips: ['10.0.0.5'],
      hostNetwork: false,
      runtimeHandler: '',
      labels: {},
      annotations: {},
    },
  ],
  containers,
  observedAtMs: 0,
});
const rules: RestartRules = {
  shouldBeStarted: (subject, candidate, newest) =>
    subject.metadata.deletionTimestamp === undefined &&
    (newest === undefined ||
      (newest.state !== 'running' && rules.restartsAfterExit(subject, candidate, newest.exitCode))),
  restartsAfterExit: (subject, candidate, code) => {
    const policy = candidate.restartPolicy ?? subject.spec.restartPolicy;
    return policy === 'Always' || (policy === 'OnFailure' && code !== 0);
  },
  shouldRestartAllContainers: () => false,
  needsNewSandbox: (_pod, status) => status.sandboxes[0]?.ready !== true,
  isGivenUp: () => false,
};
const generate = (subject: Pod, actual: PodRuntimeStatus, extra: Partial<PodStatusFacts> = {}): PodStatus =>
  generatePodStatus({
    pod: subject,
    runtime: actual,
    previous: undefined,
    isTerminal: false,
    rules,
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    runtimeName: 'containerd',
    hostIps: [],
    ...extra,
  });
const conditions = (status: PodStatus): Record<string, string> =>
  Object.fromEntries(
    (status.conditions ?? []).map((condition) => [
      condition.type,
      condition.status + (condition.reason === undefined ? '' : ` ${condition.reason}`),
    ]),
  );

describe('pod phase', () => {
  const rows: [string, Pod, ContainerRuntimeStatus[], string][] = [
    ['nothing created yet', pod(), [], 'Pending'],
    ['created but not started', pod(), [record('web', { state: 'created' })], 'Pending'],
    ['running', pod(), [record('web')], 'Running'],
    [
      'one of two running, the other never created',
      pod({ containers: [container('web'), container('b')] }),
      [record('web')],
      'Pending',
    ],
    ['exited and to be restarted', pod(), [exited('web', 1)], 'Running'],
    ['exited 0, Never', pod({ restartPolicy: 'Never' }), [exited('web', 0)], 'Succeeded'],
    ['exited 1, Never', pod({ restartPolicy: 'Never' }), [exited('web', 1)], 'Failed'],
    ['exited 0, OnFailure', pod({ restartPolicy: 'OnFailure' }), [exited('web', 0)], 'Succeeded'],
    ['exited 1, OnFailure', pod({ restartPolicy: 'OnFailure' }), [exited('web', 1)], 'Running'],
    [
      'one succeeded, one failed, Never',
      pod({ restartPolicy: 'Never', containers: [container('web'), container('b')] }),
      [exited('web', 0), exited('b', 2)],
      'Failed',
    ],
    [
      'one done, one running, Never',
      pod({ restartPolicy: 'Never', containers: [container('web'), container('b')] }),
      [exited('web', 0), record('b')],
      'Running',
    ],
    ['init running', pod({ initContainers: [container('i')] }), [record('i')], 'Pending'],
    [
      'init failed, Never',
      pod({ restartPolicy: 'Never', initContainers: [container('i')] }),
      [exited('i', 1)],
      'Failed',
    ],
    ['init failed, Always', pod({ initContainers: [container('i')] }), [exited('i', 1)], 'Pending'],
    ['init done, main running', pod({ initContainers: [container('i')] }), [record('web'), exited('i', 0)], 'Running'],
    [
      'sidecar does not count for Succeeded',
      pod({ restartPolicy: 'Never', initContainers: [container('s', { restartPolicy: 'Always' })] }),
      [exited('web', 0), exited('s', 137)],
      'Succeeded',
    ],
    [
      'sidecar still running after main is done',
      pod({ restartPolicy: 'Never', initContainers: [container('s', { restartPolicy: 'Always' })] }),
      [exited('web', 0), record('s')],
      'Running',
    ],
  ];
  for (const [name, subject, records, phase] of rows) {
    it(`is ${phase} when ${name}`, () => assert.equal(generate(subject, runtime(...records)).phase, phase));
  }

  it('is final: a terminal phase published once is never left', () => {
    assert.equal(
      generate(pod(), runtime(record('web')), { previous: { phase: 'Failed', reason: 'Evicted', message: 'm' } }).phase,
      'Failed',
    );
    assert.equal(
      generate(pod(), runtime(), { previous: { phase: 'Failed', reason: 'Evicted', message: 'm' } }).reason,
      'Evicted',
    );
  });

  it('stays Succeeded when records of its containers are removed afterwards', () => {
    assert.equal(
      generate(
        pod({ restartPolicy: 'Never', initContainers: [container('i')] }),
        runtime(exited('web', 0), exited('i', 137)),
        { previous: { phase: 'Succeeded' }, isTerminal: true },
      ).phase,
      'Succeeded',
    );
    assert.equal(
      generate(pod({ restartPolicy: 'Never' }), runtime(), { previous: { phase: 'Succeeded' }, isTerminal: true })
        .phase,
      'Succeeded',
    );
  });

  it('becomes final for a deleted pod whatever its restart policy', () => {
    assert.equal(generate(pod(), runtime(exited('web', 0)), { isTerminal: true }).phase, 'Succeeded');
    assert.equal(generate(pod(), runtime(exited('web', 143)), { isTerminal: true }).phase, 'Failed');
  });
});

describe('container statuses', () => {
  it('shows the newest run as the state and the one before as the last state', () => {
    const [status] = generate(pod(), runtime(record('web', { attempt: 1 }), exited('web', 3))).containerStatuses ?? [];
    assert.deepEqual(
      [
        status?.restartCount,
        status?.state?.running?.startedAt,
        status?.lastState?.terminated?.exitCode,
        status?.containerID,
      ],
      [1, '2026-01-01T00:00:01Z', 3, 'containerd://web-1'],
    );
  });

  it('shows why the last start failed, and keeps the previous termination', () => {
    const failures = { get: () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' }) };
    const [status] = generate(pod(), runtime(exited('web', 3)), { failures }).containerStatuses ?? [];
    assert.deepEqual(
      [status?.state, status?.lastState?.terminated?.exitCode],
      [{ waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } }, 3],
    );
  });

  it('shows that a sidecar succeeded, and not what it waits for, until it is restarted', () => {
    const failures = { get: () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' }) };
    const subject = pod({ initContainers: [container('s', { restartPolicy: 'Always' })] });
    const shown = (exitCode: number) =>
      generate(subject, runtime(record('web'), exited('s', exitCode)), { failures }).initContainerStatuses?.[0]?.state;
    assert.deepEqual([shown(0)?.terminated?.reason, shown(1)?.waiting?.reason], ['Completed', 'CrashLoopBackOff']);
  });

  it('reports a container that ran and vanished as unknown, 137 and restarted, without falling back to Pending', () => {
    const previous = generate(pod(), runtime(record('web')));
    const status = generate(pod(), runtime(), { previous });
    assert.equal(status.phase, 'Running');
    const [web] = status.containerStatuses ?? [];
    assert.deepEqual(
      [web?.restartCount, web?.lastState?.terminated?.reason, web?.lastState?.terminated?.exitCode],
      [1, 'ContainerStatusUnknown', 137],
    );
  });

  it('keeps the last termination when only the record of an earlier run is left', () => {
    const first = exited('web', 137);
    const second = exited('web', 143, { attempt: 1, startedAtMs: START + 9000, finishedAtMs: START + 12_000 });
    const told = generate(pod({ restartPolicy: 'Never' }), runtime(second, first));
    const later = generate(pod({ restartPolicy: 'Never' }), runtime(first), { previous: told });
    assert.deepEqual(later.containerStatuses, told.containerStatuses);
  });

  it('never lowers a restart count', () => {
    const previous = generate(pod(), runtime(record('web', { attempt: 5 })));
    assert.equal(
      generate(pod(), runtime(record('web', { attempt: 0, id: containerId('new') })), { previous })
        .containerStatuses?.[0]?.restartCount,
      5,
    );
  });

  it('treats a vanished init container of a started pod as succeeded', () => {
    const status = generate(pod({ initContainers: [container('i')] }), runtime(record('web')));
    assert.deepEqual(
      [
        status.initContainerStatuses?.[0]?.state?.terminated?.reason,
        status.initContainerStatuses?.[0]?.ready,
        status.phase,
      ],
      ['Completed', true, 'Running'],
    );
  });

  it('counts a restart of all containers once for each, init containers too, whatever is removed first', () => {
    const rule = { action: 'RestartAllContainers' as const, exitCodes: { operator: 'In' as const, values: [42] } };
    const subject = pod({
      initContainers: [container('first')],
      containers: [container('web', { restartPolicyRules: [rule] }), container('zed')],
      restartPolicy: 'Never',
    });
    const resetting: RestartRules = {
      ...rules,
      shouldRestartAllContainers: (_pod, status) => status.containers.some(({ exitCode }) => exitCode === 42),
    };
    const states: ContainerRuntimeStatus[][] = [
      [exited('first', 0), exited('web', 42), record('zed')],
      [exited('first', 0), exited('web', 42)],
      [exited('web', 42)],
      [exited('web', 42)],
      [],
      [record('first', { attempt: 1 })],
      [exited('first', 0, { attempt: 1 }), record('web', { attempt: 1 }), record('zed', { attempt: 1 })],
    ];
    let previous: PodStatus | undefined;
    const seen = states.map((containers) => {
      previous = generate(subject, runtime(...containers), { previous, rules: resetting });
      return [...(previous.initContainerStatuses ?? []), ...(previous.containerStatuses ?? [])]
        .map(
          ({ name, restartCount, state }) =>
            `${name}#${restartCount} ${state?.waiting?.reason ?? Object.keys(state ?? {})[0]}`,
        )
        .join();
    });
    assert.deepEqual(seen, [
      'first#0 terminated,web#0 terminated,zed#0 running',
      'first#0 terminated,web#0 terminated,zed#1 RestartingAllContainers',
      'first#1 RestartingAllContainers,web#0 terminated,zed#1 PodInitializing',
      'first#1 PodInitializing,web#0 terminated,zed#1 PodInitializing',
      'first#1 PodInitializing,web#0 terminated,zed#1 PodInitializing',
      'first#1 running,web#0 terminated,zed#1 PodInitializing',
      'first#1 terminated,web#1 running,zed#1 running',
    ]);
  });

  it('shows the stop signal of the runtime only if the feature gate is enabled', () => {
    const told = runtime(record('web', { stopSignal: 'SIGTERM' }));
    assert.deepEqual(
      [true, false].map((stopSignals) => generate(pod(), told, { stopSignals }).containerStatuses?.[0]?.stopSignal),
      ['SIGTERM', undefined],
    );
  });

  it('orders regular containers by name and init containers as the spec does', () => {
    const status = generate(
      pod({ containers: [container('z'), container('a')], initContainers: [container('y'), container('b')] }),
      runtime(),
    );
    assert.deepEqual(
      status.containerStatuses?.map((c) => c.name),
      ['a', 'z'],
    );
    assert.deepEqual(
      status.initContainerStatuses?.map((c) => c.name),
      ['y', 'b'],
    );
  });
});

describe('readiness and conditions', () => {
  const probed = pod({ containers: [container('web', { readinessProbe: {}, startupProbe: {} })] });

  it('is ready at once without probes', () => {
    assert.deepEqual(conditions(generate(pod(), runtime(record('web')))), {
      PodReadyToStartContainers: 'True',
      Initialized: 'True',
      Ready: 'True',
      ContainersReady: 'True',
      PodScheduled: 'True',
    });
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

  it('is not Ready until every readiness gate is true', () => {
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

  it('does not wait for an init container that a late create left and that will never be started', () => {
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

  describe('of a pod that is not started again', () => {
    const over = { rules: { ...rules, isGivenUp: () => true } };
    const never = pod({
      restartPolicy: 'Never',
      initContainers: [container('init')],
      containers: [container('web'), container('b')],
    });

    it('is Failed when a container has no record: its success is unknown', () => {
      const status = generate(never, runtime(exited('init', 0), exited('web', 0)), over);
      const lost = status.containerStatuses?.find(({ name }) => name === 'b')?.state?.terminated;
      assert.deepEqual([status.phase, lost?.exitCode, lost?.reason], ['Failed', 137, 'ContainerStatusUnknown']);
    });

    it('shows containers whose turn never came as waiting, and the pod as not initialized', () => {
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

    it('is Failed when its sandbox died before the next init container was created', () => {
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

    it('is Failed when its sandbox died before its regular containers were created', () => {
      assert.equal(generate(never, runtime(exited('init', 0)), over).phase, 'Failed');
    });

    it('is Failed when a container was created and not started', () => {
      assert.equal(
        generate(never, runtime(exited('init', 0), exited('web', 0), record('b', { state: 'created' })), over).phase,
        'Failed',
      );
    });

    it('shows only the termination of a vanished container, and shows the same again', () => {
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

    it('ends even if a container of it would always be restarted', () => {
      const always = pod({ restartPolicy: 'Never', containers: [container('web', { restartPolicy: 'Always' })] });
      assert.deepEqual(
        [generate(always, runtime(exited('web', 0))).phase, generate(always, runtime(exited('web', 0)), over).phase],
        ['Running', 'Succeeded'],
      );
    });

    it('still runs while one of its containers does', () => {
      assert.equal(generate(never, runtime(exited('init', 0), record('web')), over).phase, 'Running');
    });
  });

  describe('of a pod that is over', () => {
    const over = { isTerminal: true, isOver: true };

    it('is Failed when its containers never ran and none waits; static pods keep their phase', () => {
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
