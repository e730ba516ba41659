import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { annotations } from '../../api/annotations.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { pods as podType } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Node } from '../../api/core/node.ts';
import type { Pod } from '../../api/core/pod.ts';
import { podFullName } from '../../api/pod.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { createAgentMetrics } from '../features/metrics/agent-metrics.ts';
import { StatusTimes } from '../features/metrics/status-times.ts';
import { RememberedPods } from '../features/pod-config/remembered-pods.ts';
import { PodStore } from '../features/pod-store/pod-store.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { WorkerStates } from '../features/pod-workers/worker-states.ts';
import { StatusManager } from '../features/status/status-manager.ts';
import { podUid } from '../model/ids.ts';
import { createClusterPods } from './cluster-pods.ts';

const key = { namespace: 'default', name: 'web' };
const onNode = (changes: Changes = {}): Pod => buildPod({ 'spec.nodeName': 'n1', ...changes });
const staticPod = onNode({
  'metadata.uid': 'static-1',
  'metadata.annotations': { [annotations.configSource]: 'file', 'kubernetes.io/config.hash': 'static-1' },
});
const uidOf = (pod: Pod) => podUid(pod.metadata.uid);

function fixture({ watchLagMs = 0 } = {}) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock, watchLagMs: () => watchLagMs });
  const store = new PodStore();
  const states = new WorkerStates();
  const statuses = new StatusManager(clock);
  const metrics = createAgentMetrics();
  const world = {
    node: { metadata: { name: 'n1', namespace: '', uid: 'node-uid' } } as Node | undefined,
    sourcesReady: true,
    ending: new Set<string>(),
  };
  const done: string[] = [];
  const notify = { node: () => {}, sources: () => {}, apiReturned: (_why: 'answers' | 'admitted') => {} };
  const status: Pick<ApiClient, 'patch' | 'delete' | 'onReturn'> = {
    patch: (...given) => api.patch(...given),
    delete: (...given) => api.delete(...given),
    onReturn: (listener) => {
      notify.apiReturned = listener;
      return () => void done.push('unfollow');
    },
  };
  const clusterPods = createClusterPods({
    cluster: { objects: api, status: status as ApiClient },
    nodeName: 'n1',
    nodeWatch: {
      whenSynced: () => Promise.resolve(),
      current: () => world.node,
      onChange: (listener) => {
        notify.node = () => listener(world.node);
        return () => undefined;
      },
    },
    store,
    directory: { byUid: (uid) => store.byUid(uid), isStaticEnding: (fullName) => world.ending.has(fullName) },
    states,
    statuses,
    statusTimes: new StatusTimes(metrics, () => clock.monotonicMs()),
    remembered: new RememberedPods([], () => undefined),
    podConfig: {
      setSource: (source, found) =>
        void done.push(`${source}: ${found.map(({ metadata }) => metadata.name).join(' ')}`),
      onSourcesReady: (listener) => {
        notify.sources = listener;
      },
    },
    sourcesReady: () => world.sourcesReady,
    failedPods: () => [podUid('failed')],
    eventUploader: { retryNow: () => void done.push('retry events') },
    recorder: { event: (_pod, type, reason, message) => void done.push(`${type} ${reason} ${message}`) },
    queue: { post: (input) => void done.push(input.kind === 'sync' ? `sync ${input.uids.join(' ')}` : input.kind) },
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const start = async (): Promise<void> => {
    clusterPods.source.start();
    await clock.settle();
  };
  const stop = async (): Promise<void> => {
    clusterPods.stop();
    await clusterPods.source.stop();
  };
  const inApi = (): Pod | undefined => api.peek(podType, key);
  return { clock, api, store, states, statuses, metrics, world, done, notify, clusterPods, start, stop, inApi };
}

describe('the pods of the API server', () => {
  it('pods of the API server are passed to the sync loop', async () => {
    const { api, done, start, stop } = fixture();
    api.seed(podType, onNode());
    await start();
    assert.deepEqual(done, ['api: web']);
    await stop();
  });

  it('an invalid pod of the API server is rejected with an event', async () => {
    const { api, done, start, stop } = fixture();
    const pod = onNode();
    api.seed(podType, { ...pod, spec: { ...pod.spec, containers: 'none' as never } });
    await start();
    assert.match(
      done[0] ?? '',
      /^Warning FailedValidation Error validating pod web_default\(uid-1\) from api, ignoring: /,
    );
    await stop();
  });

  it('the status of an API pod is uploaded, and the upload is measured', async () => {
    const { clock, api, store, statuses, metrics, start, stop, inApi } = fixture();
    const pod = api.seed(podType, onNode());
    store.set(pod);
    await start();
    statuses.set(pod, { phase: 'Running' });
    await clock.settle();
    assert.equal(inApi()?.status?.phase, 'Running');
    assert.match(await metrics.main.text(), /^kubelet_pod_status_sync_duration_seconds_count 1$/m);
    await stop();
  });

  it('the response to a write updates the pod before the watch event arrives', async () => {
    const { clock, api, store, statuses, clusterPods, start, stop } = fixture({ watchLagMs: 60_000 });
    const pod = api.seed(podType, onNode());
    store.set(pod);
    await start();
    await clock.advance(120_000);
    statuses.set(pod, { phase: 'Running' });
    await clock.settle();
    assert.equal(clusterPods.source.get(key.namespace, key.name)?.status?.phase, 'Running');
    await stop();
  });

  it('an API pod is deleted in the API only when all its resources are released', async () => {
    const { clock, api, store, statuses, clusterPods, start, stop, inApi } = fixture();
    const pod = api.seed(podType, onNode());
    store.set(pod);
    await start();
    clusterPods.released(uidOf(pod), true);
    clusterPods.released(uidOf(pod), false);
    await api.delete(podType, key, { gracePeriodSeconds: 30 });
    statuses.set(pod, { phase: 'Succeeded' });
    await clock.settle();
    assert.equal(inApi()?.status?.phase, 'Succeeded');
    clusterPods.released(uidOf(pod), true);
    await clock.settle();
    assert.equal(inApi(), undefined);
    await stop();
  });

  it('a pod that was dropped before its resources were released starts again', async () => {
    const { clock, api, store, statuses, clusterPods, start, stop, inApi } = fixture();
    const pod = api.seed(podType, onNode());
    store.set(pod);
    await start();
    clusterPods.released(uidOf(pod), true);
    clusterPods.forget(uidOf(pod));
    await api.delete(podType, key, { gracePeriodSeconds: 30 });
    statuses.set(pod, { phase: 'Succeeded' });
    await clock.settle();
    assert.notEqual(inApi(), undefined);
    await stop();
  });
});

describe('static pods', () => {
  it('have a mirror pod in the API, which shows their status', async () => {
    const { clock, store, statuses, clusterPods, start, stop, inApi } = fixture();
    await start();
    store.set(staticPod);
    clusterPods.podChanged(staticPod);
    await clock.settle();
    assert.equal(inApi()?.metadata.annotations?.[annotations.configMirror], 'static-1');
    statuses.set(staticPod, { phase: 'Running' });
    await clock.settle();
    assert.equal(inApi()?.status?.phase, 'Running');
    await stop();
  });

  it('get no further mirror pods after the agent stops', async () => {
    const { clock, store, notify, clusterPods, start, stop, inApi } = fixture();
    await start();
    await stop();
    store.set(staticPod);
    clusterPods.podChanged(staticPod);
    notify.sources();
    await clock.settle();
    assert.equal(inApi(), undefined);
  });

  it('are mirrored once the API server has listed its pods', async () => {
    const { clock, store, clusterPods, start, stop, inApi } = fixture();
    store.set(staticPod);
    clusterPods.podChanged(staticPod);
    await clock.settle();
    assert.equal(inApi(), undefined, 'it may have one already');
    await start();
    assert.notEqual(inApi(), undefined);
    await stop();
  });

  it('are mirrored as soon as the node is registered', async () => {
    const { clock, store, world, notify, start, stop, inApi } = fixture();
    const registered = world.node;
    world.node = undefined;
    store.set(staticPod);
    await start();
    assert.equal(inApi(), undefined);
    world.node = registered;
    notify.node();
    await clock.settle();
    assert.notEqual(inApi(), undefined);
    await stop();
  });

  const mirror = onNode({ 'metadata.annotations': { [annotations.configMirror]: 'old' } });

  it('lose their mirror pod when they are removed and all sources have reported', async () => {
    const { clock, api, store, world, notify, start, stop, inApi } = fixture();
    world.sourcesReady = false;
    store.set(api.seed(podType, mirror));
    await start();
    assert.notEqual(inApi(), undefined);
    world.sourcesReady = true;
    notify.sources();
    await clock.settle();
    assert.equal(inApi(), undefined);
    await stop();
  });

  it('lose their mirror pod when all their resources are released', async () => {
    const { clock, api, store, world, clusterPods, start, stop, inApi } = fixture();
    world.ending.add(podFullName(mirror));
    store.set(api.seed(podType, mirror));
    await start();
    assert.notEqual(inApi(), undefined);
    world.ending.clear();
    clusterPods.released(podUid('static-0'), true);
    await clock.settle();
    assert.equal(inApi(), undefined);
    await stop();
  });
});

describe('an API server that is reachable again', () => {
  it('receives statuses and events immediately, and failed syncs are repeated', async () => {
    const { clock, api, store, states, statuses, done, notify, start, stop, inApi } = fixture();
    const pod = api.seed(podType, onNode());
    store.set(pod);
    states.set(uidOf(pod), { phase: 'syncing', pod } as WorkerState);
    await start();
    const end = api.script(({ verb }) => (verb === 'patch' ? new Error('connection refused') : undefined));
    statuses.set(pod, { phase: 'Running' });
    await clock.settle();
    end();
    assert.equal(inApi()?.status?.phase, undefined);
    notify.apiReturned('answers');
    await clock.settle();
    assert.equal(inApi()?.status?.phase, 'Running');
    assert.deepEqual(
      done.filter((line) => !line.startsWith('api: ')),
      ['retry events', 'sync failed'],
    );
    await stop();
    assert.equal(done.at(-1), 'unfollow');
  });
});
