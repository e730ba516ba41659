import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind, KubeletError } from '../../base/errors.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { silentLogger } from '../../base/log.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodPhase } from '../../api/core/pod-status.ts';
import type { AdmissionState } from '../features/admission/admission-state.ts';
import type { Failure } from '../features/explain/compute-blockers.ts';
import type { KillFailure } from '../features/pod-runtime/execute/kill-pod.ts';
import type { SyncOutcome } from '../features/pod-runtime/sync-run.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { KubeletPodSyncer } from './pod-syncer.ts';

const uid = podUid('uid-1');
const identity = { uid, name: 'web', namespace: 'default' };
const running = (name: string): PodRuntimeStatus => ({
  ...emptyPodRuntimeStatus(identity, 0),
  containers: [{ name, state: 'running' }] as unknown as PodRuntimeStatus['containers'],
});
const { signal } = new AbortController();

function harness() {
  const clock = new FakeClock();
  const calls: string[] = [];
  /** The texts of the recorded events. */
  const said: string[] = [];
  const world = {
    phases: ['Pending', 'Running'] as PodPhase[],
    reason: undefined as string | undefined,
    isRead: true,
    isSure: true,
    read: async (): Promise<PodRuntimeStatus | undefined> => undefined,
    networkError: undefined as string | undefined,
    outcome: { failures: [], waits: [], steps: [], changed: false, aborted: false } as Partial<SyncOutcome>,
    kill: { failures: [] as KillFailure[], aborted: false },
    left: undefined as PodRuntimeStatus | undefined,
    deadlineInMs: undefined as number | undefined,
    failures: [] as readonly Failure[],
    existed: true,
    cgroupError: undefined as Error | undefined,
    folderError: undefined as Error | undefined,
    isResizing: false,
    isUnderWay: (_pod: Pod): boolean => false,
    onSync: (): void => undefined,
    allocated: undefined as Pod | undefined,
    resizes: [] as string[],
    objects: [] as string[],
    places: false,
    mounts: false,
    refreshedAfter: [] as (string | undefined)[],
    handlers: [] as string[],
    admissionState: { kind: 'admitted' } as AdmissionState,
    cached: emptyPodRuntimeStatus(identity, 0),
  };
  const syncer = new KubeletPodSyncer({
    runtime: {
      syncPod: async ({ placement, volumes }) => {
        if (world.mounts) await volumes();
        if (world.places || (world.cgroupError ?? world.folderError) !== undefined) await placement();
        calls.push('sync');
        world.onSync();
        return { status: world.cached, ...world.outcome } as SyncOutcome;
      },
      killPod: async ({ graceMs }) => (calls.push(`kill ${graceMs}`), { ...world.kill, status: world.cached }),
      isResizeUnderWay: (pod) => world.isResizing || world.isUnderWay(pod),
      runtimeHandlerOf: async () => (calls.push('ask for the handler'), 'kata'),
    },
    allocation: {
      apply: (pod) => world.allocated ?? pod,
      saved: () => undefined,
      noteProgress: (pod, isUnderWay) =>
        void world.resizes.push(`${pod.metadata.labels?.['size'] ?? 'asked'} ${isUnderWay ? 'under way' : 'done'}`),
      noteError: (_pod, message) => void world.resizes.push(message),
      podEnded: () => void world.resizes.push('ended'),
    },
    cache: { getOrEmpty: () => world.cached, isRead: () => world.isRead, isSure: () => world.isSure },
    pleg: { refresh: async () => (world.isSure ? world.left : world.read()) },
    objects: {
      registerPod: () => void world.objects.push('registered'),
      unregisterPod: () => void world.objects.push(`unregistered after ${calls.at(-1)}`),
    },
    volumes: {
      ensure: async () => (calls.push('ensure volumes'), new Map()),
      podEnds: () => undefined,
      tearDown: async () => void calls.push('tear down'),
    },
    userNamespaces: {
      ensure: async (_pod, handler) => (world.handlers.push(handler), { mode: 'node' }),
      release: async () => void calls.push('release ids'),
    },
    managers: { place: async () => ({}) },
    dra: { prepare: async () => undefined, unprepare: async () => undefined },
    cgroups: {
      ensurePodCgroup: async () =>
        world.cgroupError === undefined
          ? { cgroupParent: '', existed: world.existed }
          : Promise.reject(world.cgroupError),
      removePodCgroup: async () => void calls.push('remove cgroup'),
    },
    makePodFolder: async () => {
      if (world.folderError !== undefined) throw world.folderError;
    },
    probes: {
      stopLivenessAndStartup: () => void calls.push('stop liveness'),
      removePod: () => void calls.push('remove probes'),
    },
    status: {
      refresh: () => {
        world.refreshedAfter.push(calls.at(-1));
        const phase = (world.phases.length > 1 ? world.phases.shift() : world.phases[0]) as PodPhase;
        return { phase, reason: world.reason };
      },
      whileActing: (_uid, act) => act(),
      deadlineInMs: () => world.deadlineInMs,
    },
    explain: { setOutcome: (_uid, { failures }) => void (world.failures = failures) },
    admission: {
      admit: () => world.admissionState,
      mayBegin: () => true,
      withdraw: () => void calls.push('withdraw'),
      podStopped: () => void calls.push('stopped'),
    },
    monitor: { networkError: () => world.networkError },
    cleanup: {
      collect: async () => void calls.push('collect'),
      forget: (_uid, { revived }) => void calls.push(revived ? 'forget, comes again' : 'forget'),
    },
    clusterPods: { released: (_uid, isReleased) => void (isReleased && calls.push('released')) },
    recorder: {
      event: (pod, type, reason, message) =>
        void (calls.push(`${type} ${reason}`), said.push(`${pod.metadata.name} ${reason} ${message}`)),
    },
    clock,
    log: silentLogger,
  });
  const sync = (changes: Changes = {}) => syncer.syncPod({ pod: buildPod(changes), signal });
  const terminate = (subject: 'pod' | 'orphan' = 'pod', cause: 'removed' | 'completed' | 'orphaned' = 'removed') =>
    syncer.syncTerminatingPod({
      subject:
        subject === 'pod'
          ? { kind: 'pod', pod: buildPod() }
          : { kind: 'orphan', runtime: emptyPodRuntimeStatus(identity, 0) },
      termination: { cause, graceMs: 5000, gone: false },
      signal,
    });
  return { clock, calls, said, world, syncer, sync, terminate };
}

