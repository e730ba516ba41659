import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { MessageFacts } from './eviction-message.ts';
import { evictionMessage } from './eviction-message.ts';
import type { Threshold } from './thresholds.ts';

const MiB = 2 ** 20;
const observed = (available: number) => ({ available, capacity: 1000 * MiB, atMs: 0 });
const threshold = (signal: Threshold['signal']): Threshold => ({
  signal,
  value: { kind: 'amount', text: '100Mi', amount: 100 * MiB },
  graceMs: 0,
  minimumReclaim: undefined,
});

const pod = buildPod({
  'metadata.name': 'web',
  'spec.containers': [
    { name: 'a', image: 'x', resources: { requests: { memory: '10Mi', 'ephemeral-storage': '1Mi' } } },
    { name: 'b', image: 'x' },
  ],
  'spec.initContainers': [{ name: 'side', image: 'x', restartPolicy: 'Always' }],
});
const message = (changes: Partial<MessageFacts>) =>
  evictionMessage({
    pod,
    resource: 'memory',
    thresholds: [],
    observations: new Map(),
    containers: [],
    podMemoryBytes: undefined,
    ...changes,
  });

describe('the message of an eviction', () => {
  it('names each container above its request, init containers included, and no unknown one', () => {
    const containers = [
      { name: 'a', memoryBytes: 10 * MiB, diskBytes: 2 * MiB },
      { name: 'b', memoryBytes: 5 * MiB, diskBytes: undefined },
      { name: 'side', memoryBytes: MiB, diskBytes: 0 },
      { name: 'gone', memoryBytes: 900 * MiB, diskBytes: 900 * MiB },
      { name: 'new', memoryBytes: undefined, diskBytes: undefined },
    ];
    assert.deepEqual(message({ containers }), {
      message:
        'The node was low on resource: memory. Container b was using 5Mi, request is 0, has larger consumption of memory. Container side was using 1Mi, request is 0, has larger consumption of memory. ',
      annotations: {
        offending_containers: 'b,side',
        offending_containers_usage: '5Mi,1Mi',
        starved_resource: 'memory',
      },
    });
    assert.equal(
      message({ containers, resource: 'ephemeral-storage' }).message,
      'The node was low on resource: ephemeral-storage. Container a was using 2Mi, request is 1Mi, has larger consumption of ephemeral-storage. ',
    );
    assert.equal(message({ containers, resource: 'pids' }).message, 'The node was low on resource: pids. ');
  });

  it('names the pod if it has a pod-level memory request', () => {
    const whole = buildPod({
      'metadata.name': 'web',
      'spec.resources': { requests: { memory: '1024Ki', 'ephemeral-storage': '1Mi' } },
    });
    const given = { pod: whole, podMemoryBytes: 3 * MiB };
    assert.equal(
      message(given).message,
      'The node was low on resource: memory. Pod web was using 3Mi, request is 1Mi, has larger consumption of memory. ',
    );
    assert.equal(message(given).annotations['offending_pod'], 'web');
    assert.equal(message(given).annotations['offending_pod_usage'], '3Mi');
    const without = ['The node was low on resource: memory. ', 'The node was low on resource: ephemeral-storage. '];
    assert.equal(message({ pod: whole }).message, without[0]);
    assert.equal(message({ ...given, resource: 'ephemeral-storage' }).message, without[1]);
    assert.equal(message({ podMemoryBytes: 3 * MiB }).message, without[0]);
  });

  it('quotes the first threshold of the observed resource', () => {
    const thresholds = (['nodefs.available', 'memory.available', 'allocatableMemory.available'] as const).map(
      threshold,
    );
    const quoted = (signals: readonly Threshold['signal'][]): string | undefined =>
      /available: ([^ ]*)\. /.exec(
        message({
          thresholds,
          observations: new Map(signals.map((signal, index) => [signal, observed((index + 1) * MiB)])),
        }).message,
      )?.[1];
    assert.equal(quoted(['nodefs.available', 'memory.available']), '2Mi');
    assert.equal(quoted(['nodefs.available', 'allocatableMemory.available']), '2Mi');
    assert.equal(quoted(['nodefs.available']), undefined);
  });
});
