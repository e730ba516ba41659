import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';
import type { DiskFactsOptions } from './disk-facts.ts';
import { DiskFacts } from './disk-facts.ts';
import { gzipText } from './gzip-text.ts';
import type { PodPlace } from './pod-groups.ts';
import { statsEndpoints } from './stats-endpoints.ts';
import type { StatsProviderOptions } from './stats-provider.ts';
import { StatsProvider } from './stats-provider.ts';

export interface StatsParts {
  readonly provider: StatsProvider;
  readonly disks: DiskFacts;
  /** The cgroup of all pods; undefined if pods have no cgroups of their own. */
  readonly podsGroup: string | undefined;
  readonly endpoints: ReturnType<typeof statsEndpoints>;
}

/** Returns where the cgroups of pods are in the cgroup file system. */
export interface PodPaths {
  of(pod: Pod): string;
  readonly top: readonly string[];
}

export interface CreateStatsParts
  extends Omit<DiskFactsOptions, 'fs' | 'runtime' | 'volumes'>,
    Pick<StatsProviderOptions, 'random' | 'nodeName' | 'runtimePods'> {
  /** The interval between two samples of containers' cgroups; undefined means 10 to 15 s, as in upstream. */
  readonly housekeeping: StatsProviderOptions['housekeeping'] | undefined;
  /** The sources; undefined on a platform where nothing is measured. */
  readonly sources: NodeStatsSources | undefined;
  readonly volumes: { measurable(uid: PodUid): ReturnType<DiskFactsOptions['volumes']> };
  readonly store: { byUid(uid: PodUid): Pod | undefined };
  /** The cgroup paths; undefined if pods have no cgroups of their own. */
  readonly podPaths: PodPaths | undefined;
}

const defaultHousekeeping: StatsProviderOptions['housekeeping'] = { periodMs: 10_000, longestMs: 15_000 };

/** Creates the statistics of the node and its pods, and their endpoints; undefined if nothing is measured. */
export function createStats({ sources, volumes, podPaths, store, ...parts }: CreateStatsParts): StatsParts | undefined {
  if (sources === undefined) return undefined;
  const { clock, random, log, nodeName, runtimePods } = parts;
  const { fs, runtime, machine } = sources;
  const disks = new DiskFacts({ ...parts, fs, runtime, volumes: (uid) => volumes.measurable(podUid(uid)) });
  const provider = new StatsProvider({
    clock,
    random,
    log,
    sources,
    disks,
    nodeName,
    runtimePods,
    place: (uid) => placeOf(store.byUid(podUid(uid)), podPaths),
    housekeeping: parts.housekeeping ?? defaultHousekeeping,
    podsGroups: podPaths?.top ?? [],
  });
  const endpoints = statsEndpoints({ stats: provider, machine, nowMs: () => clock.nowMs(), gzip: gzipText, log });
  return { provider, disks, podsGroup: podPaths?.top[0], endpoints };
}

/**
 * Returns where the cgroups of a pod are. If pods have no cgroups of their own, containers are at the top. Otherwise a
 * pod that the agent does not know (`pod` undefined) has no known place.
 */
export function placeOf(pod: Pod | undefined, podPaths: PodPaths | undefined): PodPlace | undefined {
  if (podPaths === undefined) return { path: undefined, parent: '/' };
  if (pod === undefined) return undefined;
  const path = podPaths.of(pod);
  return { path, parent: path };
}
