import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import { readKubeconfig } from '../../../client/kubeconfig.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { AgentFlags } from '../flags/flags-values-agent.ts';

/** Undefined without `--kubeconfig`: the node is one of its own. Throws `Invalid` or `NotFound` that names the file. */
export function openCluster(flags: Pick<AgentFlags, 'kubeconfig'>): ClusterApi | undefined {
  if (flags.kubeconfig === '') return undefined;
  const transport = new HttpTransport(readKubeconfig(flags.kubeconfig), { userAgent: 'kubelet-ts' });
  const client = new HttpApiClient(transport);
  return { heartbeat: client, status: client, objects: client, events: client, outage: () => transport.problem() };
}
