import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { containerId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import type { RestartRules } from './interfaces.ts';
import { START, container, pod, record, exited, rules, runtime, generate } from './testing/status-builder.ts';

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

  it('shows the devices that a container had until its end, even if they were reallocated', () => {
    const health = [{ name: 'devices.test/a', resources: [{ resourceID: 'a0', health: 'Healthy' as const }] }];
    const previous = generate(pod(), runtime(record('web')), { deviceHealth: () => health });
    const after = (...records: ContainerRuntimeStatus[]) =>
      generate(pod(), runtime(...records), { previous, deviceHealth: () => undefined }).containerStatuses?.[0]
        ?.allocatedResourcesStatus;
    assert.deepEqual([after(exited('web', 0)), after(record('web', { attempt: 1 }))], [health, undefined]);
  });

  it('shows why the last start failed, and keeps the previous termination', () => {
    const failures = { get: () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' }) };
    const [status] = generate(pod(), runtime(exited('web', 3)), { failures }).containerStatuses ?? [];
    assert.deepEqual(
      [status?.state, status?.lastState?.terminated?.exitCode],
      [{ waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } }, 3],
    );
  });

  it('shows that a sidecar succeeded until it is restarted, and not that it waits', () => {
    const failures = { get: () => ({ reason: 'CrashLoopBackOff', message: 'back-off 10s' }) };
    const subject = pod({ initContainers: [container('s', { restartPolicy: 'Always' })] });
    const shown = (exitCode: number) =>
      generate(subject, runtime(record('web'), exited('s', exitCode)), { failures }).initContainerStatuses?.[0]?.state;
    assert.deepEqual([shown(0)?.terminated?.reason, shown(1)?.waiting?.reason], ['Completed', 'CrashLoopBackOff']);
  });

  it('reports a container that ran and vanished as unknown, with exit code 137 and a restart, and the pod stays Running', () => {
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
    const generated = generate(pod({ restartPolicy: 'Never' }), runtime(second, first));
    const later = generate(pod({ restartPolicy: 'Never' }), runtime(first), { previous: generated });
    assert.deepEqual(later.containerStatuses, generated.containerStatuses);
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

  it('reports for a static pod what the agent assumes of an init container without a record after a restart', () => {
    const spec = { initContainers: [container('init')] };
    const shown = (source: string, isPreviousRestored: boolean) => {
      const subject = pod(spec, { annotations: { 'kubernetes.io/config.source': source } });
      const previous = generate(subject, runtime(record('web'), exited('init', 0)));
      const { terminated } =
        generate(subject, runtime(record('web')), { previous, isPreviousRestored }).initContainerStatuses?.[0]?.state ??
        {};
      return [terminated?.reason, terminated?.finishedAt, terminated?.message?.slice(0, 32) ?? ''];
    };
    const known = ['Completed', '2026-01-01T00:00:05Z'];
    assert.deepEqual(shown('file', true), [...known, 'Unable to get init container sta']);
    assert.deepEqual(shown('file', false), [...known, '']);
    assert.deepEqual(shown('api', true), [...known, '']);
  });

  it('counts a restart of all containers once for each container, whatever is removed first', () => {
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

  it('keeps the published state of containers that one sync replaces, until the successor runs', () => {
    const sidecar = container('side', { restartPolicy: 'Always' });
    const subject = pod({ initContainers: [sidecar] });
    const previous = generate(subject, runtime(record('side'), record('web')));
    const replacing = { previous, isUndecided: true, rules: { ...rules, isDefinitionChanged: () => true } };
    const shown = (status: PodStatus): unknown[] =>
      [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])].map(
        ({ ready, state, containerID }) => [containerID, ready, Object.keys(state ?? {})],
      );
    const old = [
      ['containerd://side-0', true, ['running']],
      ['containerd://web-0', true, ['running']],
    ];
    const stopped = runtime(exited('side', 143), exited('web', 143));
    const created = record('web', { attempt: 1, state: 'created' });
    assert.deepEqual(shown(generate(subject, stopped, replacing)), old);
    assert.deepEqual(shown(generate(subject, runtime(created, ...stopped.containers), replacing)), old);
    const next = runtime(record('web', { attempt: 1 }), record('side', { attempt: 1 }), ...stopped.containers);
    assert.deepEqual(shown(generate(subject, next, replacing)), [
      ['containerd://side-1', true, ['running']],
      ['containerd://web-1', true, ['running']],
    ]);
    assert.deepEqual(
      shown(generate(subject, stopped, { ...replacing, isUndecided: false })).map((each) => (each as unknown[])[1]),
      [false, false],
    );
  });

  it('shows the stop signal of the runtime only if the feature gate is enabled', () => {
    const generated = runtime(record('web', { stopSignal: 'SIGTERM' }));
    assert.deepEqual(
      [true, false].map(
        (stopSignals) => generate(pod(), generated, { stopSignals }).containerStatuses?.[0]?.stopSignal,
      ),
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
