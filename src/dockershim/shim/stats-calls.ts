import { KubeletError } from '../../base/errors.ts';
import type { CallOptions, RuntimeServiceApi } from '../../cri/cri-api.ts';
import type { PodSandboxFilter, PodSandboxStats } from '../../cri/generated/cri-v1.ts';
import {
  ContainerStatsRequest,
  ListContainerStatsRequest,
  ListPodSandboxStatsRequest,
  PodSandboxStatsRequest,
} from '../../cri/generated/cri-v1.ts';
import { metricDescriptors, podMetrics } from '../plan/pod-metrics.ts';
import type { ContainerStatsReader } from './container-stats.ts';
import type { Containers } from './containers.ts';
import type { Images } from './images.ts';
import { needId } from './need-id.ts';
import type { PodStatsReader } from './pod-stats.ts';
import { bySandbox } from './pod-stats.ts';
import type { Sandboxes } from './sandboxes.ts';

interface StatsCallsParts {
  readonly sandboxes: Pick<Sandboxes, 'list'>;
  readonly containers: Pick<Containers, 'list'>;
  readonly images: Pick<Images, 'filesystem'>;
  readonly stats: ContainerStatsReader;
  readonly podStats: PodStatsReader;
}

type StatsCalls = Pick<
  RuntimeServiceApi,
  | 'containerStats'
  | 'listContainerStats'
  | 'podSandboxStats'
  | 'listPodSandboxStats'
  | 'listMetricDescriptors'
  | 'listPodSandboxMetrics'
>;

/** The calls of the CRI that report the usage of containers and pods. */
export function statsCalls({ sandboxes, containers, images, stats, podStats }: StatsCallsParts): StatsCalls {
  const mountpoint = async ({ signal }: CallOptions): Promise<string> =>
    (await images.filesystem(signal)).fsId?.mountpoint ?? '';
  const readPods = async (filter: PodSandboxFilter | undefined, options: CallOptions): Promise<PodSandboxStats[]> => {
    const { signal } = options;
    const listed = await sandboxes.list(filter, signal);
    const podSandboxId = filter?.id ?? '';
    const running = await containers.list({ id: '', state: undefined, podSandboxId, labelSelector: {} }, signal);
    const used = bySandbox(running, await stats.readAll(running, await mountpoint(options), signal));
    const read = await Promise.all(listed.map((each) => podStats.read(each, used.get(each.id) ?? [], signal)));
    return read.filter((each) => each !== undefined);
  };
  const readAllPods = async (
    filter: PodSandboxFilter | undefined,
    options: CallOptions,
  ): Promise<PodSandboxStats[]> => {
    const read = await readPods(filter, options);
    if (filter === undefined) podStats.forgetAllBut(new Set(read.map(({ attributes }) => attributes?.id ?? '')));
    return read;
  };
  return {
    containerStats: async (request, options = {}) => {
      const id = needId(ContainerStatsRequest.fromPartial(request).containerId);
      const filter = { id, state: undefined, podSandboxId: '', labelSelector: {} };
      const [container] = await containers.list(filter, options.signal);
      if (container === undefined) throw new KubeletError('NotFound', `No such container: ${id}`);
      const read = await stats.read(container, await mountpoint(options), options.signal);
      if (read === undefined) throw new KubeletError('NotFound', `No such container: ${id}`);
      return { stats: read };
    },
    listContainerStats: async (request, options = {}) => {
      const filter = ListContainerStatsRequest.fromPartial(request).filter;
      const listed = await containers.list(filter && { ...filter, state: undefined }, options.signal);
      const read = await stats.readAll(listed, await mountpoint(options), options.signal);
      if (filter === undefined) stats.forgetAllBut(new Set(listed.map(({ id }) => id)));
      return { stats: [...read] };
    },
    podSandboxStats: async (request, options = {}) => {
      const id = needId(PodSandboxStatsRequest.fromPartial(request).podSandboxId);
      const [read] = await readPods({ id, state: undefined, labelSelector: {} }, options);
      if (read === undefined) throw new KubeletError('NotFound', `the sandbox ${id} does not run`);
      return { stats: read };
    },
    listPodSandboxStats: async (request, options = {}) => {
      const { filter } = ListPodSandboxStatsRequest.fromPartial(request);
      return { stats: await readAllPods(filter && { ...filter, state: undefined }, options) };
    },
    listMetricDescriptors: async () => ({ descriptors: [...metricDescriptors] }),
    listPodSandboxMetrics: async (_request, options = {}) => ({
      podMetrics: (await readAllPods(undefined, options)).map(podMetrics),
    }),
  };
}
