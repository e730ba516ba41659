import { lookupTable } from '../../../base/lookup.ts';
import { Counter, Gauge, Histogram, Registry as MetricRegistry } from 'prom-client';
import type { Clock } from '../../../base/clock.ts';
import type { FaultCounts } from '../../../base/process-faults.ts';
import { bytesOf } from '../http/reply.ts';
import type { Reply } from '../http/reply.ts';
import type { ProcessUsage } from '../options.ts';
import type { Endpoint } from '../path/dispatch.ts';
import type { Exchange } from '../path/exchange.ts';
import type { RequestObserver } from '../path/request-path.ts';
import { isLongRunning, isReading } from '../path/request-info.ts';
import type { RequestInfo } from '../path/request-info.ts';
import type { ServedResource, ServedResources } from '../path/served-resource.ts';

const latencyBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
const sliBuckets = latencyBuckets.filter((each) => each >= 0.05);
const sizeBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const eventSizeBuckets = [1024, 2048, 4096, 8192, 16_384, 32_768, 65_536, 131_072];

const requestLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const resourceLabels = ['group', 'version', 'resource'] as const;

export interface MetricsOptions {
  readonly clock: Clock;
  readonly resources: ServedResources;
  readonly countObjects?: () => ReadonlyMap<string, number>;
  readonly processUsage?: () => ProcessUsage;
  readonly faults?: FaultCounts;
}

