import type { Pod } from '../../../../api/core/pod.ts';
import type { PodExplanation } from '../../../../api/explanation/explanation.ts';
import type { EvictionReport } from '../../../model/eviction-report.ts';
import type { GroupUse, MachineIdentity, StallTimes } from '../../../ports/stats.ts';
import type { ManagersView } from '../compute-managers.ts';
import type { PageSampledPod, PageSources } from '../page-sources.ts';

const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

const modelMachine: MachineIdentity = {
  machineId: 'm',
  systemUuid: 's',
  bootId: 'b',
  osVersion: 'Debian GNU/Linux 12 (bookworm)',
  kernelVersion: '6.1.0-30-amd64',
  bootedAtMs: 0,
  cores: 8,
  physicalCores: 4,
  sockets: 1,
  memoryBytes: 32 * GIB,
  swapBytes: 0,
};

const apps = ['api', 'cart', 'checkout', 'frontend', 'ingress', 'ledger', 'mailer', 'metrics', 'queue', 'search'];
const namespaces = ['default', 'kube-system', 'monitoring', 'shop'];

export interface ModelPageOptions {
  readonly pods: number;
  readonly nowMs: () => number;
  /** Pods that are added unchanged. */
  readonly more?: readonly Pod[];
}

/** A node whose figures change over time, for tests of the page without an agent. */
export class ModelPage implements PageSources {
  readonly #options: ModelPageOptions;
  readonly #listeners = new Set<() => void>();
  #pods: readonly Pod[];
  readonly nodeName = 'node-1';
  readonly kubeletVersion = 'v1.36.0';
  readonly machine: MachineIdentity;
  readonly eviction = { hard: { 'memory.available': '1Gi', 'nodefs.available': '10%' }, soft: {}, softGraceMs: {} };
  readonly stats = {
    measuredPods: () => this.#running().map(({ metadata }) => ({ uid: metadata.uid })),
    sample: async () => this.#running().map((pod, index) => this.#sampled(pod, index)),
    look: () => ({ use: this.#use(3.1e12, 17 * GIB, 3), usageNanoCores: 2.6e9 + 4e8 * this.#wave(1) }),
  };
  readonly disks = {
    ask: async () => undefined,
    rootFs: {
      atMs: 0,
      capacityBytes: 200 * GIB,
      availableBytes: 61 * GIB,
      freeBytes: 65 * GIB,
      inodes: 13e6,
      inodesFree: 11e6,
    },
    imageFs: {
      fs: {
        atMs: 0,
        capacityBytes: 200 * GIB,
        availableBytes: 61 * GIB,
        freeBytes: 65 * GIB,
        inodes: 13e6,
        inodesFree: 11e6,
      },
      used: { atMs: 0, usedBytes: 24 * GIB, inodesUsed: 1 },
    },
    layers: new Map<string, { atMs: number; usedBytes: number; inodesUsed: number }>(),
    pods: new Map(),
    volumes: new Map(),
  };
  readonly managersView: ManagersView = {
    cpus: {
      topology: {
        nodes: [0, 1].map((id) => ({
          id,
          cores: [2 * id, 2 * id + 1].map((first) => ({ socketId: 0, cpus: [first, first + 4] })),
        })),
      } as unknown as NonNullable<ManagersView['cpus']>['topology'],
      sharedPool: () => new Set([2, 4, 6]),
      exclusive: (uid) => (uid === this.#uid(0) ? new Set([1, 5]) : uid === this.#uid(3) ? new Set([3, 7]) : undefined),
    },
    devices: {
      devicesOf: (uid) => new Map(uid === this.#uid(0) ? [['example.com/gpu', { ids: ['gpu-0', 'gpu-2'] }]] : []),
      healthy: () => new Map([['example.com/gpu', [{ id: 'gpu-0' }, { id: 'gpu-1' }]]]),
    },
  };

  constructor(options: ModelPageOptions) {
    this.#options = options;
    this.machine = { ...modelMachine, bootedAtMs: options.nowMs() - 9.2e8 };
    this.#pods = [
      ...Array.from({ length: options.pods }, (_, index) => modelPod(index, options.nowMs())),
      ...(options.more ?? []),
    ];
  }

  tasks = (): { current: number; limit: number } => ({ current: 1834, limit: 32_768 });
  interfaces = () => [this.#interface(1e6)];
  node = () => ({
    metadata: { name: 'node-1', namespace: '', uid: 'n' },
    spec: {},
    status: {
      allocatable: { cpu: '7500m', memory: '30Gi', pods: '250' },
      conditions: [
        { type: 'Ready', status: 'True' as const, message: 'kubelet is posting ready status', lastTransitionTime: '' },
      ],
    },
  });
  pods = (): readonly Pod[] => this.#pods;
  problems = () => [];
  explain = (pod: Pod): PodExplanation => explanationOf(pod, this.#options.nowMs());
  watch = (onChange: () => void): (() => void) => {
    this.#listeners.add(onChange);
    return () => void this.#listeners.delete(onChange);
  };

  evictionReport = async (): Promise<EvictionReport> => {
    const hard = { kind: 'hard' as const, graceMs: 0, minimumReclaim: 0, metForMs: undefined };
    const soft = { ...hard, kind: 'soft' as const, graceMs: 90_000 };
    const pods = this.#ranking();
    const ranking = { first: pods[0]?.pod, pods };
    return {
      signals: [
        {
          signal: 'memory.available',
          resource: 'memory',
          available: 15 * GIB,
          capacity: 32 * GIB,
          ageMs: 400,
          thresholds: [
            { ...hard, amount: GIB },
            { ...soft, amount: 3 * GIB },
          ],
        },
        {
          signal: 'nodefs.available',
          resource: 'ephemeral-storage',
          available: 61 * GIB,
          capacity: 200 * GIB,
          ageMs: 400,
          thresholds: [{ ...hard, amount: 20 * GIB }],
        },
      ],
      conditions: [],
      leaving: undefined,
      reclaimable: { containers: 3, images: 5, imageBytes: 2.4 * GIB },
      rankings: [
        { signal: 'memory.available', resource: 'memory', ...ranking },
        { signal: 'nodefs.available', resource: 'ephemeral-storage', ...ranking },
      ],
    };
  };

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Replaces the pods and reports the change. */
  setPods(pods: readonly Pod[]): void {
    this.#pods = pods;
    for (const listener of this.#listeners) listener();
  }

  #running(): readonly Pod[] {
    return this.#pods.filter(({ status }) => status?.phase === 'Running');
  }

  #uid(index: number): string {
    return this.#pods[index]?.metadata.uid ?? '';
  }

  #wave(seed: number): number {
    return Math.sin(this.#options.nowMs() / (7000 + 900 * (seed % 7)) + seed) * 0.5 + 0.5;
  }

  #interface(bytesPerSecond: number) {
    const bytes = Math.round((this.#options.nowMs() / 1000) * bytesPerSecond);
    const none = { rxPackets: 0, rxErrors: 0, rxDropped: 0, txPackets: 0, txErrors: 0, txDropped: 0 };
    return { name: 'eth0', rxBytes: bytes, txBytes: Math.round(bytes / 3), ...none };
  }

  #use(cpuNs: number, memoryBytes: number, stalled: number): GroupUse {
    const some: StallTimes = { totalUs: 0, avg10: stalled, avg60: 0, avg300: 0 };
    const pressure = { some, full: some };
    const zero = {
      userNs: 0,
      systemNs: 0,
      periods: 0,
      throttledPeriods: 0,
      throttledNs: 0,
      burstPeriods: 0,
      burstNs: 0,
    };
    return {
      atMs: this.#options.nowMs(),
      cpu: { usageNs: cpuNs, ...zero, pressure },
      memory: {
        usageBytes: memoryBytes,
        workingSetBytes: memoryBytes,
        rssBytes: memoryBytes,
        cacheBytes: 0,
        mappedFileBytes: 0,
        swapBytes: 0,
        activeFileBytes: 0,
        inactiveFileBytes: 0,
        pageFaults: 0,
        majorPageFaults: 0,
        kernelBytes: 0,
        maxUsageBytes: 0,
        failures: 0,
        oomKills: 0,
        pressure: { some: { ...some, avg10: stalled / 4 }, full: some },
      },
      io: { bytes: [], operations: [], pressure: { some: { ...some, avg10: stalled / 2 }, full: some } },
    };
  }

  #sampled(pod: Pod, index: number): PageSampledPod {
    const millis = (12 + ((index * 37) % 240)) * (0.7 + 0.6 * this.#wave(index));
    const memory = (24 + ((index * 53) % 200)) * MIB * (0.9 + 0.1 * this.#wave(index + 3));
    const sample = {
      use: this.#use(1e9, memory, index % 9 === 0 ? 4 * this.#wave(index) : 0),
      usageNanoCores: millis * 1e6,
    };
    return {
      pod: { uid: pod.metadata.uid },
      group: sample,
      containers: pod.spec.containers.map(({ name }) => ({ container: { name, id: `${index}-${name}` }, sample })),
      interfaces: [this.#interface(900 * ((index * 13) % 50))],
    };
  }

  #ranking(): EvictionReport['rankings'][number]['pods'] {
    return this.#running()
      .slice(0, 8)
      .map(({ metadata: { namespace, name } }, index) => ({
        pod: `${namespace}/${name}`,
        usage: (310 - 40 * index) * MIB,
        request: (64 + 32 * index) * MIB,
        priority: index === 7 ? 2_000_001_000 : 0,
        spared: index === 7,
      }));
  }
}

/** Builds a running pod. One in forty-five waits for its image. */
export function modelPod(
  index: number,
  nowMs: number,
  over: { name?: string; namespace?: string; image?: string; uid?: string } = {},
): Pod {
  const app = apps[index % apps.length] ?? 'api';
  const uid = over.uid ?? `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`;
  const waits = index % 45 === 7;
  const limits = { cpu: `${200 + 50 * (index % 4)}m`, memory: `${128 + 64 * (index % 3)}Mi` };
  return {
    metadata: {
      uid,
      namespace: over.namespace ?? namespaces[index % namespaces.length] ?? 'default',
      name:
        over.name ?? `${app}-${(7919 * (index + 11)).toString(36)}-${(104_729 * (index + 3)).toString(36).slice(-5)}`,
    },
    spec: {
      containers: [
        {
          name: 'main',
          image: over.image ?? `registry.example.com/${app}:1.${index % 20}`,
          resources:
            index % 3 === 0
              ? { requests: { cpu: '50m', memory: '64Mi' } }
              : { requests: { cpu: '100m', memory: '96Mi' }, limits: { ...limits, 'ephemeral-storage': '512Mi' } },
        },
      ],
    },
    status: {
      phase: waits ? 'Pending' : 'Running',
      startTime: new Date(nowMs - 60_000 * (5 + ((index * 97) % 9000))).toISOString(),
      containerStatuses: [
        {
          name: 'main',
          image: '',
          imageID: '',
          ready: !waits,
          restartCount: index % 11 === 0 ? 2 : 0,
          state: waits ? { waiting: { reason: 'ImagePullBackOff' } } : { running: {} },
        },
      ],
    },
  } as Pod;
}

/** Builds a line of a long timeline. */
const mounted = (atMs: number, index: number): PodExplanation['timeline'][number] => ({
  atMs,
  kind: 'decision',
  type: 'Normal',
  reason: 'mountVolume',
  message: `mount volume data-${index}`,
  count: 1,
});

function explanationOf({ metadata, spec, status }: Pod, nowMs: number): PodExplanation {
  const waits = status?.phase === 'Pending';
  const image = spec.containers[0]?.image ?? '';
  return {
    uid: metadata.uid,
    namespace: metadata.namespace,
    name: metadata.name,
    phase: status?.phase ?? 'Pending',
    settled: !waits,
    blockers: waits
      ? [
          {
            step: `pull image ${image}`,
            cause: 'the registry does not have this tag',
            sinceMs: nowMs - 95_000,
            lastError: `${image}: not found`,
            nextTryAtMs: nowMs + 40_000,
          },
        ]
      : [],
    suggestions: [],
    timeline: [
      ...Array.from({ length: waits ? 0 : 20 }, (_, index) => mounted(nowMs - 1000 * (160 - index), index)),
      {
        atMs: nowMs - 120_000,
        kind: 'decision',
        type: 'Normal',
        reason: 'createSandbox',
        message: 'create the sandbox, attempt 0',
        count: 1,
      },
      {
        atMs: nowMs - 119_000,
        kind: 'event',
        type: 'Normal',
        reason: 'Pulling',
        message: `Pulling image "${image}"`,
        count: waits ? 4 : 1,
      },
      waits
        ? {
            atMs: nowMs - 95_000,
            kind: 'event',
            type: 'Warning',
            reason: 'Failed',
            message: `Failed to pull image "${image}": not found`,
            count: 4,
          }
        : {
            atMs: nowMs - 116_000,
            kind: 'event',
            type: 'Normal',
            reason: 'Started',
            message: 'Started container main',
            count: 1,
          },
    ],
  };
}
