import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import { nextTurn } from '../../../base/turn.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { NodeStatsSources, StatsDepth } from '../../ports/stats.ts';
import type { DiskFacts } from './disk-facts.ts';
import { fsJson, groupJson, networkJson } from './group-json.ts';
import type { ListingEntry } from './cadvisor-text.ts';
import { asMachine } from './as-machine.ts';
import { listGroups } from './group-listing.ts';
import type { GroupSample } from './group-samples.ts';
import { GroupSamples } from './group-samples.ts';
import { ListedGroups } from './listed-groups.ts';
import type { MeasuredPod, PodPlace } from './pod-groups.ts';
import { ContainerPaths, measuredPod } from './pod-groups.ts';
import type { SampledPod } from './pod-json.ts';
import { podCpuAndMemory, podJson } from './pod-json.ts';
import type { ResourceSamples } from './resource-text.ts';
import type { ContainerStats, NodeStats, Summary } from './summary-types.ts';
import { knownTime, timeJson } from './summary-types.ts';

export interface StatsProviderOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly sources: NodeStatsSources;
  readonly disks: DiskFacts;
  readonly nodeName: string;
  /** The time between two samples while there are requests, drawn between the two values. */
  readonly housekeeping: { periodMs: number; longestMs: number };
  readonly runtimePods: () => Iterable<PodRuntimeStatus>;
  /** Returns the groups of a pod; undefined for a pod that the agent does not know. */
  readonly place: (uid: string) => PodPlace | undefined;
  /** The kernel's names of the groups of all pods and of the QoS classes, the parent first. */
  readonly podsGroups: readonly string[];
}

/** The number of groups read before other work runs: about 2 ms. */
const GROUPS_AT_ONCE = 30;
/** Without a request for this time, sampling stops until the next one. */
const INTEREST_MS = 120_000;
/** Requests within this time share one response. */
const SAME_MOMENT_MS = 1000;
/** The tolerance for a late housekeeping, which takes time itself. */
const READ_AHEAD_SLACK_MS = 5000;

/**
 * Reads the figures of the node and its pods on request. While there are requests, samples are also taken in between,
 * so that rates are those of the last seconds.
 */
export class StatsProvider {
  readonly #options: StatsProviderOptions;
  readonly #samples: GroupSamples;
  readonly #paths: ContainerPaths;
  readonly #housekeeping: Loop;
  readonly #startedAtMs: number;
  #askedAtMs = Number.NEGATIVE_INFINITY;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  #listedAtMs = Number.NEGATIVE_INFINITY;
  readonly #listed: ListedGroups;

