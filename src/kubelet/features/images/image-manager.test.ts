import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Secret } from '../../../api/core/secret.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import { isKind } from '../../../base/errors.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { RegistryAuth } from '../../ports/images.ts';
import { FakeHostFiles } from '../../ports/testing/fake-host-files.ts';
import { FakeProcesses } from '../../ports/testing/fake-processes.ts';
import { FakeRuntime } from '../../ports/testing/fake-runtime.ts';
import type { ImageSettings } from './create-images.ts';
import { createImages } from './create-images.ts';
import type { EnsureSeen } from './image-manager.ts';
import type { ImageOutcome } from './interfaces.ts';

const settings: ImageSettings = {
  pullQps: 5,
  pullBurst: 10,
  serialPulls: false,
  maxParallelPulls: undefined,
  verificationPolicy: 'NeverVerifyPreloadedImages',
  preloadedAllowlist: [],
};
const CANARY = 'canary-9f3c-password';

function world(
  options: {
    images?: readonly string[];
    settings?: Partial<ImageSettings>;
    secrets?: Readonly<Record<string, Secret>>;
    refuse?: (image: string, auth: RegistryAuth | undefined) => string | undefined;
  } = {},
) {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock, images: options.images ?? [], latencies: { pullImage: 500 } });
  const files = new FakeHostFiles(clock);
  const processes = new FakeProcesses();
  const log = recordingLog();
  const events: string[] = [];
  const containers = new Set<string | undefined>();
  const seen: EnsureSeen[] = [];
  const doing: string[] = [];
  const auths: (string | undefined)[] = [];
  const pull = runtime.pullImage.bind(runtime);
  runtime.pullImage = async (image, how, call) => {
    auths.push(how.auth?.username);
    const refusal = options.refuse?.(image, how.auth);
    if (refusal !== undefined) throw new Error(refusal);
    return pull(image, how, call);
  };
  const { manager, leases, access } = createImages({
    ...{
      settings: { ...settings, ...options.settings },
      places: { rootDir: '/var/lib/kubelet', workingDir: '/work', homeDir: '/root' },
      providers: [],
      providerBinDir: '/bin',
      images: runtime,
      files,
      processes,
      clock,
      log,
    },
    secrets: { secret: (namespace, name) => options.secrets?.[`${namespace}/${name}`] },
    accounts: {
      tokens: { get: () => Promise.reject(new Error('no plugin asks for a token')) },
      account: () => Promise.reject(new Error('no plugin asks for an account')),
    },
    events: {
      event: (_pod, type, reason, message, container) => {
        events.push(`${type} ${reason} ${message}`);
        containers.add(container);
      },
    },
    onEnsured: (each) => void seen.push(each),
    activity: {
      begin: (_uid, step, cause) => {
        doing.push(`${step}: ${cause}`);
        return () => void doing.splice(doing.indexOf(`${step}: ${cause}`), 1);
      },
    },
  });
  const ensure = (pod: Pod, signal = new AbortController().signal): Promise<ImageOutcome> =>
    manager.ensure({ pod, container: mainOf(pod), runtimeHandler: '', signal });
  const run = async (pod: Pod): Promise<ImageOutcome> => {
    const ensuring = ensure(pod);
    await clock.advance(10_000);
    return ensuring;
  };
  return { clock, runtime, files, log, events, containers, seen, doing, auths, manager, leases, access, ensure, run };
}

const mainOf = (pod: Pod): AnyContainer => pod.spec.containers[0] as AnyContainer;
const podOf = (image: string, changes: Changes = {}): Pod =>
  buildPod({ 'spec.containers[0].image': image, ...changes });
const pullSecret = (username: string, password = CANARY, uid = `uid-${username}`): Secret => ({
  metadata: { name: username, namespace: 'default', uid },
  type: 'kubernetes.io/dockerconfigjson',
  data: {
    '.dockerconfigjson': Buffer.from(
      JSON.stringify({
        auths: { 'https://registry.local/v2/': { auth: Buffer.from(`${username}:${password}`).toString('base64') } },
      }),
    ).toString('base64'),
  },
});
const withSecret = (image: string, name: string, uid = 'uid-1'): Pod =>
  podOf(image, { 'spec.imagePullSecrets': [{ name }], 'metadata.uid': uid });

