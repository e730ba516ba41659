import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { containerId, podUid, sandboxId } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import { EventChecks } from './event-checks.ts';
import type { Inspector } from './inspector.ts';
import { RuntimeCache } from './runtime-cache.ts';

const SANDBOX: SandboxRuntimeStatus = {
  id: sandboxId('s1'),
  podUid: podUid('u1'),
  podName: 'web',
  podNamespace: 'default',
  attempt: 0,
  ready: true,
  createdAtMs: 0,
  ips: [],
  hostNetwork: false,
  labels: {},
  annotations: {},
  runtimeHandler: '',
};

function setUp(): { clock: FakeClock; cache: RuntimeCache; checks: EventChecks; looks: () => number } {
  const clock = new FakeClock();
  const cache = new RuntimeCache(clock);
  cache.noteSandbox(SANDBOX);
  let looks = 0;
  const inspector: Pick<Inspector, 'look'> = { look: async () => void (looks += 1) };
  return {
    clock,
    cache,
    checks: new EventChecks({ clock, cache, inspector: inspector as Inspector }),
    looks: () => looks,
  };
}

test('the end of a sandbox that the agent is stopping costs few checks until the result of the stop arrives', async () => {
  const { clock, cache, checks, looks } = setUp();
  checks.expect(SANDBOX.podUid, SANDBOX.id, 'stopped');
  await clock.advance(100);
  cache.noteSandbox({ ...SANDBOX, ready: false });
  await clock.advance(10_000);
  assert.equal(looks(), 2);
  assert.equal(checks.size, 0);
});

const MAIN = {
  id: containerId('c1'),
  name: 'main',
  state: 'created',
  attempt: 0,
  createdAtMs: 1,
  startedAtMs: 0,
  finishedAtMs: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageRef: '',
  logPath: '',
  sandboxId: SANDBOX.id,
  labels: {},
  annotations: {},
} as unknown as ContainerRuntimeStatus;
const POD = { uid: SANDBOX.podUid, name: 'web', namespace: 'default' };

test('an exit within milliseconds of the start is confirmed although the start is still being checked', async () => {
  const { clock, cache, checks, looks } = setUp();
  // Another inspection of the pod showed the container before the agent had its own result.
  cache.noteContainer(POD, MAIN);
  checks.expect(POD.uid, MAIN.id, 'started');
  cache.noteContainer(POD, { ...MAIN, state: 'running', startedAtMs: 2 });
  assert.ok(cache.commitExit(MAIN.id, { exitCode: 3, finishedAtMs: 3 }));
  checks.confirm(POD.uid, MAIN.id);
  await clock.advance(200);
  assert.equal(looks(), 1);
  cache.commitContainer(MAIN.id, cache.beginObservation(), {
    ...MAIN,
    state: 'exited',
    startedAtMs: 2,
    finishedAtMs: 3,
    exitCode: 3,
    reason: 'Error',
    message: 'the end',
  });
  await clock.advance(10_000);
  assert.deepEqual([cache.container(MAIN.id)?.message, checks.size], ['the end', 0]);
});

test('a check that found nothing is repeated until the runtime reports the change', async () => {
  const { clock, cache, checks, looks } = setUp();
  cache.noteContainer(POD, { ...MAIN, state: 'running', startedAtMs: 2 });
  cache.commitExit(MAIN.id, { exitCode: 3, finishedAtMs: 3 });
  checks.confirm(POD.uid, MAIN.id);
  await clock.advance(220);
  assert.ok(looks() > 1);
  cache.commitContainer(MAIN.id, cache.beginObservation(), {
    ...MAIN,
    state: 'exited',
    startedAtMs: 2,
    finishedAtMs: 3,
    exitCode: 3,
  });
  await clock.advance(10_000);
  assert.equal(checks.size, 0);
});

test('an exit in a snapshot of an unknown container is confirmed too', async () => {
  const { clock, cache, checks, looks } = setUp();
  cache.commitSnapshot({
    sandbox: SANDBOX,
    containers: [{ ...MAIN, state: 'exited', startedAtMs: 2, finishedAtMs: 3, exitCode: 3 }],
  });
  checks.expect(POD.uid, MAIN.id, 'stopped');
  await clock.advance(200);
  assert.equal(looks(), 1);
});

test('an answer from before an exit event does not confirm the exit', async () => {
  const { clock, cache, checks, looks } = setUp();
  cache.noteContainer(POD, { ...MAIN, state: 'running', startedAtMs: 2 });
  const before = cache.beginObservation();
  cache.commitExit(MAIN.id, { exitCode: 3, finishedAtMs: 3 });
  cache.commitContainer(MAIN.id, before, { ...MAIN, state: 'running', startedAtMs: 2 });
  assert.equal(cache.isConfirmed(MAIN.id), false);
  checks.confirm(POD.uid, MAIN.id);
  await clock.advance(200);
  assert.equal(looks(), 1);
});

test('an OOM kill event during a pending status call repeats the call', async () => {
  const clock = new FakeClock();
  const cache = new RuntimeCache(clock);
  cache.noteContainer(POD, { ...MAIN, state: 'running', startedAtMs: 2 });
  const ended = { ...MAIN, state: 'exited' as const, startedAtMs: 2, finishedAtMs: 3, exitCode: 137 };
  const oomSeen = new Set<string>();
  const reasons: string[] = [];
  const look: Inspector['look'] = async () => {
    const reason = reasons.length === 0 ? 'Error' : 'OOMKilled';
    reasons.push(reason);
    oomSeen.add(MAIN.id);
    checks.expect(POD.uid, MAIN.id, 'changed');
    cache.commitContainer(MAIN.id, cache.beginObservation(), { ...ended, reason });
  };
  const checks = new EventChecks({ clock, cache, inspector: { look } as Inspector, oomSeen });
  cache.commitExit(MAIN.id, { exitCode: 137, finishedAtMs: 3 });
  checks.confirm(POD.uid, MAIN.id);
  await clock.advance(10_000);
  assert.deepEqual([reasons, cache.container(MAIN.id)?.reason, checks.size], [['Error', 'OOMKilled'], 'OOMKilled', 0]);
});

test('an OOM kill that the runtime never reports is not checked forever', async () => {
  const { clock, cache } = setUp();
  cache.noteContainer(POD, {
    ...MAIN,
    state: 'exited',
    startedAtMs: 2,
    finishedAtMs: 3,
    exitCode: 137,
    reason: 'Error',
  });
  let looks = 0;
  const checks = new EventChecks({
    clock,
    cache,
    inspector: { look: async () => void (looks += 1) } as unknown as Inspector,
    oomSeen: new Set([MAIN.id]),
  });
  checks.expect(POD.uid, MAIN.id, 'changed');
  await clock.advance(60_000);
  assert.deepEqual([looks > 5 && looks < 20, checks.size], [true, 0]);
});