describe('a sync of a pod', () => {
  it('keeps the objects of the pod registered from before its creation until its volumes are gone', async () => {
    const { sync, syncer, world } = harness();
    world.onSync = () => void world.objects.push('made');
    await sync();
    await syncer.syncTerminatedPod({ pod: buildPod(), all: false, signal });
    assert.deepEqual(world.objects, ['registered', 'made', 'unregistered after tear down']);
  });

  it('waits until the runtime state of the pod is known rather than start a second instance', async () => {
    const { sync, calls, world } = harness();
    world.isRead = false;
    await assert.rejects(sync(), (error) => isKind(error, 'Unavailable'));
    assert.deepEqual(calls, []);
  });

  it("reports why the pod's cgroup, its folders or its runtime status failed", async () => {
    const { sync, said, world } = harness();
    world.cgroupError = new Error('mkdir /sys/fs/cgroup/kubepods: read-only file system');
    await assert.rejects(sync(), /read-only/);
    Object.assign(world, {
      cgroupError: undefined,
      folderError: new Error('mkdir /var/lib/kubelet/pods/uid-1: no space left on device'),
    });
    await assert.rejects(sync(), /no space/);
    Object.assign(world, {
      folderError: undefined,
      isSure: false,
      read: () => Promise.reject(new KubeletError('Timeout', 'context deadline exceeded')),
    });
    await assert.rejects(sync());
    assert.deepEqual(
      said.map((text) => text.slice(text.indexOf(' ') + 1)),
      [
        'FailedCreatePodContainer unable to ensure pod container exists: mkdir /sys/fs/cgroup/kubepods: read-only file system',
        'Failed error making pod data directories: mkdir /var/lib/kubelet/pods/uid-1: no space left on device',
        'FailedSync error determining status: context deadline exceeded',
      ],
    );
  });

  it('runs the pod with its allocated resources, and reports the progress', async () => {
    const { sync, world } = harness();
    world.allocated = buildPod({ 'metadata.labels': { size: 'allocated' } });
    world.isResizing = true;
    await sync();
    world.isResizing = false;
    await sync();
    world.outcome = { ...world.outcome, failures: [{ scope: 'resize', reason: 'Error', message: 'too small' }] };
    await sync();
    assert.deepEqual(world.resizes, ['allocated under way', 'allocated done', 'too small']);
  });

  it('does not report a resize as done if a newer allocation arrived during the sync', async () => {
    const { sync, world } = harness();
    world.allocated = buildPod({ 'metadata.labels': { size: 'first' } });
    world.onSync = () => void (world.allocated = buildPod({ 'metadata.labels': { size: 'second' } }));
    world.isUnderWay = (pod) => pod.metadata.labels?.['size'] === 'second';
    await sync();
    assert.deepEqual(world.resizes, ['second under way']);
  });

  it('reads the pod again when the result of an earlier call is unknown, and does nothing when that fails', async () => {
    const { sync, calls, world } = harness();
    world.isSure = false;
    world.read = async () => (calls.push('read'), undefined);
    await sync();
    assert.deepEqual(calls, ['read', 'sync']);
    world.read = () => Promise.reject(new KubeletError('Timeout', 'context deadline exceeded'));
    await assert.rejects(sync(), (error) => isKind(error, 'Timeout'));
    assert.deepEqual(calls, ['read', 'sync', 'Warning FailedSync']);
  });

  it('does not create a pod again that ended while its cgroup was checked', async () => {
    const { sync, calls, world } = harness();
    world.cached = running('web');
    world.phases = ['Running', 'Failed'];
    assert.deepEqual([await sync(), calls], [{ terminal: true }, []]);
  });

  it('requests the runtime handler only for a pod with a user namespace', async () => {
    const { sync, calls, world } = harness();
    world.places = true;
    await sync();
    await sync({ 'spec.hostUsers': true });
    assert.deepEqual(
      [calls, world.handlers],
      [
        ['sync', 'sync'],
        ['', ''],
      ],
    );
    await sync({ 'spec.hostUsers': false });
    assert.deepEqual([calls.slice(2), world.handlers.at(-1)], [['ask for the handler', 'sync'], 'kata']);
  });

  it('refreshes the status when the volumes are ready', async () => {
    const { world, sync } = harness();
    world.mounts = true;
    await sync();
    assert.ok(world.refreshedAfter.includes('ensure volumes'), world.refreshedAfter.join());
  });

  it('does nothing to a terminated pod, and reports it as terminal', async () => {
    for (const phase of ['Succeeded', 'Failed'] as const) {
      const { sync, calls, world } = harness();
      world.phases = [phase];
      assert.deepEqual([await sync(), calls], [{ terminal: true }, []]);
    }
  });

  it('reports that a pod was ended by its deadline', async () => {
    const { world, sync, calls } = harness();
    Object.assign(world, { phases: ['Failed'], reason: 'DeadlineExceeded' });
    assert.equal((await sync()).terminal, true);
    assert.deepEqual(calls, ['Normal DeadlineExceeded']);
  });

  it('ends a pod whose deadline passed during the sync without an event', async () => {
    const { sync, world } = harness();
    world.phases = ['Running', 'Failed'];
    assert.equal((await sync()).terminal, true);
  });

  it('starts no container of a held pod, and reports the holder, the reason, the start and the next attempt', async () => {
    const { sync, calls, world } = harness();
    world.admissionState = { kind: 'held', by: 'driver', why: 'no driver yet', sinceMs: 5, nextTryAtMs: 9 };
    world.deadlineInMs = 700;
    assert.deepEqual(await sync(), { terminal: false, retryInMs: 700 });
    assert.deepEqual(calls, []);
    assert.deepEqual(world.failures, [
      { step: 'be admitted to the node by driver', reason: 'no driver yet', message: '', sinceMs: 5, retryAtMs: 9 },
    ]);
    world.admissionState = { kind: 'admitted' };
    await sync();
    assert.deepEqual([calls, world.failures], [['sync'], []]);
  });

  it('holds pods that need the network until it is ready', async () => {
    const { sync, calls, world } = harness();
    world.networkError = 'cni config uninitialized';
    assert.deepEqual(await sync(), { terminal: false, failed: true });
    assert.deepEqual(calls, ['Warning NetworkNotReady']);
    assert.deepEqual(
      world.failures.map(({ step, reason, message }) => [step, reason, message]),
      [['create the sandbox', 'NetworkNotReady', 'cni config uninitialized']],
    );
    await sync({ 'spec.hostNetwork': true });
    assert.deepEqual(calls.slice(1), ['sync']);
    world.networkError = undefined;
    await sync();
    assert.deepEqual(world.failures, []);
  });

  it('schedules the next sync at the earliest back-off, retry or deadline', async () => {
    const { sync, world, clock } = harness();
    const atMs = (inMs: number): number => clock.nowMs() + inMs;
    world.outcome = {
      failures: [
        { scope: 'container', container: 'a', reason: 'ImagePullBackOff', message: 'm', retryAtMs: atMs(9000) },
      ],
      waits: [{ kind: 'backoff', container: 'b', untilMs: atMs(4000), why: 'back-off' } as never],
      aborted: false,
    };
    assert.deepEqual(await sync(), { terminal: false, retryInMs: 4000, failed: false });
    world.deadlineInMs = 1500;
    assert.equal((await sync()).retryInMs, 1500);
    world.outcome = { failures: [], waits: [], aborted: true };
    assert.equal((await sync()).retryInMs, 0);
    world.deadlineInMs = undefined;
    world.outcome = { failures: [], waits: [], aborted: false };
    assert.equal((await sync()).retryInMs, undefined);
  });

  it('syncs soon after a failed pull, so that the back-off is shown and not only the error', async () => {
    const { sync, clock, world } = harness();
    const failure = {
      scope: 'container',
      container: 'main',
      message: 'not found',
      retryAtMs: clock.nowMs() + 10_000,
    } as const;
    world.outcome = { ...world.outcome, failures: [{ ...failure, reason: 'ErrImagePull' }] };
    assert.equal((await sync()).retryInMs, 1000);
    world.outcome = { ...world.outcome, failures: [{ ...failure, reason: 'ImagePullBackOff' }] };
    assert.equal((await sync()).retryInMs, 10_000);
  });

  it('refreshes volumes of objects even when nothing is to be started, and no other volumes', async () => {
    const { sync, calls } = harness();
    await sync({ 'spec.volumes': [{ name: 'v', emptyDir: {} }] });
    assert.deepEqual(calls, ['sync']);
    await sync({ 'spec.volumes': [{ name: 'v', configMap: { name: 'settings' } }] });
    assert.deepEqual(calls, ['sync', 'sync', 'ensure volumes']);
    await sync({ 'spec.volumes': [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }] });
    await sync({ 'spec.volumes': [{ name: 'v', csi: { driver: 'd' } }] });
    assert.deepEqual(calls.slice(3), ['sync', 'ensure volumes', 'sync', 'ensure volumes']);
  });

  it('fails when a step without a retry time of its own failed, and names the step', async () => {
    const { sync, world } = harness();
    const failure = { reason: 'R', message: 'm' };
    world.outcome = {
      failures: [
        { scope: 'sandbox', ...failure },
        { scope: 'volumes', ...failure },
        { scope: 'kill', container: 'a', ...failure },
        { scope: 'container', container: 'b', ...failure },
      ],
      waits: [],
      aborted: false,
    };
    assert.equal((await sync()).failed, true);
    assert.deepEqual(
      world.failures.map(({ step }) => step),
      ['create the sandbox', 'mount the volumes', 'stop container a', 'start container b'],
    );
  });
});

