import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../base/errors.ts';
import type { RuntimeServiceApi } from '../../../cri/cri-api.ts';
import { sandboxId } from '../../model/ids.ts';
import { CriRuntime } from './cri-runtime.ts';

function runtimeThatCounts(): { runtime: CriRuntime; calls: string[]; failures: Error[] } {
  const calls: string[] = [];
  const failures: Error[] = [];
  const answer =
    (call: string) =>
    async ({ podSandboxId = '' }: { podSandboxId?: string }): Promise<object> => {
      calls.push(`${call} ${podSandboxId}`);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      return {};
    };
  const api: Pick<RuntimeServiceApi, 'stopPodSandbox' | 'removePodSandbox'> = {
    stopPodSandbox: answer('stop'),
    removePodSandbox: answer('remove'),
  };
  return { runtime: new CriRuntime(api as RuntimeServiceApi), calls, failures };
}

test('a sandbox that was stopped is not stopped again; one whose stop failed is', async () => {
  const { runtime, calls, failures } = runtimeThatCounts();
  failures.push(new KubeletError('Timeout', 'too slow'));
  await assert.rejects(runtime.stopSandbox(sandboxId('a')));
  await runtime.stopSandbox(sandboxId('a'));
  await runtime.stopSandbox(sandboxId('a'));
  await runtime.stopSandbox(sandboxId('b'));
  assert.deepEqual(calls, ['stop a', 'stop a', 'stop b']);
});
