import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { podQos } from '../../../api/qos.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { CriClient } from '../../../cri/cri-client.ts';
import { detectCgroupLayout } from '../../adapters/cgroups/linux-cgroups-fs.ts';
import { systemdPath } from '../../adapters/cgroups/linux-cgroup-names.ts';
import { readMountInfo } from '../../adapters/files/linux-mountinfo.ts';
import { criDiskStats } from '../../adapters/stats/cri-disk-stats.ts';
import { linuxFsStats } from '../../adapters/stats/linux-fs-stats.ts';
import { LinuxGroupStats } from '../../adapters/stats/linux-group-stats.ts';
import { groupOfProcess, processNamed, readMachineIdentity } from '../../adapters/stats/machine-identity.ts';
import { podCgroupName, qosGroups } from '../../features/container-manager/qos-tree.ts';
import { podLogDirectory } from '../../features/container-logs/log-layout.ts';
import { DiskFacts } from '../../features/stats/disk-facts.ts';
import type { PodPlace } from '../../features/stats/pod-groups.ts';
import { statsEndpoints, type StatsEndpointParts } from '../../features/stats/stats-endpoints.ts';
import { StatsProvider } from '../../features/stats/stats-provider.ts';
import { podUid } from '../../model/ids.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';
import type { LoopContext } from './compose-context.ts';

/** Statistics of this machine; undefined where its cgroups cannot be read, without which pods could not run either. */
export async function openStats(given: {
  clock: Clock;
  client: CriClient;
  imageClient: CriClient;
  agentGroup: string;
  log: Logger;
}): Promise<NodeStatsSources | undefined> {
  const { clock, client, imageClient, agentGroup, log } = given;
  const nowMs = (): number => clock.nowMs();
  try {
    const runtimePid = processNamed('containerd');
    return {
      groups: new LinuxGroupStats({ layout: detectCgroupLayout(await readMountInfo()), nowMs }),
      fs: linuxFsStats(nowMs),
      runtime: criDiskStats(client.runtime, imageClient.images),
      machine: readMachineIdentity(),
      agentGroup: agentGroup === '' ? groupOfProcess('self') : agentGroup,
      runtimeGroup: runtimePid === undefined ? undefined : groupOfProcess(runtimePid),
    };
  } catch (error) {
    log.error('the statistics of this machine cannot be read', { error: errorMessage(error) });
    return undefined;
  }
}

/** The fastest level costs a quarter of the default one, for a tenth more bytes. */
export async function gzipText(pieces: AsyncIterable<string> | Iterable<string>): Promise<Uint8Array<ArrayBuffer>> {
  const packed: Buffer[] = [];
  await pipeline(Readable.from(pieces), createGzip({ level: 1 }), async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) packed.push(chunk);
  });
  return new Uint8Array(Buffer.concat(packed));
}

export interface StatsParts {
  provider: StatsProvider;
  disks: DiskFacts;
  endpoints: ReturnType<typeof statsEndpoints>;
}

/** undefined in a world where nothing is measured. */
export function composeStats(context: LoopContext): StatsParts | undefined {
  const { settings, world, knowledge, actors } = context;
  const { clock, random, log, stats: sources, files } = world;
  if (sources === undefined) return undefined;
  const disks = new DiskFacts({
    clock,
    log,
    fs: sources.fs,
    runtime: sources.runtime,
    rootDir: settings.rootDir,
    logFolder: (pod) => podLogDirectory(settings.config.containerLogs.podLogsDir, pod),
    list: (path) => files.list(path),
    volumes: (uid) => actors.volumes.measurable(podUid(uid)),
    onMeasured: (source, durationMs) =>
      knowledge.observation.metrics.main.observe(
        'kubelet_volume_metric_collection_duration_seconds',
        { metric_source: source },
        durationMs / 1000,
      ),
    volumePeriodMs: settings.config.volumes.statsPeriodMs,
  });
  const { cgroups: config } = settings.config;
  const groups = qosGroups({ cgroupsPerQOS: config.perQos, cgroupRoot: config.root });
  const kernelPath = (name: string): string => (world.cgroups.driver === 'systemd' ? systemdPath(name) : name);
  const place = (uid: string): PodPlace | undefined => {
    if (groups === undefined) return { path: undefined, parent: '/' };
    const pod = knowledge.store.byUid(podUid(uid));
    if (pod === undefined) return undefined;
    const path = kernelPath(podCgroupName(groups, podQos(pod), podUid(uid)));
    return { path, parent: path };
  };
  const provider = new StatsProvider({
    clock,
    random,
    log,
    sources,
    disks,
    nodeName: world.machine.nodeName,
    runtimePods: () => knowledge.cache.all(),
    place,
    podsGroups: groups === undefined ? [] : [groups.guaranteed, groups.bestEffort, groups.burstable].map(kernelPath),
  });
  const parts: StatsEndpointParts = {
    stats: provider,
    machine: sources.machine,
    nowMs: () => clock.nowMs(),
    gzip: gzipText,
    log,
  };
  return { provider, disks, endpoints: statsEndpoints(parts) };
}
