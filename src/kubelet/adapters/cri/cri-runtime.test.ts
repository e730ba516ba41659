import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorKind, KubeletError } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RuntimeServiceApi } from '../../../cri/cri-api.ts';
import {
  ContainerState,
  ContainerStatus,
  NamespaceMode,
  PodSandboxState,
  PodSandboxStatus,
} from '../../../cri/generated/cri-v1.ts';
import { containerId, sandboxId } from '../../model/ids.ts';
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

const closed = (): Error =>
  new KubeletError(
    'Internal',
    'rpc error: code = Unknown desc = failed to stop container "x": failed to kill container "x": ttrpc: closed: unknown',
  );
const gone = (): Error => new KubeletError('NotFound', 'no such thing');
const cancelled = (): Error => new KubeletError('Unavailable', 'rpc error: code = Canceled desc = context canceled');
const late = (): Error =>
  new KubeletError('Timeout', 'rpc error: code = DeadlineExceeded desc = context deadline exceeded');

/** The answers are returned in turn, and the last one repeats. An error is thrown. */
const script = (calls: string[], name: string, answers: readonly unknown[]) => async (): Promise<object> => {
  calls.push(name);
  const answer = answers[Math.min(calls.filter((call) => call === name).length, answers.length) - 1];
  if (answer instanceof Error) throw answer;
  return (answer ?? {}) as object;
};

interface Script {
  readonly end: readonly unknown[];
  readonly look: readonly unknown[];
}

/** Makes every call that ends something, with the same script. Resolves to the calls and their outcome. */
async function endings({ end, look }: Script): Promise<Record<string, string>> {
  const outcomes: Record<string, string> = {};
  for (const op of ['stopContainer', 'removeContainer', 'stopSandbox', 'removeSandbox'] as const) {
    const calls: string[] = [];
    const [ends, looks] = [script(calls, 'end', end), script(calls, 'look', look)];
    const api = {
      stopContainer: ends,
      removeContainer: ends,
      stopPodSandbox: ends,
      removePodSandbox: ends,
      containerStatus: looks,
      podSandboxStatus: looks,
      listContainers: async () => ({ containers: [] }),
    };
    const clock = new FakeClock();
    const runtime = new CriRuntime(api as unknown as RuntimeServiceApi, undefined, clock);
    const done =
      op === 'stopContainer'
        ? runtime.stopContainer(containerId('x'), 0)
        : op === 'removeContainer'
          ? runtime.removeContainer(containerId('x'))
          : runtime[op](sandboxId('x'));
    const outcome = done.then(
      () => 'done',
      (error: unknown) => `failed: ${errorKind(error)}`,
    );
    await clock.advance(1000);
    outcomes[op] = [...calls, await outcome].join(' ');
  }
  return outcomes;
}

/** The status of a container or of a ready sandbox. Each call reads its own half. */
const running = {
  status: {
    ...PodSandboxStatus.fromPartial({}),
    ...ContainerStatus.fromPartial({ state: ContainerState.CONTAINER_RUNNING }),
  },
};
const exited = { status: ContainerStatus.fromPartial({ state: ContainerState.CONTAINER_EXITED }) };

test('a failed stop or removal succeeds when the object is gone', async () => {
  for (const failure of [closed(), cancelled(), late()]) {
    assert.deepEqual(
      await endings({ end: [failure], look: [gone()] }),
      {
        stopContainer: 'end look done',
        removeContainer: 'end look done',
        stopSandbox: 'end look done',
        removeSandbox: 'end look done',
      },
      failure.message,
    );
  }
});

test('a container whose stop failed is polled until it has ended, and not stopped again', async () => {
  assert.equal((await endings({ end: [closed()], look: [exited] })).stopContainer, 'end look done');
  assert.equal((await endings({ end: [closed()], look: [running, exited] })).stopContainer, 'end look look done');
  assert.equal(
    (await endings({ end: [closed()], look: [running] })).stopContainer,
    'end look look look failed: Internal',
  );
});

test('calls without a grace period are repeated while the object exists', async () => {
  const once = await endings({ end: [closed(), {}], look: [running] });
  assert.deepEqual(
    [once.removeContainer, once.stopSandbox, once.removeSandbox],
    ['end look end done', 'end look end done', 'end look end done'],
  );
  const never = await endings({ end: [closed()], look: [running] });
  assert.deepEqual(
    [never.removeContainer, never.stopSandbox, never.removeSandbox],
    Array(3).fill('end look end look end look failed: Internal'),
  );
});

test('a call that timed out is not repeated, nor one whose result cannot be checked', async () => {
  for (const script of [
    { end: [late()], look: [running] },
    { end: [cancelled()], look: [cancelled()] },
  ]) {
    for (const outcome of Object.values(await endings(script))) assert.match(outcome, /^end look failed/);
  }
  for (const outcome of Object.values(await endings({ end: [gone()], look: [running] })))
    assert.equal(outcome, 'end failed: NotFound');
});

test('a sandbox that is not ready is stopped only if it has no network of its own', async () => {
  const notReady = (network: NamespaceMode): object => ({
    status: PodSandboxStatus.fromPartial({
      state: PodSandboxState.SANDBOX_NOTREADY,
      linux: { namespaces: { options: { network } } },
    }),
  });
  assert.equal((await endings({ end: [closed()], look: [notReady(NamespaceMode.NODE)] })).stopSandbox, 'end look done');
  assert.equal(
    (await endings({ end: [closed(), {}], look: [notReady(NamespaceMode.POD)] })).stopSandbox,
    'end look end done',
  );
});
