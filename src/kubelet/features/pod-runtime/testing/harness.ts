import { silentLogger } from '../../../../base/log.ts';
import { seededRandom } from '../../../../base/random.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodUid } from '../../../model/ids.ts';
import { podUid } from '../../../model/ids.ts';
import type { PodVolumes } from '../../../model/pod-volumes.ts';
import type { ProbeVerdict } from '../../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { FakeHostFiles } from '../../../ports/testing/fake-host-files.ts';
import { FakeMounts } from '../../../ports/testing/fake-mounts.ts';
import { FakeRuntime } from '../../../ports/testing/fake-runtime.ts';
import type { PodRuntimeDeps } from '../deps.ts';
import type { ImageOutcome } from '../interfaces.ts';
import type { KillOutcome, KillPodRequest } from '../execute/kill-pod.ts';
import type { ContainerSettings, NodeFacts, PodPlacement } from '../config/node-facts.ts';
import { PodRuntime } from '../pod-runtime.ts';
import type { SyncOutcome, SyncPodRequest } from '../sync-run.ts';

export const testSettings: ContainerSettings = {
  rootDir: '/var/lib/kubelet',
  podLogsDir: '/var/log/pods',
  clusterDomain: 'cluster.local',
  clusterDns: ['10.96.0.10'],
  seccompDefault: false,
  cpuCfsQuota: true,
  cpuCfsQuotaPeriodUs: 100_000,
  singleProcessOomKill: undefined,
  swapBehavior: '',
};

export const testNode: NodeFacts = {
  nodeName: 'node-1',
  hostIps: ['192.168.0.1'],
  memoryCapacityBytes: 8 * 2 ** 30,
  swapCapacityBytes: 0,
  allocatable: { cpu: '2', memory: '8Gi' },
  cgroupVersion: 1,
  swapControl: false,
  hugePageSizes: ['2MB'],
  thermalThrottlePaths: [],
  selinuxEnabled: false,
  handlers: new Map(),
};

/** The request of a sync with a fixed placement. */
type HarnessRequest = Omit<SyncPodRequest, 'placement'> & { placement: PodPlacement | Promise<PodPlacement> };

/** PodRuntime on fakes. Its output is recorded, and its input can be scripted. */
export class Harness {
  readonly clock = new FakeClock();
  readonly runtime: FakeRuntime;
  readonly files: FakeHostFiles;
  readonly mounts: FakeMounts;
  readonly pods: PodRuntime;
  /** The recorded events as `TYPE REASON MESSAGE`. */
  readonly events: string[] = [];
  /** The notifications to the cache and the status publisher, in order. */
  readonly notices: string[] = [];
  readonly timeline: string[] = [];
  /** The probe results by `liveness app#0`. */
  readonly verdicts = new Map<string, ProbeVerdict>();
  readonly hookCalls: string[] = [];
  image: (name: string) => Promise<ImageOutcome> = async (name) => ({
    kind: 'present',
    imageRef: name,
    user: { uid: 0, username: '' },
  });
  hook: (name: string, signal: AbortSignal) => Promise<{ ok: true } | { ok: false; message: string }> = async () => ({
    ok: true,
  });
  volumes: () => Promise<PodVolumes> = async () => new Map();
  objects: PodRuntimeDeps['objects'] = { configMap: () => undefined, secret: () => undefined };
  services: PodRuntimeDeps['services']['services'] = () => [];
  handler = '';

