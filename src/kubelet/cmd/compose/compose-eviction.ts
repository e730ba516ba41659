import type { EvictionParts } from '../../features/eviction/create-eviction.ts';
import { createEviction } from '../../features/eviction/create-eviction.ts';
import { observedEvictions } from '../../features/metrics/evictions.ts';
import type { StatsParts } from '../../features/stats/create-stats.ts';
import { measureDiskUse } from '../../features/stats/pod-disk-use.ts';
import type { KubeletParts } from './kubelet-parts.ts';

/** Creates eviction; undefined on a platform where nothing is measured. */
export function composeEviction(parts: KubeletParts, stats: StatsParts | undefined): EvictionParts | undefined {
  const { settings, platform, records, states, admission, workers, containerGc, imageGc, recorder } = parts;
  const { clock, random, log } = platform;
  if (stats === undefined || platform.stats === undefined) return undefined;
  const { provider, disks, podsGroup } = stats;
  const eviction = createEviction({
    config: settings.config,
    rootDir: settings.rootDir,
    sources: platform.stats,
    podsGroup,
    runningPods: () => provider.measuredPods(),
    diskUse: (uids) => measureDiskUse(provider, disks, uids),
    pressure: records.pressure,
    record: records.evicted,
    activePods: () => admission.activePods(),
    isReady: parts.sourcesReady,
    isCleanedUp: (uid) => states.hasFinished(uid),
    containerGc,
    imageGc,
    pod: (uid) => parts.directory.byUid(uid),
    saveEvicted: () => records.saveEvicted(),
    kill: (uid, graceMs) => workers.kill(uid, { cause: 'evicted', graceMs }),
    events: recorder,
    ...observedEvictions(parts.observation.metrics),
    clock,
    random,
    log,
  });
  states.onChange((uid) => eviction.manager.podChanged(uid));
  imageGc.nameConsumersBy(() => eviction.diskConsumers());
  records.pressure.onChange(() => parts.node.statusChanges.notify());
  return eviction;
}
