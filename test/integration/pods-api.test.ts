// The Pods API as a program on the node reads it, from an agent on the real runtime.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { PodSchema } from '../../src/api/core/pod.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { decodeMessage } from '../../src/api/protobuf/decode-protobuf.ts';
import { systemClock } from '../../src/base/clock.ts';
import { EventType } from '../../src/devices/generated/pods-v1alpha1.ts';
import { createPodsClient } from '../../src/devices/pods-server.ts';
import { container, pod } from './support/manifests.ts';
import { agentFixture } from './support/suite.ts';

const fixture = agentFixture({ name: 'pods-api', agent: { config: { featureGates: { PodsAPI: true } } } });

const read = (bytes: Uint8Array): Pod => decodeMessage(bytes, PodSchema) as unknown as Pod;

test('pods are listed, found by uid, and watched from their first to their last state', async (context) => {
  const { agent } = fixture;
  const client = createPodsClient({
    socketPath: join(agent.rootDir, 'pods-api', 'pods-api.sock'),
    clock: systemClock,
  });
  context.after(() => client.close());
  await agent.run(pod('early', { containers: [container('main')] }));

  const seen: { type: EventType; pod: Pod }[] = [];
  const synced = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const { type, pod: bytes } of client.watchPods({}, { timeoutMs: Infinity })) {
      seen.push({ type, pod: read(bytes) });
      if (type === EventType.INITIAL_SYNC_COMPLETE) synced.resolve();
      if (type === EventType.DELETED) return;
    }
  })();
  await synced.promise;
  const late = await agent.run(pod('late', { containers: [container('main')] }));
  const listed = (await client.listPods({})).pods.map(read);
  assert.deepEqual(listed.map(({ metadata }) => metadata.name).sort(), ['early-node', 'late-node']);
  const found = read((await client.getPod({ podUID: late.metadata.uid })).pod);
  assert.deepEqual([found.metadata.name, found.status?.phase], ['late-node', 'Running']);
  await assert.rejects(client.getPod({ podUID: 'other' }), /NotFound desc = pod with UID other not found/);

  await agent.remove('late');
  await watching;
  assert.equal(seen[0]?.pod.metadata.name, 'early-node');
  assert.equal(seen[1]?.type, EventType.INITIAL_SYNC_COMPLETE);
  const ofLate = seen.filter(({ pod: { metadata } }) => metadata?.uid === late.metadata.uid);
  assert.equal(ofLate[0]?.type, EventType.ADDED);
  assert.equal(ofLate.at(-1)?.type, EventType.DELETED);
  assert.ok(ofLate.slice(1, -1).every(({ type }) => type === EventType.MODIFIED));
  assert.ok(ofLate.some(({ pod: { metadata } }) => metadata.deletionTimestamp !== undefined));
});