describe('image manager', () => {
  it('uses a present image with one call to the runtime, whatever else is being pulled', async () => {
    const { run, events, runtime, files } = world({ images: ['busybox:1.36'], settings: { serialPulls: true } });
    runtime.hang('pullImage');
    const outcome = await run(podOf('busybox:1.36'));
    assert.deepEqual(
      [
        outcome.kind,
        events,
        runtime.journal.callCounts.get('imageStatus'),
        runtime.journal.callCounts.get('pullImage') ?? 0,
      ],
      [
        'present',
        ['Normal Pulled Container image "busybox:1.36" already present on machine and can be accessed by the pod'],
        1,
        0,
      ],
    );
    assert.equal(files.calls.filter((call) => call.startsWith('read') || call.startsWith('write')).length, 0);
  });

  it('pulls a missing image and reports duration and size', async () => {
    const { run, events, doing } = world();
    const outcome = await run(podOf('busybox:1.36'));
    assert.equal(outcome.kind, 'present');
    assert.deepEqual(events, [
      'Normal Pulling Pulling image "busybox:1.36"',
      'Normal Pulled Successfully pulled image "busybox:1.36" in 500ms (500ms including waiting). Image size: 1000000 bytes.',
    ]);
    assert.deepEqual(doing, []);
  });

  it("pulls the image of a volume by the volume's own policy and the pod's secrets, in events of the pod", async () => {
    const { manager, clock, events, auths, leases } = world({
      images: ['local/files:1'],
      secrets: { 'default/one': pullSecret('one') },
    });
    const pod = withSecret('busybox:1.36', 'one');
    const volume = (reference: string, pullPolicy: string): Promise<ImageOutcome> =>
      manager.ensureVolume({
        pod,
        volume: reference.replace(/\W/g, '-'),
        reference,
        pullPolicy,
        runtimeHandler: '',
        signal: new AbortController().signal,
      });
    const outcomes = Promise.all([volume('registry.local/files:1', 'IfNotPresent'), volume('local/none:1', 'Never')]);
    await clock.advance(10_000);
    assert.deepEqual(
      (await outcomes).map((outcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.kind)),
      ['present', 'ErrImageNeverPull'],
    );
    assert.deepEqual([auths, leases.leased().has('registry.local/files:1')], [['one'], true]);
    assert.ok(
      events.includes(
        'Warning ErrImageNeverPull Container image "local/none:1" is not present with pull policy of Never',
      ),
    );
  });

  it('shows its activity while a pull takes its time', async () => {
    const { ensure, clock, doing } = world({ settings: { serialPulls: true } });
    void ensure(podOf('registry.local/a:1'));
    void ensure(podOf('registry.local/b:1', { 'metadata.uid': 'uid-2' }));
    await clock.advance(100);
    assert.deepEqual([...doing].sort(), [
      'pull image registry.local/a:1: the runtime is fetching it from registry.local',
      'pull image registry.local/b:1: waiting for its turn: other images are being pulled',
    ]);
  });

  it('pulls once for many pods that need the same image at the same time, with events for each', async () => {
    const { ensure, clock, runtime, events } = world();
    const all = Promise.all(['1', '2', '3'].map((uid) => ensure(podOf('busybox:1.36', { 'metadata.uid': uid }))));
    await clock.advance(1000);
    assert.deepEqual(
      (await all).map(({ kind }) => kind),
      ['present', 'present', 'present'],
    );
    assert.deepEqual(
      [runtime.journal.callCounts.get('pullImage'), events.filter((event) => event.includes('Successfully')).length],
      [1, 3],
    );
  });

  it('continues a shared pull when one of those who wait gives up, and stops it when all have', async () => {
    const { ensure, clock, runtime } = world();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = ensure(podOf('busybox:1.36'), first.signal);
    const two = ensure(podOf('busybox:1.36', { 'metadata.uid': 'uid-2' }), second.signal);
    await clock.advance(100);
    first.abort();
    await assert.rejects(one, (error) => isKind(error, 'Aborted'));
    await clock.advance(1000);
    assert.equal((await two).kind, 'present');
    runtime.hang('pullImage');
    const third = new AbortController();
    const alone = ensure(podOf('other:1'), third.signal);
    await clock.advance(100);
    third.abort();
    await assert.rejects(alone, (error) => isKind(error, 'Aborted'));
  });

  it('backs off per pod and image from 10 s on, keeping the last error in sight', async () => {
    const { run, clock, events } = world({ refuse: () => 'no such tag' });
    const pod = podOf('busybox:1.36');
    const startMs = clock.nowMs();
    assert.deepEqual(await run(pod), {
      kind: 'failed',
      reason: 'ErrImagePull',
      message: 'no such tag',
      retryAtMs: startMs + 10_000,
    });
    const waits: number[] = [];
    for (let round = 0; round < 6; round++) {
      const outcome = await run(pod);
      if (outcome.kind === 'failed' && outcome.reason === 'ErrImagePull')
        waits.push((outcome.retryAtMs ?? 0) - (clock.nowMs() - 10_000));
      await clock.advance(320_000);
    }
    assert.deepEqual(waits, [20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
    assert.equal(events.filter((event) => event.startsWith('Normal BackOff')).length, 0);
  });

  it('reports Back-off with the error of the previous pull while it waits', async () => {
    const { run, ensure, clock, events } = world({ refuse: () => 'no such tag' });
    await run(podOf('busybox:1.36'));
    const failed = ensure(podOf('busybox:1.36', { 'metadata.uid': 'uid-2' }));
    await clock.advance(1);
    await failed;
    const outcome = await ensure(podOf('busybox:1.36', { 'metadata.uid': 'uid-2' }));
    assert.deepEqual(outcome, {
      kind: 'failed',
      reason: 'ImagePullBackOff',
      message: 'Back-off pulling image "busybox:1.36": ErrImagePull: no such tag',
      retryAtMs: clock.nowMs() + 10_000 - 1,
    });
    assert.equal(events.at(-1), 'Normal BackOff Back-off pulling image "busybox:1.36"');
  });

  it('never pulls with Never, names an invalid name, and reports a failed query of the runtime', async () => {
    const { run, events, runtime } = world();
    const outcomes = [
      await run(podOf('busybox:1.36', { 'spec.containers[0].imagePullPolicy': 'Never' })),
      await run(podOf('No Image')),
    ];
    runtime.fail('imageStatus', { kind: 'Unavailable', message: 'connection refused' });
    outcomes.push(await run(podOf('busybox:1.36')));
    assert.deepEqual(
      outcomes.map((outcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.kind)),
      ['ErrImageNeverPull', 'InvalidImageName', 'ImageInspectError'],
    );
    assert.deepEqual(events, [
      'Warning ErrImageNeverPull Container image "busybox:1.36" is not present with pull policy of Never',
      `Warning InspectFailed Failed to apply default image tag "No Image": couldn't parse image name "No Image": invalid reference format`,
      'Warning InspectFailed Failed to inspect image "busybox:1.36": connection refused',
    ]);
    assert.equal(runtime.journal.callCounts.get('pullImage') ?? 0, 0);
  });

  it('prefetches all at once, and the following start uses it without another query', async () => {
    const { manager, ensure, clock, runtime } = world();
    const pod = podOf('a:1', { 'spec.containers[1]': { name: 'side', image: 'b:1' } });
    manager.prefetch(pod, pod.spec.containers, new AbortController().signal);
    await clock.advance(500);
    assert.equal(runtime.journal.callCounts.get('pullImage'), 2);
    assert.equal((await ensure(pod)).kind, 'present');
    assert.equal(runtime.journal.callCounts.get('imageStatus'), 4);
  });

  it('checks again when a prefetched image is old, and pulls itself when the prefetch was aborted', async () => {
    const { manager, ensure, clock, runtime } = world();
    const pod = podOf('a:1');
    manager.prefetch(pod, pod.spec.containers, new AbortController().signal);
    await clock.advance(60_000);
    assert.equal((await ensure(pod)).kind, 'present');
    assert.equal(runtime.journal.callCounts.get('pullImage'), 1);
    const gaveUp = new AbortController();
    const other = podOf('c:1', { 'metadata.uid': 'uid-9' });
    manager.prefetch(other, other.spec.containers, gaveUp.signal);
    const ensuring = ensure(other);
    gaveUp.abort();
    await clock.advance(1000);
    assert.equal((await ensuring).kind, 'present');
  });

  it('tries credentials in order until one works, and keeps them out of events, logs and errors', async () => {
    const secrets = { 'default/bad': pullSecret('bad'), 'default/good': pullSecret('good') };
    const { run, auths, events, log } = world({
      secrets,
      refuse: (_image, auth) =>
        auth?.username === 'good' ? undefined : `denied for ${auth?.username}:${auth?.password}`,
    });
    const pod = podOf('registry.local/app:1', { 'spec.imagePullSecrets': [{ name: 'bad' }, { name: 'good' }] });
    assert.equal((await run(pod)).kind, 'present');
    assert.deepEqual(auths, ['bad', 'good']);
    const failing = world({
      secrets,
      refuse: (_image, auth) => `denied for ${auth?.password} and ${Buffer.from(`bad:${CANARY}`).toString('base64')}`,
    });
    const outcome = await failing.run(pod);
    assert.equal(outcome.kind, 'failed');
    assert.doesNotMatch(
      JSON.stringify([events, log.lines, outcome, failing.events, failing.log.lines]),
      new RegExp(`canary|${Buffer.from(`bad:${CANARY}`).toString('base64')}`),
    );
  });

  it('warns once of missing pull secrets, also when the image is present', async () => {
    const { run, events } = world({ images: ['registry.local/app:1'] });
    await run(withSecret('registry.local/app:1', 'nope'));
    await run(withSecret('registry.local/app:1', 'nope'));
    assert.deepEqual(
      events.filter((event) => event.startsWith('Warning')),
      [
        'Warning FailedToRetrieveImagePullSecret Unable to retrieve some image pull secrets (nope); attempting to pull the image may not succeed.',
      ],
    );
  });

  it('gives an image pulled with a secret only to pods that have the secret', async () => {
    const secrets = { 'default/good': pullSecret('good') };
    const { run, runtime, auths } = world({
      secrets,
      refuse: (_image, auth) => (auth?.username === 'good' ? undefined : 'unauthorized'),
    });
    await run(withSecret('registry.local/app:1', 'good'));
    assert.equal((await run(withSecret('registry.local/app:1', 'good', 'uid-2'))).kind, 'present');
    assert.equal(runtime.journal.callCounts.get('pullImage'), 1, 'the second pod proves its right without pulling');
    const stranger = await run(podOf('registry.local/app:1', { 'metadata.uid': 'uid-3' }));
    const never = await run(
      podOf('registry.local/app:1', { 'metadata.uid': 'uid-4', 'spec.containers[0].imagePullPolicy': 'Never' }),
    );
    assert.deepEqual(
      [stranger, never].map((outcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.kind)),
      ['ErrImagePull', 'ErrImageNeverPull'],
    );
    assert.deepEqual(auths, ['good', undefined]);
  });

  it('leases an image from the first request until its container can exist', async () => {
    const { ensure, clock, leases, manager } = world();
    const pod = podOf('a:1');
    const ensuring = ensure(pod);
    assert.deepEqual([...leases.leased()], ['a:1']);
    await clock.advance(1000);
    const outcome = await ensuring;
    assert.ok(outcome.kind === 'present' && leases.leased().has(outcome.imageRef));
    manager.forgetPod('uid-1');
    assert.equal(leases.leased().size, 0);
  });
});

describe('a prefetched image', () => {
  const prefetched = async (afterMs: number, image = 'a:1'): Promise<number> => {
    const { manager, ensure, clock, runtime } = world({ images: ['a:1', 'b:1'] });
    const pod = podOf('a:1');
    manager.prefetch(pod, pod.spec.containers, new AbortController().signal);
    await clock.advance(afterMs);
    const before = runtime.journal.callCounts.get('imageStatus') ?? 0;
    assert.equal((await ensure(podOf(image))).kind, 'present');
    return (runtime.journal.callCounts.get('imageStatus') ?? 0) - before;
  };

  it('is used for ten seconds after it is there, and only for the image that it is', async () => {
    assert.deepEqual([await prefetched(9_000), await prefetched(10_000), await prefetched(11_000)], [0, 0, 1]);
    assert.equal(await prefetched(1_000, 'b:1'), 1);
  });

  it('is used once, and forgotten with its pod', async () => {
    const { manager, ensure, clock, runtime } = world({ images: ['a:1'] });
    const pod = podOf('a:1', { 'spec.containers[1]': { name: 'side', image: 'a:1' } });
    const queries = (): number => runtime.journal.callCounts.get('imageStatus') ?? 0;
    manager.prefetch(pod, pod.spec.containers, new AbortController().signal);
    await clock.advance(10);
    const prefetchedOnce = queries();
    const signal = new AbortController().signal;
    await ensure(pod);
    await manager.ensure({ pod, container: pod.spec.containers[1] as AnyContainer, runtimeHandler: '', signal });
    assert.equal(queries(), prefetchedOnce);
    await ensure(pod);
    assert.equal(queries(), prefetchedOnce + 1);
    manager.prefetch(pod, pod.spec.containers, signal);
    await clock.advance(10);
    manager.forgetPod(pod.metadata.uid);
    const before = queries();
    await ensure(pod);
    assert.equal(queries(), before + 1);
  });

  it('is not fetched twice while it is under way or fresh, nor while a pull waits for its next try', async () => {
    const { manager, clock, runtime, ensure, events } = world({
      refuse: (image) => (image === 'bad:1' ? 'no such host' : undefined),
    });
    const pod = podOf('a:1');
    const pulls = (): number => runtime.journal.callCounts.get('pullImage') ?? 0;
    const prefetch = (of: Pod): void => manager.prefetch(of, of.spec.containers, new AbortController().signal);
    const queries = (): number => runtime.journal.callCounts.get('imageStatus') ?? 0;
    prefetch(pod);
    prefetch(pod);
    await clock.advance(1_000);
    const once = queries();
    prefetch(pod);
    await clock.advance(1_000);
    assert.deepEqual([pulls(), queries()], [1, once]);
    prefetch(podOf('b:1'));
    await clock.advance(11_000);
    assert.equal(pulls(), 2);
    prefetch(podOf('b:1'));
    await clock.advance(1_000);
    assert.ok(queries() > once + 1);
    const waiting = podOf('bad:1', { 'metadata.uid': 'uid-7' });
    const failing = ensure(waiting);
    await clock.advance(100);
    assert.equal((await failing).kind, 'failed');
    const before = events.length;
    manager.prefetch(waiting, waiting.spec.containers, new AbortController().signal);
    await clock.advance(100);
    assert.equal(events.length, before);
  });
});

describe('the metrics of an image request', () => {
  const seenOf = async (
    image: string,
    imagePullPolicy: string | undefined,
    images: readonly string[] = [],
  ): Promise<string> => {
    const { run, seen } = world({ images });
    await run(podOf(image, { 'spec.containers[0].imagePullPolicy': imagePullPolicy }));
    return seen.map((each) => `${each.policy} ${each.wasPresent} ${each.pullWasNeeded}`).join();
  };

  it('is its policy, whether the image was there, and whether it had to be pulled', async () => {
    assert.equal(await seenOf('a:1', 'IfNotPresent', ['a:1']), 'IfNotPresent true false');
    assert.equal(await seenOf('a:1', 'IfNotPresent'), 'IfNotPresent false true');
    assert.equal(await seenOf('a:1', 'Never', ['a:1']), 'Never true false');
    assert.equal(await seenOf('a:1', 'Never'), 'Never false undefined');
    assert.equal(await seenOf('a:1', 'Always', ['a:1']), 'Always undefined true');
    assert.equal(await seenOf('No Image', 'Never'), 'Never undefined undefined');
  });
});

describe('the image of a volume', () => {
  it('has its events at the pod, and that of a container at the container', async () => {
    const { manager, run, containers, clock, events } = world();
    await run(podOf('a:1'));
    assert.deepEqual([...containers], ['main']);
    containers.clear();
    const volume = { pod: podOf('a:1'), volume: 'model', reference: 'model:1', pullPolicy: 'IfNotPresent' };
    const ensuring = manager.ensureVolume({ ...volume, runtimeHandler: '', signal: new AbortController().signal });
    await clock.advance(1_000);
    assert.equal((await ensuring).kind, 'present');
    assert.deepEqual([...containers], [undefined]);
    assert.ok(events.includes('Normal Pulling Pulling image "model:1"'));
  });
});
