import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { pods as podType } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { ApiPodSource } from './api-source.ts';
import { RememberedPods } from './remembered-pods.ts';

const build = (name: string, changes: Changes = {}): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': `uid-${name}`, 'spec.nodeName': 'n1', ...changes });
const keyOf = (name: string) => ({ namespace: 'default', name });

function setUp(found: readonly unknown[] = [], nodeKnown: Promise<void> = Promise.resolve()) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const lines: unknown[] = [];
  const remembered = new RememberedPods(found, (line) => lines.push(line));
  const delivered: string[] = [];
  const invalid: string[] = [];
  const heard: string[] = [];
  const source = new ApiPodSource({
    client: api,
    nodeName: 'n1',
    nodeKnown: () => nodeKnown,
    remembered,
    setPods: (pods, { complete }) =>
      delivered.push(
        `${pods
          .map((pod) => pod.metadata.uid)
          .sort()
          .join(' ')}${complete ? '' : ' so far'}`,
      ),
    onChange: (change) => heard.push(change.kind === 'pod' ? change.pod.metadata.uid : 'listed'),
    onInvalid: (pod, problems) => invalid.push(`${pod.metadata.name}: ${problems}`),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  return { clock, api, lines, delivered, invalid, heard, source };
}

describe('the API server as a source of pods', () => {
  it('reports all pods of this node after each change, once the first list is complete', async () => {
    const { clock, api, delivered, heard, source } = setUp();
    api.seed(podType, build('a'));
    api.seed(podType, build('elsewhere', { 'spec.nodeName': 'n2' }));
    source.start();
    assert.equal(source.isListed(), false);
    await clock.settle();
    api.seed(podType, build('b'));
    await clock.settle();
    api.remove(podType, keyOf('a'));
    await clock.settle();
    assert.deepEqual(delivered, ['uid-a', 'uid-a uid-b', 'uid-b']);
    assert.deepEqual(heard, ['listed', 'uid-b']);
    assert.deepEqual([source.get('default', 'b')?.metadata.uid, source.get('default', 'a')], ['uid-b', undefined]);
    await source.stop();
    assert.deepEqual(api.openWatches, []);
  });

  it('sends no request before the node is known, and can be stopped all the same', async () => {
    let known: (() => void) | undefined;
    const waiting = setUp([], new Promise((resolve) => (known = resolve)));
    waiting.source.start();
    await waiting.clock.advance(60_000);
    assert.deepEqual(waiting.api.calls, []);
    known?.();
    await waiting.clock.settle();
    assert.deepEqual(waiting.delivered, ['']);
    await waiting.source.stop();
    const never = setUp([], new Promise(() => undefined));
    never.source.start();
    await never.source.stop();
  });

  it('treats a pod with another uid as another pod, even with the same name', async () => {
    const { clock, api, delivered, source } = setUp();
    api.seed(podType, build('a'));
    source.start();
    await clock.settle();
    api.endWatches(new ApiStatusError('Expired', 'too old'));
    api.remove(podType, keyOf('a'));
    api.seed(podType, build('a', { 'metadata.uid': 'uid-again' }));
    api.compact();
    await clock.advance(10_000);
    assert.deepEqual(delivered, ['uid-a', 'uid-again']);
    await source.stop();
  });

  it('reports nothing while the API server is unavailable, and resumes afterwards', async () => {
    const { clock, api, delivered, source } = setUp();
    api.seed(podType, build('a'));
    source.start();
    await clock.settle();
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    api.endWatches();
    api.seed(podType, build('b'));
    await clock.advance(3_600_000);
    assert.deepEqual(delivered, ['uid-a']);
    end();
    await clock.advance(60_000);
    assert.deepEqual(delivered, ['uid-a', 'uid-a uid-b']);
    await source.stop();
  });

  it('reports the last known pods as incomplete when the API server is unavailable at the start', async () => {
    const before = setUp();
    before.api.seed(podType, build('a', { 'status.phase': 'Running', 'metadata.managedFields': [{ manager: 'm' }] }));
    before.api.seed(podType, build('b'));
    before.api.seed(podType, build('mirror', { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'h' } }));
    before.source.start();
    await before.clock.settle();
    before.api.remove(podType, keyOf('b'));
    await before.clock.settle();
    await before.source.stop();

    const { clock, api, delivered, source } = setUp(JSON.parse(JSON.stringify(before.lines)) as unknown[]);
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    source.start();
    await clock.advance(2900);
    assert.deepEqual(delivered, []);
    await clock.advance(200);
    assert.deepEqual([delivered, source.get('default', 'a')?.status?.phase], [['uid-a so far'], 'Running']);
    api.seed(podType, build('c'));
    end();
    await clock.advance(60_000);
    assert.deepEqual(delivered, ['uid-a so far', 'uid-c']);
    await source.stop();
  });

  it('keeps the container statuses of a finished pod', async () => {
    const before = setUp();
    const containerStatuses = [
      {
        name: 'main',
        image: 'i',
        imageID: '',
        ready: false,
        restartCount: 0,
        state: { terminated: { exitCode: 0, reason: 'Completed' } },
      },
    ];
    before.api.seed(
      podType,
      build('a', { 'status.phase': 'Succeeded', 'status.containerStatuses': containerStatuses }),
    );
    before.api.seed(podType, build('b', { 'status.phase': 'Running', 'status.containerStatuses': containerStatuses }));
    before.source.start();
    await before.clock.settle();
    await before.source.stop();

    const { clock, api, source } = setUp(JSON.parse(JSON.stringify(before.lines)) as unknown[]);
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    source.start();
    await clock.advance(4000);
    const ended = ['a', 'b'].map(
      (name) => source.get('default', name)?.status?.containerStatuses?.[0]?.state?.terminated?.exitCode,
    );
    assert.deepEqual(ended, [0, undefined]);
    end();
    await source.stop();
  });

  it('does not restore the last known pods after the API server sent its list', async () => {
    const { clock, delivered, source } = setUp([
      { pod: build('old') },
      { gone: 'x' },
      'rubbish',
      { pod: { metadata: {} } },
    ]);
    source.start();
    await clock.advance(10_000);
    assert.deepEqual(delivered, ['']);
    await source.stop();
  });

  it('records a pod again only when a recorded part of it changed', async () => {
    const { clock, api, lines, source } = setUp();
    api.seed(podType, build('a'));
    source.start();
    await clock.settle();
    api.change(podType, keyOf('a'), (pod) => ({ ...pod, status: { ...pod.status, podIP: '10.0.0.1' } }));
    await clock.settle();
    assert.equal(lines.length, 1);
    api.change(
      podType,
      keyOf('a'),
      (pod): Pod => ({ ...pod, status: { ...pod.status, conditions: [{ type: 'gate', status: 'True' }] } }),
    );
    await clock.settle();
    assert.equal(lines.length, 2);
    await source.stop();
  });

  it('keeps the last version of a pod that can no longer be decoded, and logs it', async () => {
    const { clock, api, delivered, invalid, source } = setUp();
    api.seed(podType, build('a'));
    source.start();
    await clock.settle();
    api.change(podType, keyOf('a'), (pod) => ({ ...pod, spec: { ...pod.spec, containers: 'none' as never } }));
    api.seed(podType, { ...build('b'), spec: 3 } as never);
    api.seed(podType, build('c'));
    await clock.settle();
    assert.deepEqual(delivered.at(-1), 'uid-a uid-c');
    assert.deepEqual(
      invalid.map((each) => each.slice(0, 2)),
      ['a:'],
    );
    await source.stop();
  });

  it('uses the response to a write before the watch event, and no older version after it', async () => {
    const { clock, api, source } = setUp();
    const seeded = api.seed(podType, build('a'));
    source.start();
    await clock.settle();
    const written = {
      ...seeded,
      metadata: { ...seeded.metadata, resourceVersion: '1000' },
      status: { phase: 'Running' as const },
    };
    source.noteWritten(written);
    assert.equal(source.get('default', 'a')?.status?.phase, 'Running');
    api.change(podType, keyOf('a'), (pod): Pod => ({ ...pod, status: { phase: 'Pending' } }));
    await clock.settle();
    assert.equal(source.get('default', 'a')?.status?.phase, 'Running');
    source.noteWritten({ ...written, metadata: { ...written.metadata, uid: 'other' } });
    assert.equal(source.get('default', 'a')?.metadata.uid, 'uid-a');
    await source.stop();
  });
});
