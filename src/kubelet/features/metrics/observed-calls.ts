import type { Clock } from '../../../base/clock.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import { noteCsiCall } from './storage.ts';
import type { CsiAnswer, CsiDrivers, CsiNode } from '../../ports/csi-drivers.ts';
import type { Processes } from '../../ports/processes.ts';
import { timed } from './timed.ts';

const methods = {
  getInfo: 'NodeGetInfo',
  getCapabilities: 'NodeGetCapabilities',
  stage: 'NodeStageVolume',
  unstage: 'NodeUnstageVolume',
  publish: 'NodePublishVolume',
  unpublish: 'NodeUnpublishVolume',
  expand: 'NodeExpandVolume',
  stats: 'NodeGetVolumeStats',
} as const satisfies Record<keyof CsiNode, string>;

/** Wraps the drivers, and counts each call. */
export function observedDrivers(drivers: CsiDrivers, clock: Clock, metrics: AgentMetrics): CsiDrivers {
  return {
    node: (endpoint, driver) => {
      const node = drivers.node(endpoint, driver);
      const observed = async <T>(call: keyof CsiNode, work: () => Promise<CsiAnswer<T>>): Promise<CsiAnswer<T>> => {
        const startMs = clock.monotonicMs();
        const answer = await work();
        noteCsiCall(metrics, {
          driver,
          method: methods[call],
          code: answer.ok ? 'OK' : answer.code,
          durationMs: clock.monotonicMs() - startMs,
        });
        return answer;
      };
      return {
        getInfo: (timeoutMs) => observed('getInfo', () => node.getInfo(timeoutMs)),
        getCapabilities: (timeoutMs) => observed('getCapabilities', () => node.getCapabilities(timeoutMs)),
        stage: (request, timeoutMs) => observed('stage', () => node.stage(request, timeoutMs)),
        unstage: (request, timeoutMs) => observed('unstage', () => node.unstage(request, timeoutMs)),
        publish: (request, timeoutMs) => observed('publish', () => node.publish(request, timeoutMs)),
        unpublish: (request, timeoutMs) => observed('unpublish', () => node.unpublish(request, timeoutMs)),
        expand: (request, timeoutMs) => observed('expand', () => node.expand(request, timeoutMs)),
        stats: (request, timeoutMs) => observed('stats', () => node.stats(request, timeoutMs)),
      };
    },
  };
}

/** Wraps the processes of credential provider plugins, and counts each run under the name of the program. */
export function observedCredentialPlugins(processes: Processes, clock: Clock, { main }: AgentMetrics): Processes {
  return {
    run: async (program, args, options) => {
      const labels = { plugin_name: program.slice(program.lastIndexOf('/') + 1) };
      let succeeded = false;
      const run = async (): ReturnType<Processes['run']> => {
        const result = await processes.run(program, args, options);
        succeeded = result.exitCode === 0;
        return result;
      };
      return timed(clock, run, (durationMs) => {
        main.observe('kubelet_credential_provider_plugin_duration', labels, durationMs / 1000);
        if (!succeeded) main.count('kubelet_credential_provider_plugin_errors_total', labels);
      });
    },
  };
}
