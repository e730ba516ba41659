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

/** What the configuration says of the API client. */
export type ClusterTerms = Pick<
  KubeletConfig['node'],
  'apiQps' | 'apiBurst' | 'eventQps' | 'eventBurst' | 'statusUpdatePeriodMs' | 'leaseDurationMs'
>;

export type OpenedCluster = ClusterApi & Required<Pick<ClusterApi, 'close'>>;

/** Of client-go, where the configuration says 0. */
const DEFAULT_QPS = 5;
const DEFAULT_BURST = 10;
/**
 * Requests that may wait for their turn: far more than a node has pods. Events wait elsewhere, where they are folded.
 */
const WAITING_LIMIT = 10_000;
const EVENTS_WAITING_LIMIT = 1_000;

/**
 * Clients of the API server that `access` leads to, one per class of requests, over the same connections. Sends nothing
 * yet.
 */
export function openCluster(
  access: AccessSource,
  terms: ClusterTerms,
  { clock, random, tracer }: { readonly clock: Clock; readonly random: Random; readonly tracer?: Tracer | undefined },
): OpenedCluster {
  // The first word is who wrote a field (`managedFields`): the same as of upstream's kubelet, so that nodes may change
  // from one to the other.
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
 * Who waits for whom. `kubeAPIQPS: 0` is client-go's default, as upstream; `eventRecordQPS: 0` is no limit, as its
 * documentation says.
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
    // An API server that takes 10 s for each call is slow, not away (upstream gives up after the update period); two
    // fit into the life of a lease.
    heartbeat: open({
      limitMs: Math.min(Math.max(terms.statusUpdatePeriodMs, terms.leaseDurationMs / 2), terms.leaseDurationMs),
    }),
    status: open({ gate: budget.gate(0) }),
    objects: open({ gate: budget.gate(1) }),
    events: open({ gate: events }),
  };
}
