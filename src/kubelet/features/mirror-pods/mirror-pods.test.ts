import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods as podType } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { MirrorFacts } from './mirror-pod.ts';
import { computeMirrorAction } from './mirror-pod.ts';
import { MirrorPods } from './mirror-pods.ts';

const key = { namespace: 'default', name: 'web-n1' };
const fullName = 'web-n1_default';
const manifest = (hash: string): Pod =>
  buildPod({
    'metadata.name': key.name,
    'metadata.uid': hash,
    'metadata.labels': { app: 'web' },
    'metadata.annotations': {
      'kubernetes.io/config.hash': hash,
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
    },
    'spec.nodeName': 'n1',
  });

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const events: string[] = [];
  const world: Pick<MirrorFacts, 'pod' | 'node' | 'isEnding' | 'sourcesReady'> & { isListed: boolean } = {
    pod: manifest('h1'),
    node: { name: 'n1', uid: 'node-uid' },
    isEnding: false,
    sourcesReady: true,
    isListed: true,
  };
  const mirrors = new MirrorPods({
    client: api,
    facts: () => (world.isListed ? { ...world, found: api.peek(podType, key) } : undefined),
    recorder: {
      event: (pod, type, reason, message) => void events.push(`${pod.metadata.uid} ${type} ${reason} ${message}`),
    },
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const bring = async (): Promise<Pod | undefined> => {
    mirrors.reconcile(fullName);
    await clock.settle();
    return api.peek(podType, key);
  };
  return { clock, api, events, world, mirrors, bring };
}

describe('a mirror pod', () => {
  it('is a copy with the hash of the manifest, owned by the node', async () => {
    const { bring } = setUp();
    const { metadata, spec } = (await bring()) as Pod;
    assert.deepEqual(metadata.annotations, {
      'kubernetes.io/config.hash': 'h1',
      'kubernetes.io/config.mirror': 'h1',
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.seen': '2026-01-01T00:00:00Z',
    });
    assert.deepEqual(metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true },
    ]);
    assert.deepEqual([metadata.labels, spec.nodeName, metadata.uid === 'h1'], [{ app: 'web' }, 'n1', false]);
  });

  it('is created once, and again when it is deleted or its manifest changed', async () => {
    const { clock, api, world, bring } = setUp();
    const first = await bring();
    assert.equal((await bring())?.metadata.uid, first?.metadata.uid);
    await api.delete(podType, key, {});
    await bring();
    await bring();
    await clock.advance(600);
    const second = await bring();
    assert.notEqual(second?.metadata.uid, first?.metadata.uid);
    world.pod = manifest('h2');
    await bring();
    assert.equal((await bring())?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h2');
    assert.deepEqual(
      api.calls
        .filter(
          ({ verb, body }) => verb === 'delete' && (body as { gracePeriodSeconds?: number }).gracePeriodSeconds === 0,
        )
        .map(({ body }) => (body as { preconditions: { uid: string } }).preconditions.uid),
      [first?.metadata.uid, second?.metadata.uid],
    );
  });

  it('stays away for a moment after a deletion, so that a wait for the deletion ends', async () => {
    const { clock, api, mirrors, bring } = setUp();
    await bring();
    await bring();
    await api.delete(podType, key, { gracePeriodSeconds: 0 });
    assert.equal(await bring(), undefined);
    await clock.advance(400);
    assert.equal(await bring(), undefined);
    await clock.advance(200);
    assert.notEqual(api.peek(podType, key), undefined);
    await bring();
    await api.delete(podType, key, { gracePeriodSeconds: 0 });
    await bring();
    mirrors.stop();
    assert.equal(clock.armedTimers, 0);
  });

  it('is replaced for a node that was registered again', async () => {
    const { clock, world, bring } = setUp();
    await bring();
    world.node = { name: 'n1', uid: 'again' };
    await bring();
    await bring();
    await clock.advance(600);
    assert.equal((await bring())?.metadata.ownerReferences?.[0]?.uid, 'again');
  });

  it('is deleted when its pod is permanently gone, and not while it is being stopped or a source has not reported', async () => {
    const { world, bring } = setUp();
    await bring();
    world.pod = undefined;
    world.isEnding = true;
    assert.notEqual(await bring(), undefined);
    Object.assign(world, { isEnding: false, sourcesReady: false });
    assert.notEqual(await bring(), undefined);
    world.sourcesReady = true;
    assert.equal(await bring(), undefined);
  });

  it('shows the pod that is being stopped until nothing of it is left, though the next one of its name waits', async () => {
    const { api, world, bring } = setUp();
    const first = await bring();
    Object.assign(world, { pod: manifest('h2'), isEnding: true });
    await bring();
    assert.equal((await bring())?.metadata.uid, first?.metadata.uid);
    await api.delete(podType, key, { gracePeriodSeconds: 0 });
    assert.equal(await bring(), undefined);
    world.isEnding = false;
    assert.equal((await bring())?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h2');
  });

  it('waits for the node to be registered, and for the list of the API', async () => {
    const { api, world, bring } = setUp();
    world.node = undefined;
    await bring();
    Object.assign(world, { node: { name: 'n1', uid: 'u' }, isListed: false });
    await bring();
    assert.deepEqual(api.writes, []);
    world.isListed = true;
    assert.notEqual(await bring(), undefined);
  });

  it('that is refused is one event of its pod, and is retried until it succeeds', async () => {
    const { clock, api, events, bring } = setUp();
    const end = api.script(() => new ApiStatusError('Forbidden', 'no'));
    await bring();
    await clock.advance(600_000);
    assert.deepEqual(events, ['h1 Warning FailedCreateMirrorPod Failed creating a mirror pod: no']);
    assert.ok(api.calls.length > 5 && api.calls.length < 40, `${api.calls.length} tries`);
    end();
    await clock.advance(120_000);
    assert.notEqual(api.peek(podType, key), undefined);
    assert.equal(clock.armedTimers, 0);
  });

  it('never replaces another pod of its name', () => {
    const other = buildPod({ 'metadata.name': key.name });
    const facts: MirrorFacts = {
      pod: manifest('h1'),
      found: other,
      node: { name: 'n1', uid: 'u' },
      isEnding: false,
      sourcesReady: true,
    };
    assert.deepEqual(computeMirrorAction(facts), { kind: 'blocked', by: other });
    assert.deepEqual(computeMirrorAction({ ...facts, pod: undefined }), { kind: 'nothing' });
  });
});
