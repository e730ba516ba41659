import { kernelPaths } from '../../adapters/cgroups/linux-cgroup-names.ts';
import { podCgroupPaths } from '../../features/container-manager/pod-cgroup-paths.ts';
import { podLogDirectory } from '../../features/container-logs/log-layout.ts';
import { observeVolumeMeasurements } from '../../features/metrics/disk-usage.ts';
import type { StatsParts } from '../../features/stats/create-stats.ts';
import { createStats } from '../../features/stats/create-stats.ts';
import type { Given } from './kubelet-parts.ts';

/** Creates the statistics; undefined on a platform where nothing is measured. */
export function composeStats(parts: Given<'cache' | 'store' | 'volumes'>): StatsParts | undefined {
  const { settings, platform, cache, store, volumes } = parts;
  const { clock, random, log, files } = platform;
  const { config, rootDir } = settings;
  return createStats({
    sources: platform.stats,
    rootDir,
    nodeName: platform.machine.nodeName,
    runtimePods: () => cache.all(),
    store,
    volumes,
    podPaths: podCgroupPaths(config.cgroups, kernelPaths(platform.cgroups.driver)),
    logFolder: (pod) => podLogDirectory(config.containerLogs.podLogsDir, pod),
    list: (path) => files.list(path),
    onMeasured: observeVolumeMeasurements(parts.observation.metrics),
    housekeeping: settings.housekeeping,
    volumePeriodMs: config.volumes.statsPeriodMs,
    clock,
    random,
    log,
  });
}
