import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodes } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { MachineFacts } from '../../ports/machine-facts.ts';
import type { RuntimeHealth } from '../../ports/runtime.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import type { NodeAgentParts } from './create-node-agent.ts';
import { createNodeAgent } from './create-node-agent.ts';
import type { NodeParts } from './create-node.ts';
import { noPressure, NodeStatusChanges } from './node-status-sources.ts';
import { createNodeWatch } from './node-watch.ts';
import { bareNode, nodeFacts, nodeIdentity } from './testing/node-builder.ts';

function fixture() {
  const clock = new FakeClock();
  const time = { clock, random: seededRandom(1), log: silentLogger };
  const api = new FakeApiClient({ clock });
  const runtime = new FakeRuntime({ clock, images: [] });
  const statusChanges = new NodeStatusChanges();
  const watch = createNodeWatch({ client: api, nodeName: 'n1', ...time });
  const state = { storage: undefined as string | undefined, inUse: undefined as string[] | undefined };
  const reported: string[] = [];
  const config = {
    node: {
      register: true,
      podCidr: '',
      statusUpdatePeriodMs: 10_000,
      statusReportPeriodMs: 300_000,
      statusMaxImages: 50,
      leaseDurationMs: 40_000,
    },
    gates: { enabled: () => false },
  } as unknown as NodeAgentParts['config'];
  const agent = createNodeAgent({
    config,
    rootDir: '/root',
    cluster: { heartbeat: api },
    machine: { nodeName: 'n1', addresses: ['10.0.0.1'], bootedAtMs: 0 } as unknown as MachineFacts,
    network: undefined,
    runtime,
    runtimeName: 'containerd',
    images: runtime as unknown as NodeAgentParts['images'],
    files: { stat: async () => undefined },
    node: { identity: nodeIdentity(), watch, statusChanges, local: () => bareNode() } as unknown as NodeParts,
    statusSources: {
      pressure: () => noPressure,
      machineConditions: () => [],
      storageProblem: () => state.storage,
      shutdownProblem: () => undefined,
      devices: () => nodeFacts().devices,
      volumesInUse: () => state.inUse,
      volumesReported: (volumes) => void reported.push(volumes.join(' ')),
    },
    recorder: { nodeEvent: () => undefined },
    monitor: { health: nodeFacts().runtime as RuntimeHealth, readyErrors: () => [], networkError: () => undefined },
    whenAdopted: () => Promise.resolve(),
    ...time,
  });
  const node = () => api.peek(nodes, { namespace: '', name: 'n1' });
  const isReady = (): string | undefined => node()?.status?.conditions?.find(({ type }) => type === 'Ready')?.status;
  const start = async (): Promise<void> => {
    watch.start();
    agent.start();
    await clock.advance(1000);
  };
  const stop = async (): Promise<void> => {
    await agent.stop();
    await watch.stop();
  };
  return { clock, state, statusChanges, reported, node, isReady, start, stop };
}

describe('the status of the node', () => {
  it('follows other features as soon as they report a change', async () => {
    const { clock, state, statusChanges, isReady, start, stop } = fixture();
    state.storage = 'CSINode is not yet initialized';
    await start();
    assert.equal(isReady(), 'False');
    state.storage = undefined;
    statusChanges.notify();
    await clock.advance(1000);
    assert.equal(isReady(), 'True');
    await stop();
  });

  it('reports which volumes are in use, and passes on those that the API server knows', async () => {
    const { clock, state, statusChanges, reported, node, start, stop } = fixture();
    await start();
    assert.deepEqual(reported.at(-1), '');
    state.inUse = ['a', 'b'];
    statusChanges.notify();
    await clock.advance(1000);
    assert.deepEqual([node()?.status?.volumesInUse, reported.at(-1)], [['a', 'b'], 'a b']);
    await stop();
  });
});
