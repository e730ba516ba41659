import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid } from '../../model/ids.ts';
import { StatusManager } from './status-manager.ts';
import { StatusUploader } from './status-uploader.ts';

const uid = podUid('uid-1');
const key = { namespace: 'default', name: 'web' };
const running: PodStatus = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };

/**
 * Creates an uploader. `slowMs` is the duration of each request. `made` returns the status that the API server stores.
 */
function setUp({
  changes = {},
  slowMs = 0,
  made = (pod) => pod,
}: {
  changes?: Changes;
  slowMs?: number;
  made?: (pod: Pod) => Pod;
} = {}) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const statuses = new StatusManager(clock);
  const seen: { pod: Pod | undefined } = {
    pod: api.seed(pods, buildPod({ 'spec.nodeName': 'n1', 'status.phase': 'Pending', ...changes })),
  };
  const released = new Set<string>();
  const slowly = async <T>(call: () => Promise<T>): Promise<T> => {
    if (slowMs > 0) await new Promise<void>((resolve) => clock.setTimer(slowMs, resolve));
    return await call();
  };
  const uploader = new StatusUploader({
    client: {
      patch: (...given) => slowly(() => api.patch(...given)),
      delete: (...given) => slowly(() => api.delete(...given)),
    },
    statuses,
    apiPod: () => seen.pod,
    isReleased: (each) => released.has(each),
    onWritten: (pod) => (seen.pod = made(pod)),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  statuses.onChange((change) => uploader.wake(change.uid));
  const say = (status: PodStatus): boolean => statuses.set(buildPod(), status, 0);
  return { clock, api, seen, statuses, released, uploader, say, uploaded: () => api.peek(pods, key)?.status };
}

describe('the upload of pod statuses', () => {
  it('happens at once, and never without a change', async () => {
    const { clock, api, uploader, say, uploaded } = setUp();
    say(running);
    await clock.settle();
    assert.equal(uploaded()?.phase, 'Running');
    uploader.wake(uid);
    say({ ...running });
    await clock.settle();
    assert.deepEqual(api.writes, ['patch pods/status default/web']);
    assert.equal((api.calls[0]?.body as Pod).metadata.uid, uid);
  });

  it('sends one status at a time, and only the newest of those that change meanwhile', async () => {
    const { clock, api, say, uploaded } = setUp({ slowMs: 50 });
    say(running);
    await clock.advance(10);
    for (const reason of ['a', 'b', 'c']) say({ ...running, reason });
    await clock.advance(200);
    assert.equal(uploaded()?.reason, 'c');
    assert.equal(api.writes.length, 2);
  });

  it('waits for an unavailable API server, and sends the newest status when it is back', async () => {
    const { clock, api, uploader, say, uploaded } = setUp();
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    say(running);
    await clock.advance(3_600_000);
    const tries = api.calls.length;
    assert.ok(tries > 100 && tries < 400, `${tries} tries in an hour`);
    say({ ...running, reason: 'newest' });
    end();
    uploader.wakeAll([uid]);
    await clock.settle();
    assert.equal(uploaded()?.reason, 'newest');
    assert.equal(clock.armedTimers, 0);
  });

  for (const [how, error] of [
    ['taken', undefined],
    ['refused', new ApiStatusError('ServiceUnavailable', 'away')],
  ] as const) {
    it(`leaves nothing behind when the pod is forgotten before the last one was ${how}`, async () => {
      const { clock, api, statuses, uploader, say } = setUp({ slowMs: 50 });
      if (error !== undefined) api.fail('patch', 'pods', error);
      say(running);
      await clock.advance(10);
      statuses.forget(uid);
      uploader.forget(uid);
      await clock.advance(100);
      assert.deepEqual([uploader.size, clock.armedTimers], [0, 0]);
    });
  }

  it('never sends a status to a later pod of the same name', async () => {
    const { clock, api, seen, say } = setUp();
    api.remove(pods, key);
    const later = api.seed(pods, buildPod({ 'metadata.uid': 'uid-2', 'spec.nodeName': 'n1' }));
    say(running);
    await clock.advance(1000);
    assert.equal(api.peek(pods, key)?.metadata.resourceVersion, later.metadata.resourceVersion);
    seen.pod = undefined;
    const tries = api.calls.length;
    await clock.advance(60_000);
    assert.equal(api.calls.length, tries);
  });

  it('restores a status that another client changed, at a limited rate', async () => {
    const { clock, api, seen, uploader, say, uploaded } = setUp();
    say(running);
    await clock.settle();
    const meddle = async (): Promise<void> => {
      seen.pod = api.change(pods, key, (pod) => ({ ...pod, status: { ...pod.status, phase: 'Pending' } }));
      uploader.wake(uid);
      await clock.settle();
    };
    await meddle();
    assert.equal(uploaded()?.phase, 'Running');
    for (let at = 0; at < 5; at++) await meddle();
    assert.equal(api.writes.length, 2);
    await clock.advance(10_000);
    assert.deepEqual([uploaded()?.phase, api.writes.length], ['Running', 3]);
  });

  it('repeats a status once if the API server changed it, and not again', async () => {
    const { clock, api, uploader, say } = setUp({
      made: (pod) => ({ ...pod, status: { ...pod.status, message: 'cut' } }),
    });
    say({ ...running, message: 'long' });
    await clock.settle();
    for (let at = 0; at < 5; at++) {
      uploader.wake(uid);
      await clock.advance(60_000);
    }
    assert.equal(api.writes.length, 2);
  });

  it('sends the full change although it was computed from an old version', async () => {
    const { clock, api, uploader, say, uploaded } = setUp();
    say(running);
    await clock.settle();
    // The agent has not received this version when the next change is sent.
    api.change(pods, key, (pod): Pod => ({ ...pod, status: { ...pod.status, phase: 'Pending' } }));
    say({ ...running, reason: 'next' });
    await clock.settle();
    uploader.wake(uid);
    await clock.settle();
    assert.deepEqual([uploaded()?.phase, uploaded()?.reason], ['Running', 'next']);
  });

  it('sends the status of a static pod at once to each new mirror pod, however many in a row', async () => {
    const { clock, api, seen, uploader, say, uploaded } = setUp({
      changes: { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'h' } },
    });
    say(running);
    await clock.settle();
    for (const again of ['mirror-2', 'mirror-3', 'mirror-4']) {
      api.remove(pods, key);
      seen.pod = api.seed(
        pods,
        buildPod({
          'metadata.uid': again,
          'spec.nodeName': 'n1',
          'metadata.annotations': { 'kubernetes.io/config.mirror': 'h' },
          'status.phase': 'Pending',
        }),
      );
      uploader.wake(uid);
      await clock.settle();
      assert.equal(uploaded()?.phase, 'Running', again);
    }
  });

  it('shows in the mirror pod that a terminated static pod runs again', async () => {
    const { clock, say, uploaded } = setUp({
      changes: { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'h' } },
    });
    const disrupted = { type: 'DisruptionTarget', status: 'True' as const };
    say({ phase: 'Failed', reason: 'Terminated', conditions: [disrupted] });
    await clock.settle();
    assert.deepEqual([uploaded()?.phase, uploaded()?.conditions?.length], ['Failed', 1]);
    say(running);
    await clock.settle();
    assert.deepEqual(
      [uploaded()?.phase, uploaded()?.reason, uploaded()?.conditions?.some(({ type }) => type === 'DisruptionTarget')],
      ['Running', undefined, false],
    );
  });

  it("succeeds within seconds although most writes conflict with another client's", async () => {
    const { clock, api, say, uploaded } = setUp();
    api.fail('patch', 'pods', new ApiStatusError('Conflict', 'changed meanwhile'), 10);
    say(running);
    await clock.advance(10_000);
    assert.equal(uploaded()?.phase, 'Running');
  });

  it('a rejected status is not repeated until it changes', async () => {
    const { clock, api, uploader, say } = setUp();
    api.fail('patch', 'pods', new ApiStatusError('Invalid', 'no'), 1);
    say(running);
    await clock.advance(60_000);
    uploader.wake(uid);
    await clock.advance(60_000);
    assert.equal(api.calls.length, 1);
    say({ ...running, reason: 'other' });
    await clock.settle();
    assert.equal(api.peek(pods, key)?.status?.reason, 'other');
  });
});

