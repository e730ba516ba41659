import type { Clock } from '../../../base/clock.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { ProcessGroups } from '../../ports/node-settings.ts';

export interface SystemGroupsParts {
  readonly groups: ProcessGroups;
  /** The cgroup of the agent itself; if it is empty, the agent stays in the cgroup where it was started. */
  readonly kubeletGroup: string;
  /** The cgroup for the processes of the root cgroup; if it is empty, they stay there. */
  readonly systemGroup: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The interval of passes (upstream: cm/container_manager_linux.go Start). */
const ENSURE_PERIOD_MS = 60_000;
/** The maximum number of passes. Processes may fork while they are moved, so several passes may be necessary. */
const MOST_ROUNDS = 10;

/**
 * Moves the agent, and all processes of the node outside of cgroups, to the configured cgroups (upstream:
 * container_manager_linux.go setupNode). Kernel threads and process 1 stay in the root cgroup.
 */
export class SystemGroups {
  readonly #parts: SystemGroupsParts;
  readonly #loop: Loop;
  #problem: string | undefined;

  constructor(parts: SystemGroupsParts) {
    this.#parts = parts;
    const { clock, random, log } = parts;
    this.#loop = createLoop({
      name: 'system groups',
      clock,
      random,
      log,
      periodMs: ENSURE_PERIOD_MS,
      pass: () => this.#ensure(),
    });
  }

  /** Rejects with Invalid for cgroups that cannot exist. A process that cannot be moved is logged and tried again. */
  async start(): Promise<void> {
    const { kubeletGroup, systemGroup } = this.#parts;
    if (/^\/+$/.test(systemGroup)) throw new KubeletError('Invalid', 'system container cannot be root ("/")');
    if (kubeletGroup === '' && systemGroup === '') return;
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  async #ensure(): Promise<void> {
    const problems = [...(await this.#ensureKubelet()), ...(await this.#ensureSystem())];
    const problem = problems.length === 0 ? undefined : problems.join('; ');
    const { log, kubeletGroup, systemGroup } = this.#parts;
    if (problem !== undefined && problem !== this.#problem)
      log.warn('processes cannot be moved to their cgroups; retrying', { kubeletGroup, systemGroup, error: problem });
    this.#problem = problem;
  }

  async #ensureKubelet(): Promise<string[]> {
    const { groups, kubeletGroup } = this.#parts;
    if (kubeletGroup === '') return [];
    try {
      if (!(await groups.isIn(groups.ownPid, kubeletGroup))) await groups.move(groups.ownPid, kubeletGroup);
      return [];
    } catch (error) {
      return [`failed to move PID ${groups.ownPid} to ${kubeletGroup}: ${errorMessage(error)}`];
    }
  }

  async #ensureSystem(): Promise<string[]> {
    const { groups, systemGroup } = this.#parts;
    if (systemGroup === '') return [];
    let problem: string | undefined;
    for (let round = 0; round < MOST_ROUNDS; round++) {
      try {
        const pids = await groups.rootProcesses();
        if (pids.length === 0) return [];
        problem = await this.#moveAll(pids);
      } catch (error) {
        problem = `failed to list PIDs for root: ${errorMessage(error)}`;
      }
    }
    return problem === undefined ? [] : [problem];
  }

  async #moveAll(pids: readonly number[]): Promise<string | undefined> {
    const { groups, systemGroup } = this.#parts;
    let problem: string | undefined;
    for (const pid of pids) {
      try {
        await groups.move(pid, systemGroup);
      } catch (error) {
        problem = `failed to move PID ${pid} into the system container "${systemGroup}": ${errorMessage(error)}`;
      }
    }
    return problem;
  }
}
