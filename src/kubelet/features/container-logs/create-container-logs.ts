import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { LogFiles } from '../../ports/log-files.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { LogCleanup } from './log-cleanup.ts';
import { containerLinksDir } from './log-layout.ts';
import { LogLinks } from './log-links.ts';
import type { WritingContainer } from './log-rotation.ts';
import { LogRotation } from './log-rotation.ts';
import type { LogReaderParts } from './read-logs.ts';
import { ContainerLogReader } from './read-logs.ts';

export interface CreateContainerLogsParts {
  readonly config: KubeletConfig['containerLogs'];
  readonly runtime: ContainerRuntime;
  readonly files: HostFiles;
  readonly logFiles: LogFiles;
  readonly cache: LogReaderParts['states'] & { all(): Iterable<PodRuntimeStatus> };
  readonly onWholeRead: LogReaderParts['onWholeRead'];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Creates the parts that read, rotate and remove the logs of containers and their links. */
export function createContainerLogs(parts: CreateContainerLogsParts): {
  /** Must be called when a container was started: its log gets a link, and is rotated from now on. */
  noteStarted: (pod: Pod, status: ContainerRuntimeStatus) => void;
  logRotation: LogRotation;
  logReader: ContainerLogReader;
  logCleanup: LogCleanup;
} {
  const { runtime, files, logFiles, cache, onWholeRead, clock, random, log } = parts;
  const { podLogsDir, maxSizeBytes, maxFiles, maxWorkers, monitorPeriodMs } = parts.config;
  const linksDir = containerLinksDir(podLogsDir);
  function* running(): Generator<WritingContainer> {
    for (const pod of cache.all())
      for (const { id, logPath, state } of pod.containers) if (state === 'running') yield { id, logPath };
  }
  const logLinks = new LogLinks({ files, log, directory: linksDir });
  const logRotation = new LogRotation({
    runtime,
    files,
    running,
    policy: { maxSizeBytes, maxFiles },
    intervalMs: monitorPeriodMs,
    workers: maxWorkers,
    world: { clock, random, log },
  });
  return {
    noteStarted: ({ metadata }, status) => {
      logRotation.noteStarted(status.id);
      void logLinks.link(metadata, status);
    },
    logRotation,
    logReader: new ContainerLogReader({ logFiles, files, states: cache, podLogsDir, clock, log, onWholeRead }),
    logCleanup: new LogCleanup({ files, log, podLogsDir, linksDir }),
  };
}
