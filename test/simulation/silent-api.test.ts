import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { configMaps, pods } from '../../src/api/client/resource-types.ts';
import { buildPod } from '../../src/api/testing/pod-builder.ts';
import { IMAGES, NODE_NAME, SimulatedNode } from './world.ts';

describe('an API server that takes every question and answers none', () => {
  it('keeps no agent from leaving, whatever it has asked', async () => {
    const node = new SimulatedNode({ seed: 1, cluster: true });
    const { api, clock } = node;
    assert.ok(api !== undefined);
    const addPod = (name: string, changes: object = {}): void =>
      void api.server.seed(
        pods,
        buildPod({
          'metadata.name': name,
          'metadata.uid': name,
          'spec.nodeName': NODE_NAME,
          'spec.containers': [{ name: 'main', image: IMAGES[0], command: ['simulate'], args: ['{}'] }],
          ...changes,
        }),
      );
    api.server.seed(configMaps, { metadata: { name: 'settings', namespace: 'default', uid: 'settings' }, data: {} });
    addPod('runs', { 'spec.volumes': [{ name: 'settings', configMap: { name: 'settings' } }] });
    node.start();
    await clock.advance(20_000);
    addPod('claims', { 'spec.volumes': [{ name: 'data', persistentVolumeClaim: { claimName: 'data' } }] });
    api.isSilent = true;
    // Long enough for the lease, the node's status, events and looks at claims to be under way.
    await clock.advance(60_000);
    let left = false;
    void node.terminate().then(() => (left = true));
    await clock.advance(1000);
    assert.equal(left, true);
  });
});