describe('the object of a deleted pod', () => {
  const deleted = { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z', 'metadata.deletionGracePeriodSeconds': 30 };

  it("is deleted only when the pod's resources are released and its final status was sent", async () => {
    const { clock, api, released, uploader, say } = setUp({ changes: deleted });
    say({ phase: 'Succeeded' });
    await clock.settle();
    assert.equal(api.peek(pods, key)?.status?.phase, 'Succeeded');
    released.add(uid);
    uploader.wake(uid);
    await clock.settle();
    assert.equal(api.peek(pods, key), undefined);
    assert.deepEqual(api.calls.at(-1)?.body, { gracePeriodSeconds: 0, preconditions: { uid } });
  });

  it('is kept while the pod has not ended, although nothing runs any more', async () => {
    const { clock, api, released, uploader, say } = setUp({ changes: deleted });
    released.add(uid);
    say(running);
    uploader.wake(uid);
    await clock.settle();
    assert.deepEqual(api.writes, ['patch pods/status default/web']);
  });

  it('is deleted once, even if finalizers keep it', async () => {
    const { clock, api, released, uploader, say } = setUp({
      changes: { ...deleted, 'metadata.finalizers': ['example.com/keep'] },
    });
    released.add(uid);
    say({ phase: 'Failed' });
    await clock.settle();
    uploader.wake(uid);
    await clock.settle();
    assert.deepEqual(api.writes, ['patch pods/status default/web', 'delete pods default/web']);
  });

  it('is deleted although its last status was rejected', async () => {
    const { clock, api, released, say } = setUp({ changes: deleted });
    api.fail('patch', 'pods', new ApiStatusError('Invalid', 'no'), 1);
    released.add(uid);
    say({ phase: 'Failed' });
    await clock.settle();
    assert.equal(api.peek(pods, key), undefined);
  });

  it('is not deleted if it is a mirror pod or already gone', async () => {
    const mirror = setUp({ changes: { ...deleted, 'metadata.annotations': { 'kubernetes.io/config.mirror': 'h' } } });
    mirror.released.add(uid);
    mirror.say({ phase: 'Failed' });
    await mirror.clock.settle();
    assert.deepEqual(mirror.api.writes, ['patch pods/status default/web']);
    const gone = setUp({ changes: { ...deleted, 'status.phase': 'Failed' } });
    gone.api.remove(pods, key);
    gone.released.add(uid);
    gone.say({ phase: 'Failed' });
    await gone.clock.advance(60_000);
    gone.uploader.wake(uid);
    await gone.clock.advance(60_000);
    assert.ok(gone.api.writes.length <= 2, gone.api.writes.join());
  });
});