describe('stopping a pod', () => {
  it('stops its containers with the grace, its probes after them', async () => {
    const { terminate, calls } = harness();
    await terminate();
    assert.deepEqual(calls, ['withdraw', 'stop liveness', 'kill 5000', 'remove probes']);
  });

  it('takes the grace period of a completed pod from its spec', async () => {
    const { terminate, calls } = harness();
    await terminate('pod', 'completed');
    assert.equal(calls.includes('kill undefined'), true);
  });

  it('removes what an orphan left before its state is dropped', async () => {
    const { terminate, calls } = harness();
    await terminate('orphan', 'orphaned');
    assert.deepEqual(calls, ['withdraw', 'stop liveness', 'kill 5000', 'remove probes', 'collect']);
  });

  it('is not done while a kill failed, was interrupted, or something still runs', async () => {
    const { terminate, calls, world } = harness();
    world.kill = {
      failures: [{ scope: 'kill', container: 'main', reason: 'KillContainerError', message: 'no answer' }],
      aborted: false,
    };
    await assert.rejects(terminate(), /no answer/);
    assert.deepEqual(
      world.failures.map(({ step, message }) => [step, message]),
      [['stop container main', 'no answer']],
    );
    world.kill = { failures: [], aborted: true };
    await assert.rejects(terminate(), (error) => isKind(error, 'Aborted'));
    world.kill = { failures: [], aborted: false };
    world.left = running('main');
    await assert.rejects(terminate(), /still running after the kill: main/);
    assert.equal(calls.includes('remove probes'), false);
  });

  it("reports what could not be stopped in upstream's words, also for a pod that no source wants", async () => {
    const { terminate, said, world } = harness();
    const stuck: KillFailure = {
      scope: 'kill',
      container: 'main',
      reason: 'KillContainerError',
      message: 'rpc error: code = Unknown desc = "main" is stuck',
    };
    world.kill = { failures: [stuck], aborted: false };
    await assert.rejects(terminate());
    world.kill = {
      failures: [stuck, { scope: 'kill', reason: 'KillPodSandboxError', message: 'busy' }],
      aborted: false,
    };
    await assert.rejects(terminate('orphan', 'orphaned'));
    const one = String.raw`failed to "KillContainer" for "main" with KillContainerError: "rpc error: code = Unknown desc = \"main\" is stuck"`;
    assert.deepEqual(said, [
      `${buildPod().metadata.name} FailedKillPod error killing pod: ${one}`,
      `web FailedKillPod error killing pod: [${one}, failed to "KillPodSandbox" for "uid-1" with KillPodSandboxError: "busy"]`,
    ]);
  });
});

