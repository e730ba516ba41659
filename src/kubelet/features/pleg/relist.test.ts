import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid } from '../../model/ids.ts';
import { aRun, aSandbox, aStatus } from '../pod-runtime/testing/builders.ts';
import { relist } from './relist.ts';

interface Fixture {
  readonly known?: readonly string[];
  readonly listed?: readonly string[];
  readonly unread?: readonly string[];
  readonly troubled?: readonly string[];
  readonly refuses?: ErrorKind;
}

/** Runs one relist with one sandbox per pod. Returns what the relist did. */
async function run({ known = [], listed = [], unread = [], troubled = [], refuses }: Fixture) {
  const calls: string[] = [];
  const part = (uid: string) => ({ podUid: podUid(uid), podName: `name-${uid}`, podNamespace: 'n' });
  const containers = listed.map((uid) => ({ ...aRun('app', 'running'), ...part(uid) }));
  const sandboxes = listed.map((uid) => ({ ...aSandbox(), ...part(uid) }));
  const statusOf = (uid: string) => ({ ...aStatus([aRun('app', 'running')]), uid: podUid(uid) });
  const forgotten: string[] = [];
  const options = {
    clock: new FakeClock(),
    runtime: {
      listContainers: ({ podUid: of }: { podUid?: string }) => {
        if (of === undefined && refuses !== undefined) return Promise.reject(new KubeletError(refuses, 'too large'));
        if (of !== undefined) calls.push(`list ${of}`);
        return Promise.resolve(containers.filter((each) => of === undefined || each.podUid === of));
      },
      listSandboxes: () => Promise.resolve([...sandboxes, { ...aSandbox(), ...part('') }]),
    },
    cache: {
      beginObservation: () => 1,
      noteListed: (pods: { uid: string; name: string }[]) =>
        void calls.push(`listed ${pods.map(({ uid, name }) => `${uid}=${name}`).join(',')}`),
      get: (uid: string) => (known.includes(uid) ? statusOf(uid) : undefined),
      troubleOf: (uid: string) => (troubled.includes(uid) ? {} : undefined),
      isRead: (uid: string) => !unread.includes(uid),
      forgetUnread: (isGone: (uid: string) => boolean) => void forgotten.push(...['a', 'x'].filter(isGone)),
      all: () => known.map(statusOf),
      commitReading: (uid: string, seq: number, reading: { sandboxes: unknown[]; containers: unknown[] }) =>
        void calls.push(`gone ${uid} ${seq} ${reading.sandboxes.length + reading.containers.length}`),
    },
    inspector: { catchUp: async (uid: string) => void calls.push(`inspect ${uid}`) },
  } as unknown as Parameters<typeof relist>[0];
  const { inspected, settled } = await relist(options);
  await settled;
  return { calls, inspected, forgotten };
}

describe('a relist of the node', () => {
  it('inspects new entries, and none that are unchanged', async () => {
    const { calls, inspected, forgotten } = await run({ known: ['a'], listed: ['a', 'b'] });
    assert.deepEqual([calls, inspected], [['listed b=name-b', 'inspect b'], 1]);
    assert.deepEqual(forgotten, ['x'], 'what is listed is not forgotten');
  });

  it('inspects entries that were not read, or only partly', async () => {
    const both = await run({ known: ['a', 'b', 'c'], listed: ['a', 'b', 'c'], unread: ['a'], troubled: ['c'] });
    assert.deepEqual(both.calls, ['listed ', 'inspect a', 'inspect c']);
  });

  it('drops a known pod that is missing from the list, without another query', async () => {
    assert.deepEqual((await run({ known: ['a', 'b'], listed: ['a'] })).calls, ['listed ', 'gone b 1 0']);
  });

  it('lists containers per pod when the full list is refused for its size', async () => {
    for (const refuses of ['Internal', 'Invalid'] as const) {
      const { calls } = await run({ known: ['k'], listed: ['a', 'b'], refuses });
      assert.deepEqual(calls.filter((call) => call.startsWith('list ')).sort(), ['list a', 'list b', 'list k']);
      assert.ok(calls.includes('inspect a') && calls.includes('inspect b') && calls.includes('gone k 1 0'));
    }
    await assert.rejects(run({ listed: ['a'], refuses: 'Unavailable' }), /too large/);
  });
});
