import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { podUid, sandboxId } from '../../model/ids.ts';
import type { SandboxRuntimeStatus } from '../../model/runtime-status.ts';
import { EventChecks } from './event-checks.ts';
import type { Inspector } from './inspector.ts';
import { RuntimeCache } from './runtime-cache.ts';

const SANDBOX: SandboxRuntimeStatus = {
  id: sandboxId('s1'), podUid: podUid('u1'), podName: 'web', podNamespace: 'default', attempt: 0, ready: true, createdAtMs: 0, ips: [], hostNetwork: false, labels: {}, annotations: {}, runtimeHandler: '',
};

function setUp(): { clock: FakeClock; cache: RuntimeCache; checks: EventChecks; looks: () => number } {
  const clock = new FakeClock();
  const cache = new RuntimeCache(clock);
  cache.noteSandbox(SANDBOX);
  let looks = 0;
  const inspector: Pick<Inspector, 'look'> = { look: async () => void (looks += 1) };
  return { clock, cache, checks: new EventChecks({ clock, cache, inspector: inspector as Inspector }), looks: () => looks };
}

test('the end of a sandbox that the agent is stopping costs few looks until its own result is in', async () => {
  const { clock, cache, checks, looks } = setUp();
  checks.expect(SANDBOX.podUid, SANDBOX.id, 'stopped');
  await clock.advance(100);
  cache.noteSandbox({ ...SANDBOX, ready: false });
  await clock.advance(10_000);
  assert.equal(looks(), 2);
  assert.equal(checks.size, 0);
});