describe('cleaning up after a pod', () => {
  it('removes volumes and cgroup, and what is left in the runtime only when nothing is kept', async () => {
    const { syncer, calls } = harness();
    await syncer.syncTerminatedPod({ pod: buildPod(), all: false, signal });
    assert.deepEqual(calls, ['stopped', 'tear down', 'remove cgroup', 'release ids', 'released']);
    await syncer.syncTerminatedPod({ pod: buildPod(), all: true, signal });
    assert.deepEqual(calls.slice(5), ['stopped', 'tear down', 'remove cgroup', 'release ids', 'released', 'collect']);
  });

  it('drops the state of a removed pod at once, and keeps that of any other', () => {
    const { syncer, calls } = harness();
    syncer.finished({ uid, pod: buildPod(), gone: false, revived: false });
    assert.deepEqual(calls, ['remove probes']);
    syncer.finished({ uid, pod: buildPod(), gone: true, revived: false });
    syncer.finished({ uid, pod: buildPod(), gone: true, revived: true });
    assert.deepEqual(calls.slice(1), ['remove probes', 'forget', 'remove probes', 'forget, comes again']);
  });
});

describe('a running pod without its cgroup', () => {
  it("is stopped and created again if its cgroup is missing, except in the agent's first sync of the pod", async () => {
    const { sync, calls, world } = harness();
    world.cached = running('main');
    world.existed = false;
    await sync();
    assert.deepEqual(calls, ['sync']);
    await sync();
    assert.deepEqual(calls, ['sync', 'kill undefined', 'sync']);
  });
});
