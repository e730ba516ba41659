import type { ApiClient } from '../../../api/client/api-client.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Tracer } from '../../../base/tracer.ts';
import type { AccessSource } from '../../../client/cluster-access.ts';
import { HttpApiClient } from '../../../client/http-api-client.ts';
import { HttpTransport } from '../../../client/http-transport.ts';
import type { RequestTerms } from '../../../client/http-transport.ts';
import { openGate, RequestBudget } from '../../../client/request-budget.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import { KUBERNETES_VERSION } from '../flags/flags-version.ts';

/** The settings of the API client in the configuration. */
export type ClusterTerms = Pick<
  KubeletConfig['node'],
  'apiQps' | 'apiBurst' | 'eventQps' | 'eventBurst' | 'statusUpdatePeriodMs' | 'leaseDurationMs'
>;

export type OpenedCluster = ClusterApi & Required<Pick<ClusterApi, 'close'>>;

/** The default of client-go, for 0 in the configuration. */
const DEFAULT_QPS = 5;
const DEFAULT_BURST = 10;
/**
 * The maximum number of waiting requests, far more than the pods of a node. Events wait in their own queue, where they
 * are merged.
 */
const WAITING_LIMIT = 10_000;
const EVENTS_WAITING_LIMIT = 1_000;

/** Opens clients of the API server, one per class of requests, over the same connections. Nothing is sent yet. */
export function openCluster(
  access: AccessSource,
  terms: ClusterTerms,
  { clock, random, tracer }: { readonly clock: Clock; readonly random: Random; readonly tracer?: Tracer | undefined },
): OpenedCluster {
  // The first word names the writer of a field (`managedFields`). It is the same as for upstream's kubelet, so that a
  // node can change from one agent to the other.
  const userAgent = `kubelet/${KUBERNETES_VERSION} (linux/${process.arch === 'x64' ? 'amd64' : process.arch}) kubelet-ts`;
  const transport = new HttpTransport(access, { userAgent, clock, random, tracer });
  return {
    ...createClusterClients(terms, clock, (own) => new HttpApiClient(transport.withTerms(own))),
    outage: () => transport.problem(),
    observe: (listener) => transport.observe(listener),
    reconnect: () => transport.reconnect(),
    close: () => transport.close(),
  };
}

/**
 * Creates the clients with their rate limits. `kubeAPIQPS: 0` means client-go's default, as upstream. `eventRecordQPS:
 * 0` means no limit, as its documentation says.
 */
export function createClusterClients(
  terms: ClusterTerms,
  clock: Clock,
  open: (terms: Partial<RequestTerms>) => ApiClient,
): Pick<ClusterApi, 'heartbeat' | 'status' | 'objects' | 'events'> {
  const budget = new RequestBudget({
    clock,
    qps: terms.apiQps || DEFAULT_QPS,
    burst: terms.apiBurst || DEFAULT_BURST,
    waitingLimit: WAITING_LIMIT,
  });
  const events =
    terms.eventQps === 0
      ? openGate
      : new RequestBudget({
          clock,
          qps: terms.eventQps,
          burst: terms.eventBurst || DEFAULT_BURST,
          waitingLimit: EVENTS_WAITING_LIMIT,
        }).gate(0);
  return {
    // An API server that takes 10 s per call is slow, but available (upstream gives up after the update period). Two
    // such calls fit into the duration of a lease.
    heartbeat: open({
      limitMs: Math.min(Math.max(terms.statusUpdatePeriodMs, terms.leaseDurationMs / 2), terms.leaseDurationMs),
    }),
    status: open({ gate: budget.gate(0) }),
    objects: open({ gate: budget.gate(1) }),
    events: open({ gate: events }),
  };
}
