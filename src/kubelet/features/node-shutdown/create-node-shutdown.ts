import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import { givenPriority, standalonePriority } from '../../../api/pod-priority.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { LoginManager } from '../../ports/login-manager.ts';
import { LogindWatch } from './logind-watch.ts';
import { computePriorityGraces } from './priority-groups.ts';
import type { ShutdownManagerParts } from './shutdown-manager.ts';
import { ShutdownManager } from './shutdown-manager.ts';
import type { ShutdownTimes } from './shutdown-record.ts';
import { noShutdown, ShutdownRecord } from './shutdown-record.ts';
import type { ShutdownState } from './shutdown-state.ts';

export interface NodeShutdown {
  start(): Promise<void>;
  stop(): void;
  /** Ends all pods in order, because the agent's process is asked to terminate and the machine will shut down. */
  shutDown(): Promise<void>;
  times(): ShutdownTimes;
  /** Returns why a shutdown of the machine would not wait for its pods, as a text for users. */
  problems(): { message: string; blocking: boolean }[];
}

export interface CreateNodeShutdownParts
  extends Pick<ShutdownManagerParts, 'pods' | 'workers' | 'whenStatusesSent' | 'recorder' | 'statusChanged'> {
  readonly config: Pick<KubeletConfig, 'shutdown' | 'gates'>;
  /** Whether the node runs without an API server. */
  readonly standalone: boolean;
  readonly state: ShutdownState;
  readonly rootDir: string;
  readonly files: HostFiles;
  /** The login manager; absent if nothing announces a shutdown of the machine. */
  readonly loginManager: LoginManager | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Creates graceful node shutdown as this node is configured. Without grace periods it does nothing. */
export function createNodeShutdown(parts: CreateNodeShutdownParts): NodeShutdown {
  const { config, state, rootDir, files, loginManager, clock, log } = parts;
  const graces = computePriorityGraces(config.shutdown, config.gates);
  if (graces.length === 0) return inactive;
  const manager = new ShutdownManager({
    graces,
    priorityOf: parts.standalone ? standalonePriority : givenPriority,
    state,
    record: new ShutdownRecord({ rootDir, files, log }),
    pods: parts.pods,
    workers: parts.workers,
    whenStatusesSent: parts.whenStatusesSent,
    recorder: parts.recorder,
    statusChanged: parts.statusChanged,
    clock,
    log,
  });
  const watch =
    loginManager === undefined
      ? undefined
      : new LogindWatch({
          loginManager,
          wantedMs: manager.totalMs,
          begin: (availableMs) => manager.begin(availableMs),
          cancel: () => manager.cancel(),
          clock,
          log,
        });
  return {
    start: async () => {
      await manager.start();
      await watch?.start();
    },
    stop: () => {
      manager.stop();
      watch?.stop();
    },
    shutDown: () => manager.begin(),
    times: () => manager.times,
    problems: () => problemsOf(watch?.problem()),
  };
}

const inactive: NodeShutdown = {
  start: () => Promise.resolve(),
  stop: () => undefined,
  shutDown: () => Promise.resolve(),
  times: () => noShutdown,
  problems: () => [],
};

function problemsOf(problem: string | undefined): { message: string; blocking: boolean }[] {
  if (problem === undefined) return [];
  const message = `a shutdown of this machine would not wait for its pods: ${problem}`;
  return [{ message, blocking: false }];
}
