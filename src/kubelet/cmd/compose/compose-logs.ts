import path from 'node:path/posix';
import { ContainerGc } from '../../features/container-gc/container-gc.ts';
import type { PodFate } from '../../features/container-gc/gc-select.ts';
import { LogCleanup } from '../../features/container-logs/log-cleanup.ts';
import { LogLinks } from '../../features/container-logs/log-links.ts';
import { LogRotation, type WritingContainer } from '../../features/container-logs/log-rotation.ts';
import { ContainerLogReader } from '../../features/container-logs/read-logs.ts';
import { createFateOf } from '../../loop/pod-fate.ts';
import type { PodWorkers } from '../../features/pod-workers/pod-workers.ts';
import type { Actors, FeatureContext } from './compose-context.ts';

/** `/var/log/containers` beside `/var/log/pods`; an agent with log folders of its own keeps its links there too. */
function linksDir({ settings }: FeatureContext): string {
  return path.join(path.dirname(settings.config.containerLogs.podLogsDir), 'containers');
}

export function composeLogs(context: FeatureContext): Pick<Actors, 'logLinks' | 'logRotation' | 'logReader'> {
  const { settings, world, knowledge } = context;
  const { clock, random, log, files, logFiles, runtime } = world;
  const { podLogsDir, maxSizeBytes, maxFiles, maxWorkers, monitorPeriodMs } = settings.config.containerLogs;
  const { cache } = knowledge;
  function* running(): Generator<WritingContainer> {
    for (const pod of cache.all())
      for (const { id, logPath, state } of pod.containers) if (state === 'running') yield { id, logPath };
  }
  return {
    logLinks: new LogLinks({ files, log, directory: linksDir(context) }),
    logRotation: new LogRotation({
      runtime,
      files,
      running,
      policy: { maxSizeBytes, maxFiles },
      intervalMs: monitorPeriodMs,
      workers: maxWorkers,
      world: { clock, random, log },
    }),
    logReader: new ContainerLogReader({ logFiles, files, states: cache, podLogsDir, clock, log }),
  };
}

export function composeContainerGc(
  context: FeatureContext,
  given: { workers: () => PodWorkers; sourcesReady: () => boolean },
): ContainerGc {
  const { settings, world, knowledge } = context;
  const { clock, random, log, files, runtime } = world;
  const fateOf: (uid: string) => PodFate = createFateOf(given.workers);
  return new ContainerGc({
    runtime,
    policy: settings.containerGc,
    fateOf,
    sourcesReady: given.sourcesReady,
    logs: new LogCleanup({
      files,
      log,
      podLogsDir: settings.config.containerLogs.podLogsDir,
      linksDir: linksDir(context),
    }),
    cache: knowledge.cache,
    events: knowledge.recorder,
    world: { clock, random, log },
  });
}
