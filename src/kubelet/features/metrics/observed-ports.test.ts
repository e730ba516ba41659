import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { buildContainerConfig, buildSandboxConfig } from '../../ports/testing/runtime-builders.ts';
import { createAgentMetrics } from './agent-metrics.ts';
import type { ActingPorts } from './observed-ports.ts';
import { observedPorts } from './observed-ports.ts';

const shape = { uid: 'u' };
type Call = 'runSandbox' | 'createContainer' | 'startContainer';

/** A runtime that refuses the call `failing`. */
function setUp(failing?: Call) {
  const script: { failing: Call | undefined } = { failing };
  const call = <T>(name: Call, result: T): Promise<T> =>
    script.failing === name ? Promise.reject(new Error(`${name} fails as scripted`)) : Promise.resolve(result);
  let made = 0;
  const runtime = {
    runSandbox: () => call('runSandbox', 's'),
    createContainer: () => call('createContainer', `c${++made}`),
    startContainer: () => call('startContainer', undefined),
  };
  const metrics = createAgentMetrics();
  // The other ports are not called here.
  const ports = {
    clock: new FakeClock(),
    runtime,
    images: {},
    cgroups: {},
    csiDrivers: {},
  } as unknown as ActingPorts;
  const observed = observedPorts(ports, { metrics, pod: () => undefined, onPulled: () => undefined });
  const users = async (): Promise<string[]> =>
    (await metrics.main.text()).split('\n').filter((line) => line.startsWith('kubelet_started_user_namespaced'));
  return { script, observed: observed.runtime, users };
}

const plain = buildSandboxConfig(shape);
const withUsers = buildSandboxConfig(shape, {
  security: {
    ...plain.security,
    namespaces: { ...plain.security.namespaces, userns: { mode: 'pod', hostId: 65_536, length: 65_536 } },
  },
});

async function start(runtime: ContainerRuntime, sandboxConfig = withUsers): Promise<void> {
  const sandbox = await runtime.runSandbox(sandboxConfig, '');
  for (const name of ['one', 'two']) {
    const config = buildContainerConfig(shape, { name, image: 'app' });
    await runtime
      .createContainer(sandbox, config, sandboxConfig)
      .then((id) => runtime.startContainer(id))
      .catch(() => undefined);
  }
}

const counted = (started: number, errors: number): string[] => [
  `kubelet_started_user_namespaced_pods_errors_total ${errors}`,
  `kubelet_started_user_namespaced_pods_total ${started}`,
];

describe('pods with a user namespace', () => {
  it('have no error when their sandbox and containers start', async () => {
    const { observed, users } = setUp();
    await start(observed);
    assert.deepEqual(await users(), counted(1, 0));
  });

  for (const failing of ['createContainer', 'startContainer'] as const)
    it(`have one error when calls of ${failing} fail in a new sandbox`, async () => {
      const { script, observed, users } = setUp(failing);
      await start(observed);
      assert.deepEqual(await users(), counted(1, 1));
      script.failing = undefined;
      await start(observed);
      assert.deepEqual(await users(), counted(2, 1));
    });

  it('have an error when the sandbox fails', async () => {
    const { observed, users } = setUp('runSandbox');
    await assert.rejects(start(observed));
    assert.deepEqual(await users(), counted(1, 1));
  });

  it('are not counted without one', async () => {
    const { observed, users } = setUp('startContainer');
    await start(observed, plain);
    assert.deepEqual(await users(), counted(0, 0));
  });
});
