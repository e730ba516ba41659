import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeTimeoutMs } from './call-deadline.ts';

const cases: readonly [string, object, number][] = [
  ['Version', {}, 1000],
  ['StreamPodSandboxes', {}, 1000],
  ['ImageFsInfo', {}, 1000],
  ['RunPodSandbox', {}, 2000],
  ['StopContainer', {}, 1000],
  ['StopContainer', { timeout: 30n }, 31_000],
  ['StopContainer', { timeout: -5 }, 1000],
  ['ExecSync', {}, Infinity],
  ['ExecSync', { timeout: 0n }, Infinity],
  ['ExecSync', { timeout: 2 }, 3000],
  ['CheckpointContainer', { timeout: 10n }, 10_000],
  ['CheckpointContainer', { timeout: 0n }, 1000],
  ['PullImage', {}, Infinity],
  ['GetContainerEvents', {}, Infinity],
];

for (const [rpc, request, timeoutMs] of cases) {
  const asked = 'timeout' in request ? ` with timeout ${String(request.timeout)} s` : '';
  test(`${rpc}${asked} may take ${timeoutMs} ms when the configured limit is 1 s`, () => {
    assert.equal(computeTimeoutMs(rpc, request, 1000), timeoutMs);
  });
}
