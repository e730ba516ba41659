import type { AddressInfo } from 'node:net';
import { snapshotEndpoint } from './endpoints/snapshot.ts';
import { noBackends } from '../model/api-backends.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { createAggregation } from './aggregation/aggregation.ts';
import { AuditLog } from './audit/audit-log.ts';
import { parseAuditPolicy } from './audit/audit-policy.ts';
import { createConnectHandler } from './connect/connect-handler.ts';
import { discoveryEndpoint } from './discovery/discovery-endpoint.ts';
import { HorizontalPodAutoscalerMetrics } from './endpoints/autoscaler-metrics.ts';
import { ResourceClaimMetrics } from './endpoints/claim-metrics.ts';
import { flowMetrics } from './endpoints/flow-metrics.ts';
import { healthEndpoint } from './endpoints/health.ts';
import type { HealthEndpoint } from './endpoints/health.ts';
import { ServerMetrics } from './endpoints/metrics.ts';
import { documentEndpoint, indexEndpoint, versionEndpoint } from './endpoints/plain-endpoints.ts';
import type { HttpRequest } from './http/http-request.ts';
import type { Reply } from './http/reply.ts';
import { SchedulingFigures } from './component/scheduling-metrics.ts';
import { HttpServer } from './http/server.ts';
import type { CertificatePair, TlsOptions } from './http/server.ts';
import { followFlowConfig } from './limits/flow-config.ts';
import { FlowControl } from './limits/priority-and-fairness.ts';
import type { FlowObserver } from './limits/priority-and-fairness.ts';
import { clientRateLimit, maxInFlight } from './limits/max-in-flight.ts';
import { UnreadAnswers } from './limits/unread-answers.ts';
import { defaultLimits } from './options.ts';
import type { ApiServerOptions, ServerLimits } from './options.ts';
import { dispatch } from './path/dispatch.ts';
import type { ConnectHandler, DispatchParts, Endpoint } from './path/dispatch.ts';
import { createTraceObserver } from './path/trace-observer.ts';
import { createRequestPath } from './path/request-path.ts';
import type { RequestLimiter, RequestObserver } from './path/request-path.ts';
import type { RequestInfo } from './path/request-info.ts';
import { ObjectMessages } from './output/messages.ts';
import { ServedResources } from './path/served-resource.ts';
import { TextThread } from './texts/text-thread.ts';
import { ResourceVerbs } from './verbs/resource-verbs.ts';
import { WatchVerb } from './verbs/watch-verb.ts';

export interface ApiServer {
  /** The metrics of resource claims, which are exposed with the server's own metrics. */
  readonly claimMetrics: ResourceClaimMetrics;
  readonly autoscalerMetrics: HorizontalPodAutoscalerMetrics;
  readonly schedulingFigures: SchedulingFigures;
  /** Handles one request. The HTTP server calls it, and so do tests without a socket. */
  readonly handle: (http: HttpRequest) => Promise<Reply>;
  /** Starts to listen. Resolves when the server accepts connections. */
  listen(options: ListenOptions): Promise<AddressInfo>;
  /** Makes `readyz` fail; all other requests are served as before, so that load balancers have time to react. */
  beginShutdown(): void;
  /** Ends watches, accepts no more connections, and waits for requests in flight. Idempotent. */
  stop(): Promise<void>;
  /** Sets the certificate for new connections. */
  setCertificate(pair: CertificatePair): void;
}

export interface ListenOptions {
  readonly host: string;
  /** The port; 0 means any free port. */
  readonly port: number;
  readonly tls: TlsOptions;
}

/** Creates the complete HTTP front end. Starts nothing. Throws if the audit policy is invalid. */
export function createApiServer(options: ApiServerOptions): ApiServer {
  const limits = { ...defaultLimits, ...options.limits };
  const { clock, random, log } = options;
  const { requestTimeoutMs, maxConnections, gzipFromBytes, unreadBytesPerConnection } = limits;
  const resources = new ServedResources(options.definitions);
  const metrics = createMetrics(options, resources);
  const health = healthEndpoint(options.healthChecks ?? [], (check, error) =>
    log.warn('A health check failed', { check, error }),
  );
  const unread = new UnreadAnswers(clock, {
    bytesPerConnection: limits.unreadBytesPerConnection,
    bytes: limits.unreadBytes,
    readMs: limits.unreadMs,
    bytesPerSecond: limits.unreadBytesPerSecond,
  });
  const verbs = createVerbs(options, limits, { metrics, unread });
  const parts: DispatchParts = {
    resources,
    verbs: verbs.resources,
    watches: verbs.watches,
    connect: connectHandler(options, resources),
    ...(options.aggregation !== undefined && { aggregation: createAggregation({ ...options.aggregation, clock }) }),
    endpoints: endpoints(options, { resources, metrics, health }),
  };
  const handle = createRequestPath({
    clock,
    random,
    log,
    requestTimeoutMs,
    authentication: { authenticators: options.authenticators, anonymous: options.anonymousAuth ?? true },
    authorizer: options.authorizer,
    limiters: limiters(options, limits, metrics),
    observers: [metrics, ...auditLogs(options), ...tracing(options)],
    unread,
    dispatch: (exchange) => dispatch(exchange, parts),
  });
  let server: HttpServer | undefined;
  return {
    claimMetrics: new ResourceClaimMetrics(metrics.registry),
    schedulingFigures: new SchedulingFigures(metrics.registry),
    autoscalerMetrics: new HorizontalPodAutoscalerMetrics(metrics.registry),
    handle,
    listen: ({ host, port, tls }) => {
      const connections = { maxConnections, gzipFromBytes, unreadBytesPerConnection };
      server = new HttpServer({ tls, serve: handle, clock, log, ...connections });
      return server.listen(host, port);
    },
    beginShutdown: () => health.beginShutdown(),
    stop: async () => {
      health.beginShutdown();
      const closing = server;
      server = undefined;
      verbs.watches.stop();
      await closing?.close();
      await verbs.stop();
    },
    setCertificate: (pair) => server?.setCertificate(pair),
  };
}