  constructor(options: StatsProviderOptions) {
    const { clock, random, log, sources } = options;
    this.#options = options;
    this.#samples = new GroupSamples(sources.groups, () => clock.nowMs());
    this.#paths = new ContainerPaths((path) => sources.groups.children(path));
    this.#listed = new ListedGroups(() => clock.monotonicMs());
    this.#startedAtMs = clock.nowMs();
    this.#housekeeping = createLoop({
      name: 'statistics',
      clock,
      random,
      log,
      periodMs: options.housekeeping.periodMs,
      jitterFactor: Math.max(0, options.housekeeping.longestMs / options.housekeeping.periodMs - 1),
      pass: () => this.#keepRates(),
    });
  }

  start(): void {
    this.#housekeeping.start();
  }

  async stop(): Promise<void> {
    await this.#housekeeping.stop();
  }

  /** Returns the response of /stats/summary. */
  async summary(): Promise<Summary> {
    const { disks } = this.#options;
    this.#askedAtMs = this.#options.clock.monotonicMs();
    const pods = this.measuredPods();
    const [sampled] = await Promise.all([this.sample(pods, 'summary'), disks.ask(pods)]);
    return { node: this.#node('summary'), pods: sampled.map((pod) => podJson(pod, disks)) };
  }

  /** Returns the same without the slow parts, for `only_cpu_and_memory`. */
  async cpuAndMemory(): Promise<Summary> {
    const { pods } = await this.resources();
    return { node: this.#node('cpuAndMemory'), pods: pods.map(podCpuAndMemory) };
  }

  /** Returns the samples for /metrics/resource. */
  async resources(): Promise<ResourceSamples & { pods: SampledPod[] }> {
    this.#askedAtMs = this.#options.clock.monotonicMs();
    const pods = await this.sample(this.measuredPods(), 'cpuAndMemory');
    const root = this.look('/', 'cpuAndMemory');
    return { node: root === undefined ? undefined : asMachine(root, this.#options.sources.machine), pods };
  }

  /**
   * Returns every group, for /metrics/cadvisor. While there are scrapes, groups are read ahead of them. As in upstream,
   * an answer has the numbers of the last housekeeping with their times. Groups that are new since then are read
   * immediately.
   */
  listing(): Promise<ListingEntry[]> {
    this.#askedAtMs = this.#listedAtMs = this.#options.clock.monotonicMs();
    return this.#list(this.#options.housekeeping.longestMs + READ_AHEAD_SLACK_MS);
  }

  async #list(maxAgeMs: number): Promise<ListingEntry[]> {
    const { sources, disks, podsGroups, clock } = this.#options;
    const pods = this.measuredPods();
    // The response shows the known disk figures: a scrape does not wait for new ones.
    void disks.ask(pods);
    const system = new Set([...this.systemPaths().values(), ...podsGroups]);
    const entries = await listGroups(
      { sources, disks, look: (path) => this.look(path, 'all'), kept: this.#listed, maxAgeMs, nowMs: clock.nowMs() },
      [...system],
      pods,
    );
    if (maxAgeMs === 0) this.#noteLook(pods);
    this.#listed.retain(new Set(entries.map(({ labels }) => labels.id)));
    return entries;
  }

  /** Returns the running pods, sorted by namespace and name. */
  measuredPods(): MeasuredPod[] {
    const pods: MeasuredPod[] = [];
    for (const status of this.#options.runtimePods()) {
      const place = this.#options.place(status.uid);
      const pod = place === undefined ? undefined : measuredPod(status, place, this.#paths);
      if (pod !== undefined) pods.push(pod);
    }
    const ids = new Set(pods.flatMap((pod) => [pod.sandbox?.id ?? '', ...pod.containers.map(({ id }) => id)]));
    this.#paths.retain(ids);
    return pods.sort((left, right) => (left.namespace + left.name < right.namespace + right.name ? -1 : 1));
  }

  /** Reads every group of the pods, a few at a time. */
  async sample(pods: readonly MeasuredPod[], depth: StatsDepth): Promise<SampledPod[]> {
    const sampled: SampledPod[] = [];
    let looked = 0;
    for (const pod of pods) {
      sampled.push(this.#samplePod(pod, depth));
      looked += pod.containers.length + 2;
      if (looked < GROUPS_AT_ONCE) continue;
      looked = 0;
      await nextTurn();
    }
    this.#noteLook(pods);
    return sampled;
  }

  #noteLook(pods: readonly MeasuredPod[]): void {
    const { clock, podsGroups } = this.#options;
    this.#lookedAtMs = clock.monotonicMs();
    const known = pods.flatMap((pod) => [
      pod.path ?? '',
      pod.sandbox?.path ?? '',
      ...pod.containers.map(({ path }) => path),
    ]);
    this.#samples.retain(new Set([...this.systemPaths().values(), ...podsGroups, ...known]));
  }

  look(path: string, depth: StatsDepth): GroupSample | undefined {
    return this.#samples.look(path, depth, SAME_MOMENT_MS);
  }

  /** Returns the groups that belong to no pod, by role. `/` is the node. */
  systemPaths(): Map<string, string> {
    const { sources, podsGroups } = this.#options;
    const all: readonly [string, string | undefined][] = [
      ['node', '/'],
      ['kubelet', sources.agentGroup],
      ['runtime', sources.runtimeGroup],
      ['pods', podsGroups[0]],
    ];
    return new Map(all.flatMap(([name, path]) => (path === undefined ? [] : [[name, path] as const])));
  }

  #samplePod(pod: MeasuredPod, depth: StatsDepth): SampledPod {
    const { groups } = this.#options.sources;
    const containers = pod.containers.flatMap((container) => {
      const sample = this.look(container.path, depth);
      return sample === undefined ? [] : [{ container, sample }];
    });
    const group = pod.path === undefined ? undefined : this.look(pod.path, depth);
    if (depth === 'cpuAndMemory') return { pod, group, containers, interfaces: undefined, processes: undefined };
    const sandboxPids = pod.sandbox === undefined ? [] : groups.processIds(pod.sandbox.path);
    const processes = containers.reduce((sum, { container }) => sum + groups.processIds(container.path).length, 0);
    return {
      pod,
      group,
      containers,
      interfaces: sandboxPids[0] === undefined ? undefined : groups.interfaces(sandboxPids[0]),
      processes,
    };
  }

  #node(depth: StatsDepth): NodeStats {
    const { sources, nodeName, disks, clock } = this.#options;
    const root = this.look('/', depth);
    const { rootFs, imageFs } = disks;
    const node: NodeStats = {
      nodeName,
      systemContainers: this.#systemContainers(depth),
      startTime: timeJson(sources.machine.bootedAtMs),
      ...(root !== undefined && groupJson(asMachine(root, sources.machine), depth)),
    };
    if (depth === 'cpuAndMemory') return node;
    const network = networkJson(sources.groups.interfaces(1), clock.nowMs());
    const image =
      imageFs === undefined
        ? undefined
        : fsJson(imageFs.fs, {
            usedBytes: imageFs.used.usedBytes,
            inodesUsed: imageFs.fs.inodes - imageFs.fs.inodesFree,
          });
    const { current, limit } = sources.groups.tasks();
    return {
      ...node,
      ...(network !== undefined && { network }),
      ...(rootFs !== undefined && { fs: fsJson(rootFs) }),
      runtime: image === undefined ? {} : { imageFs: image, containerFs: image },
      rlimit: { time: knownTime(clock.nowMs()), ...(limit !== Infinity && { maxpid: limit }), curproc: current },
    };
  }

  #systemContainers(depth: StatsDepth): ContainerStats[] {
    return [...this.systemPaths()].flatMap(([name, path]) => {
      const sample = name === 'node' ? undefined : this.look(path, depth);
      if (sample === undefined) return [];
      return [
        {
          name,
          startTime: timeJson(name === 'kubelet' ? this.#startedAtMs : sample.createdAtMs),
          ...groupJson(sample, depth),
        },
      ];
    });
  }

  async #keepRates(): Promise<void> {
    const nowMs = this.#options.clock.monotonicMs();
    const isListed = nowMs - this.#listedAtMs <= INTEREST_MS;
    if (!isListed) this.#listed.clear();
    if (nowMs - this.#askedAtMs > INTEREST_MS || nowMs - this.#lookedAtMs < this.#options.housekeeping.periodMs / 2)
      return;
    if (isListed) return void (await this.#list(0));
    await this.sample(this.measuredPods(), 'cpuAndMemory');
    for (const path of this.systemPaths().values()) this.look(path, 'cpuAndMemory');
  }
}