  constructor(overrides: Partial<PodRuntimeDeps> = {}) {
    const { clock } = this;
    this.runtime = new FakeRuntime({ clock });
    for (const name of ['app', 'log', 'i1', 'i2', 'side', 's2', 'debug']) this.runtime.addImage(`${name}:1`);
    this.files = new FakeHostFiles(clock);
    this.mounts = new FakeMounts(this.files);
    this.pods = new PodRuntime({
      runtime: this.runtime,
      files: this.files,
      mounts: this.mounts,
      clock,
      random: seededRandom(1),
      log: silentLogger,
      settings: testSettings,
      node: () => testNode,
      hostDns: async () => ({ servers: ['1.1.1.1'], searches: [], options: [] }),
      images: {
        ensure: ({ container }) => this.image(container.image ?? ''),
        ensureVolume: ({ reference }) => this.image(reference),
        prefetch: (_pod, containers) =>
          void this.notices.push(`prefetch ${containers.map(({ name }) => name).join(' ')}`),
      },
      hooks: {
        run: (target, handler, signal) => {
          this.hookCalls.push(`${target.container.name} ${handler.exec?.command?.join(' ') ?? ''}`.trim());
          return this.hook(target.container.name, signal);
        },
      },
      probes: {
        get: (type, id) => {
          const config = this.runtime.containers().find((record) => record.id === id)?.config;
          return this.verdicts.get(`${type} ${config?.name}#${config?.attempt}`);
        },
      },
      cache: {
        noteContainer: (_pod, status, origin = 'own') =>
          void this.notices.push(
            `cache ${status.name}#${status.attempt} ${status.state}${origin === 'own' ? '' : ` ${origin}`}`,
          ),
        noteSandbox: (status, origin = 'own') =>
          void this.notices.push(
            `cache sandbox#${status.attempt} ${status.ready ? 'ready' : 'stopped'}${origin === 'own' ? '' : ` ${origin}`}`,
          ),
        noteContainerRemoved: () => void this.notices.push('cache removed'),
        noteUnsure: () => void this.notices.push('cache unsure'),
      },
      objects: {
        configMap: (namespace, name) => this.objects.configMap(namespace, name),
        secret: (namespace, name) => this.objects.secret(namespace, name),
      },
      services: { services: () => this.services() },
      handlers: { lookup: () => this.handler },
      events: {
        event: (_pod, type, reason, message, container) =>
          void this.events.push(`${type} ${reason} ${message}${container === undefined ? '' : ` [${container}]`}`),
        nodeEvent: (type, reason, message) => void this.events.push(`${type} ${reason} ${message} [node]`),
      },
      timeline: { record: (_uid, entry) => void this.timeline.push(`${entry.kind} ${entry.reason} ${entry.message}`) },
      onChange: (_uid, what) => void this.notices.push(`change ${what.kind === 'container' ? what.name : what.kind}`),
      cores: 2,
      ...overrides,
    });
  }

  /** Returns the actual state of the runtime, as an up-to-date cache would. */
  async status(pod: Pod): Promise<PodRuntimeStatus> {
    const uid = podUid(pod.metadata.uid);
    const quiet = { timeoutMs: 0 };
    const containers: ContainerRuntimeStatus[] = [];
    const sandboxes = await Promise.all(
      (await this.runtime.listSandboxes({ podUid: uid }, quiet)).map(({ id }) => this.runtime.sandboxStatus(id, quiet)),
    );
    for (const { id } of await this.runtime.listContainers({ podUid: uid }, quiet))
      containers.push(await this.runtime.containerStatus(id, quiet));
    return {
      uid,
      name: pod.metadata.name,
      namespace: pod.metadata.namespace,
      sandboxes,
      containers,
      observedAtMs: this.clock.monotonicMs(),
    };
  }

  /** Runs one sync, with as much virtual time as it needs. */
  async sync(pod: Pod, more: Partial<HarnessRequest> = {}): Promise<SyncOutcome> {
    return this.finish(this.begin(pod, { status: await this.status(pod), ...more }));
  }

  /** Starts a sync and returns its promise. */
  begin(pod: Pod, more: Partial<HarnessRequest> & { status: PodRuntimeStatus }): Promise<SyncOutcome> {
    const { placement = { cgroupParent: '/kubepods/pod' }, ...rest } = more;
    return this.pods.syncPod({
      pod,
      volumes: () => this.volumes(),
      placement: async () => placement,
      signal: new AbortController().signal,
      ...rest,
    });
  }

  async kill(pod: Pod, more: Partial<KillPodRequest> = {}): Promise<KillOutcome> {
    return this.finish(
      this.pods.killPod({ pod, status: await this.status(pod), signal: new AbortController().signal, ...more }),
    );
  }

  async finish<T>(work: Promise<T>, limitMs = 600_000): Promise<T> {
    let done = false;
    const settle = (): void => {
      done = true;
    };
    work.then(settle, settle);
    if (!(await this.clock.advanceUntil(() => done, limitMs))) throw new Error(`no result within ${limitMs} ms`);
    return work;
  }

  /** Lists the containers as `app#0 running`, oldest first. */
  get containers(): string[] {
    return this.runtime
      .containers()
      .map(
        ({ config, state, exitCode }) => `${config.name}#${config.attempt} ${state === 'exited' ? exitCode : state}`,
      );
  }

  calls(...ops: string[]): string[] {
    return this.runtime.journal.writes
      .filter(({ op }) => ops.includes(op))
      .map(({ op, target, atMs }) => `${atMs} ${op} ${target.container ?? ''}`.trim());
  }

  uid(pod: Pod): PodUid {
    return podUid(pod.metadata.uid);
  }
}
