import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { container, pod, record, exited, rules, runtime, generate } from './testing/status-builder.ts';

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

  it('a terminal phase that was published once never changes', () => {
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

describe("a result of the agent's own", () => {
  const override = { phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' } as const;

  it('takes precedence over the states of the containers', () => {
    const { phase, reason, message } = generate(pod(), runtime(record('web')), { override });
    assert.deepEqual({ phase, reason, message }, override);
  });

  it('a temporary result is kept until the pod has stopped', () => {
    const stopped = { override: { ...override, untilStopped: true }, isTerminal: true };
    assert.equal(generate(pod(), runtime(record('web')), { ...stopped, isTerminal: false }).reason, 'Evicted');
    const ended = generate(pod({ restartPolicy: 'Never' }), runtime(exited('web', 0)), stopped);
    assert.deepEqual([ended.phase, ended.reason], ['Succeeded', undefined]);
    const running = generate(pod(), runtime(record('web')), stopped);
    assert.deepEqual([running.phase, running.reason], ['Failed', 'Evicted']);
    const lasting = generate(pod({ restartPolicy: 'Never' }), runtime(exited('web', 0)), {
      override,
      isTerminal: true,
    });
    assert.deepEqual([lasting.phase, lasting.reason], ['Failed', 'Evicted']);
  });

  it('the result is kept together with its phase, and removed with it', () => {
    const previous = { phase: 'Failed' as const, reason: 'Evicted', message: 'm' };
    const kept = generate(pod(), runtime(), { previous });
    assert.deepEqual([kept.phase, kept.reason, kept.message], ['Failed', 'Evicted', 'm']);
    const running = generate(pod(), runtime(record('web')), { previous: { ...previous, phase: 'Pending' } });
    assert.deepEqual(
      Object.keys(running).filter((name) => name === 'reason' || name === 'message'),
      [],
    );
    const bare = generate(pod(), runtime(), { previous: { phase: 'Failed' } });
    assert.deepEqual(
      Object.keys(bare).filter((name) => name === 'reason' || name === 'message'),
      [],
    );
    const said = { ...pod(), status: { phase: 'Failed' as const, reason: 'Evicted', message: 'm' } };
    const restored = generate(said, runtime(), { previous: { phase: 'Failed' } });
    assert.deepEqual([restored.reason, restored.message], ['Evicted', 'm']);
  });
});

describe('the end of a pod', () => {
  it('a terminal phase in the API server is final', () => {
    const ended = { ...pod(), status: { phase: 'Succeeded' as const } };
    assert.equal(generate(ended, runtime(record('web'))).phase, 'Succeeded');
  });

  it('a pod has not ended while a worker may start its containers again', () => {
    const done = pod({ restartPolicy: 'Never' });
    const phaseOf = (previous?: 'Running' | 'Failed', isUndecided = true): string | undefined =>
      generate(done, runtime(exited('web', 0)), { isUndecided, previous: previous && { phase: previous } }).phase;
    assert.deepEqual([phaseOf('Running'), phaseOf()], ['Running', 'Pending']);
    assert.deepEqual([phaseOf('Failed'), phaseOf('Running', false)], ['Succeeded', 'Succeeded']);
  });

  it('a stopped pod of which nothing else is known is Failed', () => {
    const over = { isTerminal: true, isOver: true };
    assert.equal(generate(pod(), runtime(record('web')), over).phase, 'Failed');
    const own = pod({}, { annotations: { 'kubernetes.io/config.source': 'file' } });
    assert.equal(generate(own, runtime(record('web')), { ...over, previous: { phase: 'Pending' } }).phase, 'Pending');
    assert.equal(generate(own, runtime(record('web')), over).phase, 'Running');
  });
});

describe('the addresses of a pod', () => {
  const addresses = (...[subject, actual, more]: Parameters<typeof generate>): string =>
    JSON.stringify([
      ...['hostIP', 'hostIPs', 'podIP', 'podIPs'].map(
        (name) => generate(subject, actual, more)[name as 'hostIP' | 'hostIPs'] ?? null,
      ),
    ]).replaceAll('"', '');
  const hostIps = ['192.0.2.1', 'fd00::1'];
  const previous = { phase: 'Running' as const, podIPs: [{ ip: '10.0.0.9' }] };
  const stopped = { ...runtime(), sandboxes: [] };

  it("the addresses are those of its sandbox, with the node's IP family first", () => {
    const [sandbox] = runtime().sandboxes;
    assert.ok(sandbox !== undefined);
    const both = {
      ...runtime(),
      sandboxes: [
        { ...sandbox, ready: false, ips: ['10.0.0.8'] },
        { ...sandbox, ips: ['fd00::5', '10.0.0.5'] },
      ],
    };
    assert.equal(
      addresses(pod(), both, { hostIps }),
      '[192.0.2.1,[{ip:192.0.2.1},{ip:fd00::1}],10.0.0.5,[{ip:10.0.0.5},{ip:fd00::5}]]',
    );
    assert.equal(addresses(pod(), runtime()), '[null,null,10.0.0.5,[{ip:10.0.0.5}]]');
  });

  it('the addresses are kept after the sandbox stopped', () => {
    assert.equal(addresses(pod(), stopped, { previous }), '[null,null,10.0.0.9,[{ip:10.0.0.9}]]');
    assert.equal(addresses(pod(), stopped), '[null,null,null,null]');
  });

  it("a pod on the host's network has the first addresses of the node", () => {
    const own = pod({ hostNetwork: true });
    const node = '192.0.2.1,[{ip:192.0.2.1},{ip:fd00::1}]';
    assert.equal(addresses(own, runtime(), { hostIps }), `[${node},${node}]`);
    assert.equal(addresses(own, runtime(), { hostIps, previous }), `[${node},10.0.0.9,[{ip:10.0.0.9}]]`);
  });
});

describe('the parts of a status', () => {
  it('are present when the pod has them', () => {
    const names = (...[subject, actual, more]: Parameters<typeof generate>): string[] =>
      Object.keys(generate(subject, actual, more)).filter((name) => /Statuses|observed|allocated/.test(name));
    assert.deepEqual(names(pod(), runtime()), ['containerStatuses']);
    assert.deepEqual(names(pod({}, { generation: 3 }), runtime()), ['observedGeneration', 'containerStatuses']);
    const debugged = pod({
      initContainers: [container('i')],
      ephemeralContainers: [{ name: 'debug', image: 'busybox' }],
    });
    assert.deepEqual(names(debugged, runtime()), [
      'initContainerStatuses',
      'containerStatuses',
      'ephemeralContainerStatuses',
    ]);
    assert.deepEqual(names(debugged, runtime(), { isTerminal: true, isOver: true }), [
      'initContainerStatuses',
      'containerStatuses',
      'ephemeralContainerStatuses',
    ]);
  });

  it('report for each container whether it has started and is ready', () => {
    const probe = { tcpSocket: { port: 1 } };
    const verdict = (startup: 'success' | 'failure', readiness: 'success' | 'failure'): unknown => {
      const subject = pod({
        containers: [container('b'), container('web', { startupProbe: probe, readinessProbe: probe })],
      });
      const probes = {
        get: (type: string, id: string) => (id === 'web-0' ? (type === 'startup' ? startup : readiness) : undefined),
      };
      const { containerStatuses = [] } = generate(subject, runtime(record('web'), record('b')), { probes });
      return containerStatuses.map(({ name, started, ready }) => `${name} ${started} ${ready}`);
    };
    assert.deepEqual(verdict('success', 'success'), ['b true true', 'web true true']);
    assert.deepEqual(verdict('success', 'failure'), ['b true true', 'web true false']);
    assert.deepEqual(verdict('failure', 'success'), ['b true true', 'web false false']);
  });
});

describe('a container that is being replaced', () => {
  const changed = { ...rules, isDefinitionChanged: () => true };
  const running = generate(
    pod({ containers: [container('b'), container('web')] }),
    runtime(record('web'), record('b')),
  );
  const states = (more: Parameters<typeof generate>[2], ...records: ContainerRuntimeStatus[]): string => {
    const subject = pod({ containers: [container('b'), container('web')] });
    const { containerStatuses = [] } = generate(subject, runtime(...records), {
      previous: running,
      rules: changed,
      isUndecided: true,
      ...more,
    });
    return containerStatuses
      .map(({ name, state, ready }) => `${name} ${Object.keys(state ?? {}).join()} ${ready}`)
      .join(', ');
  };

  it('is shown unchanged until its successor runs', () => {
    assert.equal(states({}, exited('web', 0), record('b')), 'b running true, web running true');
    assert.equal(
      states({}, record('web', { attempt: 1 }), exited('web', 0), record('b')),
      'b running true, web running true',
    );
  });

  it('is shown as terminated when the worker is finished, or when its definition did not change', () => {
    assert.equal(states({ isUndecided: false }, exited('web', 0), record('b')), 'b running true, web terminated false');
    assert.equal(states({ rules }, exited('web', 0), record('b')), 'b running true, web terminated false');
  });

  it('shows its real state when it was not running before, or its record is gone', () => {
    assert.equal(
      states({ previous: undefined }, exited('web', 0), record('b')),
      'b running true, web terminated false',
    );
    assert.match(states({}, record('b')), /^b running true, web (waiting|terminated) false$/);
    const ended = generate(
      pod({ containers: [container('b'), container('web')] }),
      runtime(exited('web', 0), record('b')),
    );
    assert.equal(states({ previous: ended }, exited('web', 0), record('b')), 'b running true, web terminated false');
  });
});
