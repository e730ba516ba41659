import { createContainerLogs } from '../../features/container-logs/create-container-logs.ts';
import { AttachHistory } from '../../features/server/attach-history.ts';
import type { FeatureParts, Given } from './kubelet-parts.ts';

/** The logs of containers, and which of them clients have read before they attach. */
export function composeLogs(
  parts: Given<'cache'>,
): Pick<FeatureParts, 'noteStarted' | 'logRotation' | 'logReader' | 'logCleanup' | 'attachHistory'> {
  const { settings, platform, cache } = parts;
  const { clock, random, log, files, logFiles, runtime } = platform;
  const attachHistory = new AttachHistory();
  const logs = createContainerLogs({
    config: settings.config.containerLogs,
    runtime,
    files,
    logFiles,
    cache,
    onWholeRead: ({ container, end }) => attachHistory.noteRead(container.id, { end, atMs: clock.nowMs() }),
    clock,
    random,
    log,
  });
  return { attachHistory, ...logs };
}
