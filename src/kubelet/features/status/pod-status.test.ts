import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerRuntimeStatus } from '../../model/runtime-status.ts';
import { container, pod, record, exited, runtime, generate } from './testing/status-builder.ts';

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