function createMetrics(
  { clock, countObjects, processUsage, faults, accessMetrics }: ApiServerOptions,
  resources: ServedResources,
): ServerMetrics {
  const metrics = new ServerMetrics({
    clock,
    resources,
    ...(countObjects !== undefined && { countObjects }),
    ...(processUsage !== undefined && { processUsage }),
    ...(faults !== undefined && { faults }),
  });
  accessMetrics?.showIn(metrics.registry);
  return metrics;
}

interface Verbs {
  readonly resources: ResourceVerbs;
  readonly watches: WatchVerb;
  /** Ends the thread for long texts. */
  stop(): Promise<void>;
}

/** Creates the verbs of resources. Lists and watches share the encoded messages of objects. */
function createVerbs(
  { registry, clock, random, log }: ApiServerOptions,
  { minRequestTimeoutMs, watchBufferBytes, maxBodyBytes }: ServerLimits,
  { metrics, unread }: { readonly metrics: ServerMetrics; readonly unread: UnreadAnswers },
): Verbs {
  const messages = new ObjectMessages();
  const texts = new TextThread(clock);
  const watches = new WatchVerb({
    ...{ registry, clock, random, log, minRequestTimeoutMs, watchBufferBytes, unread, messages },
    onEvents: (resource, events, bytes) => metrics.watchEvents(resource, events, bytes),
  });
  return {
    resources: new ResourceVerbs({ registry, maxBodyBytes, clock, texts, messages }),
    watches,
    stop: () => texts.stop(),
  };
}

function connectHandler(
  { registry, kubelets, random, clock, authorizer, connectAdmission = [] }: ApiServerOptions,
  resources: ServedResources,
): ConnectHandler {
  if (kubelets === undefined)
    return () =>
      Promise.reject(new ApiStatusError('ServiceUnavailable', 'this server is not configured to reach nodes'));
  return createConnectHandler({
    registry,
    resources,
    authorizer,
    admission: connectAdmission,
    kubelets,
    random,
    clock,
  });
}

function endpoints(
  options: ApiServerOptions,
  {
    resources,
    metrics,
    health,
  }: { readonly resources: ServedResources; readonly metrics: ServerMetrics; readonly health: HealthEndpoint },
): readonly Endpoint[] {
  const backends = options.aggregation?.backends ?? noBackends;
  const discovery = discoveryEndpoint({ resources, backends }, options.publicAddress ?? '');
  const paths = (): readonly string[] => [
    ...discovery.paths(),
    ...health.paths,
    '/metrics',
    '/version',
    ...(options.documentPaths?.() ?? []),
  ];
  const documents = options.documents === undefined ? [] : [documentEndpoint(options.documents)];
  return [
    discovery.serve,
    health.serve,
    versionEndpoint(options.version),
    metrics.serve,
    ...documents,
    ...(options.snapshot === undefined ? [] : [snapshotEndpoint(options.snapshot)]),
    indexEndpoint(paths),
  ];
}

/**
 * Creates the limiters. With priority and fairness, the sum of the two in-flight limits is the number of seats;
 * otherwise they are separate limits.
 */
function limiters(
  { clock, countObjects, flowObjects }: ApiServerOptions,
  limits: ServerLimits,
  metrics: ServerMetrics,
): readonly RequestLimiter[] {
  const client =
    limits.clientQps > 0
      ? [clientRateLimit({ qps: limits.clientQps, burst: limits.clientBurst }, () => clock.monotonicMs())]
      : [];
  const { maxRequestsInflight, maxMutatingRequestsInflight } = limits;
  if (!limits.priorityAndFairness)
    return [...client, maxInFlight({ reading: maxRequestsInflight, mutating: maxMutatingRequestsInflight })];
  const count =
    countObjects === undefined
      ? undefined
      : ({ group, resource }: RequestInfo): number =>
          countObjects().get(group === '' ? resource : `${resource}.${group}`) ?? 0;
  const late: { observer?: FlowObserver } = {};
  const flow = new FlowControl({
    clock,
    seats: maxRequestsInflight + maxMutatingRequestsInflight,
    maxWaitMs: limits.requestTimeoutMs / 4,
    ...(count !== undefined && { countObjects: count }),
    observer: {
      rejected: (name, reason) => late.observer?.rejected(name, reason),
      dispatched: (name, waitedMs, exchange) => late.observer?.dispatched(name, waitedMs, exchange),
    },
  });
  late.observer = flowMetrics({
    registry: metrics.registry,
    states: () => flow.states,
    waited: (exchange, seconds) => metrics.waited(exchange, seconds),
  });
  if (flowObjects !== undefined) followFlowConfig(flowObjects, (config) => flow.configure(config));
  return [...client, flow];
}

const tracing = ({ tracer }: ApiServerOptions): readonly RequestObserver[] =>
  tracer === undefined ? [] : [createTraceObserver(tracer)];

function auditLogs({ audit, clock }: ApiServerOptions): readonly AuditLog[] {
  if (audit === undefined) return [];
  const parsed = parseAuditPolicy(audit.policy);
  if ('errors' in parsed) throw new Error(`the audit policy cannot be used: ${parsed.errors.join('; ')}`);
  return [new AuditLog(parsed.policy, { sink: audit.sink, clock })];
}
