import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods } from '../../src/api/client/resource-types.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import { IMAGES, NODE_NAME, SimulatedNode } from './world.ts';

const PODS = 20;

describe('the end of an outage of the API server', () => {
  it('brings every status that changed meanwhile within a second of the first answer', async () => {
    const node = new SimulatedNode({ seed: 1, cluster: true });
    const { api, clock } = node;
    assert.ok(api !== undefined);
    for (let at = 0; at < PODS; at++) {
      const behaviour = { exitAfterMs: 30_000 + at * 10_000, exitCode: 0 };
      api.server.seed(
        pods,
        buildPod({
          'metadata.name': `task-${at}`,
          'metadata.uid': `task-${at}`,
          'spec.nodeName': NODE_NAME,
          'spec.restartPolicy': 'Never',
          'spec.containers': [
            { name: 'main', image: IMAGES[0], command: ['simulate'], args: [JSON.stringify(behaviour)] },
          ],
        }),
      );
    }
    node.start();
    await clock.advance(20_000);
    const phases = (): string[] => [...new Set(api.server.all(pods).map(({ status }) => status?.phase ?? ''))];
    assert.deepEqual(phases(), ['Running']);
    api.goAway();
    await clock.advance(300_000);
    api.server.calls.length = 0;
    api.comeBack();
    for (let waitedMs = 0; api.server.calls.length === 0 && waitedMs < 60_000; waitedMs += 10) await clock.advance(10);
    await clock.advance(1000);
    assert.deepEqual(phases(), ['Succeeded']);
    node.kill();
  });
});
