import type { Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { CriClient } from '../../../cri/cri-client.ts';
import { detectCgroupLayout } from '../../adapters/cgroups/linux-cgroups-fs.ts';
import { readMountInfo } from '../../adapters/files/linux-mountinfo.ts';
import { criDiskStats } from '../../adapters/stats/cri-disk-stats.ts';
import { linuxFsStats } from '../../adapters/stats/linux-fs-stats.ts';
import { LinuxGroupStats } from '../../adapters/stats/linux-group-stats.ts';
import { linuxMemoryEvents } from '../../adapters/stats/linux-memory-events.ts';
import { groupOfProcess, processNamed, readMachineIdentity } from '../../adapters/stats/machine-identity.ts';
import type { NodeStatsSources } from '../../ports/stats.ts';

/**
 * Opens the statistics of this machine; undefined if its cgroups cannot be read, without which pods could not run
 * either.
 */
export async function openStats(given: {
  clock: Clock;
  client: CriClient;
  imageClient: CriClient;
  /** The agent's cgroup; empty means the one in which the process runs. */
  agentGroup: string;
  runtimeGroup: string;
  log: Logger;
}): Promise<NodeStatsSources | undefined> {
  const { clock, client, imageClient, agentGroup, runtimeGroup, log } = given;
  const nowMs = (): number => clock.nowMs();
  try {
    const layout = detectCgroupLayout(await readMountInfo());
    const memoryEvents = linuxMemoryEvents(layout);
    return {
      groups: new LinuxGroupStats({ layout, nowMs }),
      ...(memoryEvents !== undefined && { memoryEvents }),
      fs: linuxFsStats(nowMs),
      runtime: criDiskStats(client.runtime, imageClient.images),
      machine: readMachineIdentity(),
      agentGroup: agentGroup === '' ? groupOfProcess('self') : agentGroup,
      runtimeGroup: runtimeGroup === '' ? groupOfRuntime() : runtimeGroup,
    };
  } catch (error) {
    log.error('the statistics of this machine cannot be read', { error: errorMessage(error) });
    return undefined;
  }
}

function groupOfRuntime(): string | undefined {
  const pid = processNamed('containerd');
  return pid === undefined ? undefined : groupOfProcess(pid);
}
