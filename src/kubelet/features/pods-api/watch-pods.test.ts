import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodEvent } from '../../ports/pods-api.ts';
import { watchPods } from './watch-pods.ts';

type Change = { type: 'MODIFIED' | 'DELETED'; pod: Pod };

const pod = (uid: string, phase = 'Running'): Pod =>
  ({
    metadata: { name: `name-${uid}`, namespace: 'ns', uid },
    spec: { containers: [] },
    status: { phase },
  }) as unknown as Pod;

function world(first: readonly Pod[] = []) {
  const listeners = new Set<(change: Change) => void>();
  const abort = new AbortController();
  const dropped = { count: 0 };
  const events = watchPods(
    {
      pods: () => first,
      watch: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    abort.signal,
    () => (dropped.count += 1),
  );
  const next = async (count: number): Promise<string[]> => {
    const seen: string[] = [];
    for (let i = 0; i < count; i++) seen.push(shown((await events.next()).value as PodEvent));
    return seen;
  };
  const send = (type: Change['type'], changed: Pod): void =>
    listeners.forEach((listener) => listener({ type, pod: changed }));
  return { events, next, send, abort, dropped, listeners };
}

const shown = (event: PodEvent): string =>
  'pod' in event ? `${event.type} ${event.pod.metadata.uid} ${event.pod.status?.phase ?? '-'}` : event.type;

test('the pods there are come first, in the order of their uids, then the mark, then changes', async () => {
  const { next, send } = world([pod('b'), pod('a')]);
  assert.deepEqual(await next(3), ['ADDED a Running', 'ADDED b Running', 'INITIAL_SYNC_COMPLETE']);
  send('MODIFIED', pod('a', 'Failed'));
  send('MODIFIED', pod('c', 'Pending'));
  send('MODIFIED', pod('c'));
  send('DELETED', pod('c'));
  assert.deepEqual(await next(4), ['MODIFIED a Failed', 'ADDED c Pending', 'MODIFIED c Running', 'DELETED c -']);
});

test('changes during the first list are not lost', async () => {
  const { next, send } = world([pod('a'), pod('b')]);
  assert.deepEqual(await next(1), ['ADDED a Running']);
  send('DELETED', pod('b'));
  assert.deepEqual(await next(3), ['ADDED b Running', 'INITIAL_SYNC_COMPLETE', 'DELETED b -']);
});

test('of a pod that is gone only the identity is sent, and of one that was never shown nothing', async () => {
  const { next, send, events } = world();
  await next(1);
  send('DELETED', pod('unknown'));
  send('MODIFIED', pod('a'));
  send('DELETED', pod('a'));
  await next(1);
  const { value } = await events.next();
  assert.deepEqual(value, { type: 'DELETED', pod: { metadata: { name: 'name-a', namespace: 'ns', uid: 'a' } } });
});

test('a reader that waits is woken by a change and by the end', async () => {
  const { next, send, events, abort, listeners } = world();
  await next(1);
  const waiting = events.next();
  send('MODIFIED', pod('a'));
  assert.equal(shown((await waiting).value as PodEvent), 'ADDED a Running');
  const last = events.next();
  abort.abort();
  assert.equal((await last).done, true);
  assert.equal(listeners.size, 0);
});

test('a reader that is too slow is disconnected, counted once, and buffers no further events', async () => {
  const { next, send, events, dropped, listeners } = world();
  await next(1);
  for (let i = 0; i < 1500; i++) send('MODIFIED', pod('a'));
  await assert.rejects(events.next(), (error) => error instanceof KubeletError && error.kind === 'Unavailable');
  assert.deepEqual([dropped.count, listeners.size], [1, 0]);
});

test('each pod is added first and deleted last, whatever happens', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom<Change['type']>('MODIFIED', 'DELETED'), fc.constantFrom('a', 'b')), {
        maxLength: 20,
      }),
      async (changes) => {
        const { events, send, abort, next } = world([pod('a')]);
        await next(1);
        for (const [type, uid] of changes) send(type, pod(uid));
        const types = new Map<string, string[]>([['a', ['ADDED']]]);
        setImmediate(() => abort.abort());
        for await (const event of events)
          if ('pod' in event)
            types.set(event.pod.metadata.uid, [...(types.get(event.pod.metadata.uid) ?? []), event.type]);
        for (const seen of types.values()) assert.match(seen.join(' '), /^(ADDED( MODIFIED)*( DELETED|$) ?)*$/);
      },
    ),
    { numRuns: 50 },
  );
});