/** Metrics of the API server, under upstream's names. */
export class ServerMetrics implements RequestObserver {
  readonly registry = new MetricRegistry();
  readonly #options: MetricsOptions;
  readonly #requests = new Counter({
    name: 'apiserver_request_total',
    help: 'Requests by verb, resource, scope and code.',
    labelNames: [...requestLabels, 'dry_run', 'code'],
    registers: [this.registry],
  });
  readonly #durations = new Histogram({
    name: 'apiserver_request_duration_seconds',
    help: 'Duration of requests in seconds.',
    labelNames: [...requestLabels, 'dry_run'],
    buckets: latencyBuckets,
    registers: [this.registry],
  });
  readonly #sli = new Histogram({
    name: 'apiserver_request_sli_duration_seconds',
    help: 'Duration of requests without the time in queues, in seconds.',
    labelNames: requestLabels,
    buckets: sliBuckets,
    registers: [this.registry],
  });
  readonly #aborts = new Counter({
    name: 'apiserver_request_aborts_total',
    help: 'Responses that were aborted because the client did not read them.',
    labelNames: requestLabels.filter((label) => label !== 'component'),
    registers: [this.registry],
  });
  readonly #sizes = new Histogram({
    name: 'apiserver_response_sizes',
    help: 'Size of response bodies in bytes.',
    labelNames: requestLabels,
    buckets: sizeBuckets,
    registers: [this.registry],
  });
  readonly #long = new Gauge({
    name: 'apiserver_longrunning_requests',
    help: 'Watches, logs, streams and proxied requests in progress.',
    labelNames: requestLabels,
    registers: [this.registry],
  });
  readonly #inflight = new Gauge({
    name: 'apiserver_current_inflight_requests',
    help: 'Requests in progress.',
    labelNames: ['request_kind'],
    registers: [this.registry],
  });
  readonly #events = new Counter({
    name: 'apiserver_watch_events_total',
    help: 'Events sent to watchers.',
    labelNames: resourceLabels,
    registers: [this.registry],
  });
  readonly #eventSizes = new Histogram({
    name: 'apiserver_watch_events_sizes',
    help: 'Size of events sent to watchers, in bytes.',
    labelNames: resourceLabels,
    buckets: eventSizeBuckets,
    registers: [this.registry],
  });
  readonly #inProgress = { readOnly: 0, mutating: 0 };
  readonly #queueSeconds = new WeakMap<Exchange, number>();

  constructor(options: MetricsOptions) {
    this.#options = options;
    this.#addStorage();
    this.#addProcess();
    this.#addFaults();
  }

  begin(exchange: Exchange): void {
    const { info } = exchange;
    if (isLongRunning(info)) return this.#long.inc(this.#labels(exchange));
    this.#inProgress[isReading(info) ? 'readOnly' : 'mutating']++;
  }

  /** Subtracts the time in a queue from the duration. */
  waited(exchange: Exchange, seconds: number): void {
    this.#queueSeconds.set(exchange, seconds);
  }

  aborted(exchange: Exchange): void {
    const { component: _, ...labels } = this.#labels(exchange);
    this.#aborts.inc(labels);
  }

  done(exchange: Exchange, reply: Reply): void {
    const labels = this.#labels(exchange);
    const dry = { dry_run: exchange.query.get('dryRun') === 'All' ? 'All' : '' };
    this.#requests.inc({ ...labels, ...dry, code: String(reply.status) });
    const { info } = exchange;
    if (isLongRunning(info)) return this.#long.dec(labels);
    this.#inProgress[isReading(info) ? 'readOnly' : 'mutating']--;
    const seconds = (this.#options.clock.monotonicMs() - exchange.startedAtMs) / 1000;
    this.#durations.observe({ ...labels, ...dry }, seconds);
    this.#sli.observe(labels, Math.max(0, seconds - (this.#queueSeconds.get(exchange) ?? 0)));
    if (reply.kind === 'body' && info.resourceRequest && isReading(info))
      this.#sizes.observe(labels, bytesOf(reply.body));
  }

  watchEvents({ definition }: ServedResource, events: number, bytes: number): void {
    const { group, version, plural } = definition.type;
    const labels = { group, version, resource: plural };
    this.#events.inc(labels, events);
    // Events that were sent together are observed once with their mean size. An observation for each would cost as much
    // as sending it.
    this.#eventSizes.observe(labels, bytes / events);
  }

  readonly serve: Endpoint = async ({ path }) => {
    if (path !== '/metrics') return undefined;
    this.#inflight.set({ request_kind: 'readOnly' }, this.#inProgress.readOnly);
    this.#inflight.set({ request_kind: 'mutating' }, this.#inProgress.mutating);
    return {
      kind: 'body',
      status: 200,
      headers: { 'content-type': this.registry.contentType },
      body: await this.registry.metrics(),
    };
  };

  /**
   * Returns the labels. Only served resources have their own labels, so that clients cannot fill the memory with
   * invented names.
   */
  #labels({ http, info }: Exchange): Record<(typeof requestLabels)[number], string> {
    const { group, version, resource, subresource } = info;
    const known = info.resourceRequest ? this.#options.resources.find(group, version, resource) : undefined;
    const verb = verbLabel(http.method, info);
    if (known === undefined)
      return { verb, group: '', version: '', resource: '', subresource: '', scope: '', component: 'apiserver' };
    return {
      verb,
      group,
      version,
      resource,
      subresource: known.subresources.has(subresource) ? subresource : '',
      scope: scopeOf(info),
      component: 'apiserver',
    };
  }

  #addStorage(): void {
    const { countObjects } = this.#options;
    if (countObjects === undefined) return;
    const gauge: Gauge = new Gauge({
      name: 'apiserver_storage_objects',
      help: 'Stored objects, by resource.',
      labelNames: ['resource'],
      registers: [this.registry],
      collect: () => {
        for (const [resource, count] of countObjects()) gauge.set({ resource }, count);
      },
    });
  }

  #addFaults(): void {
    const { faults } = this.#options;
    if (faults === undefined) return;
    const counter: Counter = new Counter({
      name: 'process_unhandled_errors_total',
      help: 'Unhandled errors: exceptions, after which the process exits, and rejected promises.',
      labelNames: ['kind'],
      registers: [this.registry],
      collect: () => {
        counter.reset();
        counter.inc({ kind: 'exception' }, faults.exceptions);
        counter.inc({ kind: 'rejection' }, faults.rejections);
      },
    });
  }

  #addProcess(): void {
    const { processUsage } = this.#options;
    if (processUsage === undefined) return;
    const rows: readonly (readonly [string, string, (usage: ProcessUsage) => number | undefined])[] = [
      [
        'process_cpu_seconds_total',
        'CPU time of the process in user and kernel mode, in seconds.',
        (usage) => usage.cpuSeconds,
      ],
      ['process_resident_memory_bytes', 'Resident memory of the process in bytes.', (usage) => usage.residentBytes],
      ['process_virtual_memory_bytes', 'Virtual memory of the process in bytes.', (usage) => usage.virtualBytes],
      ['process_open_fds', 'Open file descriptors of the process.', (usage) => usage.openFiles],
      ['process_max_fds', 'Limit of open file descriptors.', (usage) => usage.maxFiles],
      [
        'process_start_time_seconds',
        'Start time of the process, in seconds since the epoch.',
        (usage) => usage.startTimeSeconds,
      ],
    ];
    for (const [name, help, read] of rows) {
      if (read(processUsage()) === undefined) continue;
      const gauge: Gauge = new Gauge({
        name,
        help,
        registers: [this.registry],
        collect: () => gauge.set(read(processUsage()) ?? 0),
      });
    }
  }
}

const verbLabels: Readonly<Record<string, string>> = lookupTable({
  get: 'GET',
  list: 'LIST',
  watch: 'WATCH',
  create: 'POST',
  update: 'PUT',
  patch: 'PATCH',
  delete: 'DELETE',
  deletecollection: 'DELETECOLLECTION',
  post: 'POST',
  put: 'PUT',
  head: 'GET',
  proxy: 'CONNECT',
});
const connects = new Set(['exec', 'attach', 'portforward', 'proxy']);

function verbLabel(method: string, info: RequestInfo): string {
  if (connects.has(info.subresource)) return 'CONNECT';
  return verbLabels[info.resourceRequest ? info.verb : method.toLowerCase()] ?? 'OTHER';
}

function scopeOf({ verb, name, namespace }: RequestInfo): string {
  if (name !== '' || verb === 'create') return 'resource';
  return namespace === '' ? 'cluster' : 'namespace';
}
