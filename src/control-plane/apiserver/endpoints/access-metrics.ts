import { createHash } from 'node:crypto';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Metric, Registry as MetricRegistry } from 'prom-client';
import type { AccessFile, AccessObserver, WebhookResult } from '../../model/access-observer.ts';

const latencyBuckets = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const durationBuckets = latencyBuckets.slice(1);
const conditionBuckets = [0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
const files: readonly AccessFile[] = ['authentication', 'authorization'];

/** Returns a hash as in upstream's labels. It allows comparing the contents of several servers without showing them. */
const hashOf = (text: string): string =>
  text === '' ? '' : `sha256:${createHash('sha256').update(text).digest('hex')}`;

interface FileMetrics {
  readonly reloads: Counter;
  readonly lastReload: Gauge;
  readonly info: Gauge;
}

/** The metrics of authentication and authorization, under upstream's names. */
export class AccessMetrics implements AccessObserver {
  readonly #nowMs: () => number;
  readonly #server: string;
  readonly #metrics: Metric[] = [];
  /** The hashes of the published keys, by issuer. */
  readonly #hashes = new Map<string, string>();
  readonly #files: ReadonlyMap<AccessFile, FileMetrics>;
  readonly #latency = this.#histogram(
    'apiserver_authentication_jwt_authenticator_latency_seconds',
    'Time to authenticate tokens of issuers that were not in the cache, in seconds.',
    { labels: ['result', 'jwt_issuer_hash'], buckets: latencyBuckets },
  );
  readonly #fetched = this.#gauge(
    'apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds',
    'When the keys of an issuer were last fetched, or could not be.',
    ['result', 'jwt_issuer_hash', 'apiserver_id_hash'],
  );
  readonly #keySets = this.#gauge(
    'apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info',
    'The keys of an issuer that were last fetched, by their hash.',
    ['jwt_issuer_hash', 'apiserver_id_hash', 'hash'],
  );
  readonly #asked = this.#counter(
    'apiserver_authorization_webhook_evaluations_total',
    'Requests to authorization webhooks.',
    ['name', 'result'],
  );
  readonly #askedFor = this.#histogram(
    'apiserver_authorization_webhook_duration_seconds',
    'Duration of requests to authorization webhooks, in seconds.',
    { labels: ['name', 'result'], buckets: durationBuckets },
  );
  readonly #failedOpen = this.#counter(
    'apiserver_authorization_webhook_evaluations_fail_open_total',
    'Failed requests to authorization webhooks, after which the other authorizers decided.',
    ['name', 'result'],
  );
  readonly #conditionErrors = this.#counter(
    'apiserver_authorization_match_condition_evaluation_errors_total',
    'Requests for which the match conditions of an authorization webhook could not be evaluated.',
    ['type', 'name'],
  );
  readonly #exclusions = this.#counter(
    'apiserver_authorization_match_condition_exclusions_total',
    'Requests that were not sent to an authorization webhook because of its match conditions.',
    ['type', 'name'],
  );
  readonly #conditionsFor = this.#histogram(
    'apiserver_authorization_match_condition_evaluation_seconds',
    'Time to evaluate the match conditions of an authorization webhook, in seconds.',
    { labels: ['type', 'name'], buckets: conditionBuckets },
  );

  constructor(nowMs: () => number, serverId: string) {
    this.#nowMs = nowMs;
    this.#server = hashOf(serverId);
    this.#files = new Map(files.map((file) => [file, this.#fileMetrics(file)]));
  }

  showIn(registry: MetricRegistry): void {
    for (const metric of this.#metrics) registry.registerMetric(metric);
  }

  loaded(file: AccessFile, content: string): void {
    const info = this.#files.get(file)?.info;
    info?.reset();
    info?.set({ apiserver_id_hash: this.#server, hash: hashOf(content) }, 1);
  }

  reloaded(file: AccessFile, content: string | undefined): void {
    const metrics = this.#files.get(file);
    const labels = { status: content === undefined ? 'failure' : 'success', apiserver_id_hash: this.#server };
    metrics?.reloads.inc(labels);
    metrics?.lastReload.set(labels, this.#nowMs() / 1000);
    if (content !== undefined) this.loaded(file, content);
  }

  jwtJudged(issuer: string, isUser: boolean, tookMs: number): void {
    const result = isUser ? 'success' : 'failure';
    this.#latency.observe({ result, jwt_issuer_hash: hashOf(issuer) }, tookMs / 1000);
  }

  keysFetched(issuer: string, keys: unknown): void {
    const labels = { jwt_issuer_hash: hashOf(issuer), apiserver_id_hash: this.#server };
    const result = keys === undefined ? 'failure' : 'success';
    this.#fetched.set({ result, ...labels }, this.#nowMs() / 1000);
    if (keys === undefined) return;
    this.#forgetKeys(issuer);
    this.#keySets.set({ ...labels, hash: hashOf(JSON.stringify(keys)) }, 1);
    this.#hashes.set(issuer, hashOf(JSON.stringify(keys)));
  }

  issuerRemoved(issuer: string): void {
    const labels = { jwt_issuer_hash: hashOf(issuer), apiserver_id_hash: this.#server };
    for (const result of ['success', 'failure']) this.#fetched.remove({ result, ...labels });
    this.#forgetKeys(issuer);
  }

  webhookAsked(name: string, result: WebhookResult, tookMs: number): void {
    this.#asked.inc({ name, result });
    this.#askedFor.observe({ name, result }, tookMs / 1000);
  }

  webhookFailedOpen(name: string, result: WebhookResult): void {
    this.#failedOpen.inc({ name, result });
  }

  conditionsJudged(name: string, result: 'match' | 'excluded' | 'error', tookMs: number): void {
    const labels = { type: 'Webhook', name };
    this.#conditionsFor.observe(labels, tookMs / 1000);
    if (result === 'error') this.#conditionErrors.inc(labels);
    if (result === 'excluded') this.#exclusions.inc(labels);
  }

  #forgetKeys(issuer: string): void {
    const hash = this.#hashes.get(issuer);
    if (hash === undefined) return;
    this.#keySets.remove({ jwt_issuer_hash: hashOf(issuer), apiserver_id_hash: this.#server, hash });
    this.#hashes.delete(issuer);
  }

  #fileMetrics(file: AccessFile): FileMetrics {
    const name = `apiserver_${file}_config_controller`;
    const labels = ['status', 'apiserver_id_hash'];
    return {
      reloads: this.#counter(
        `${name}_automatic_reloads_total`,
        `Changes of the file with the ${file} configuration that were read.`,
        labels,
      ),
      lastReload: this.#gauge(
        `${name}_automatic_reload_last_timestamp_seconds`,
        `When the file with the ${file} configuration was last read after a change.`,
        labels,
      ),
      info: this.#gauge(`${name}_last_config_info`, `The ${file} configuration in force, by its hash.`, [
        'apiserver_id_hash',
        'hash',
      ]),
    };
  }

  #counter(name: string, help: string, labelNames: readonly string[]): Counter {
    return this.#kept(new Counter({ name, help, labelNames: [...labelNames], registers: [] }));
  }

  #gauge(name: string, help: string, labelNames: readonly string[]): Gauge {
    return this.#kept(new Gauge({ name, help, labelNames: [...labelNames], registers: [] }));
  }

  #histogram(
    name: string,
    help: string,
    { labels, buckets }: { readonly labels: readonly string[]; readonly buckets: number[] },
  ): Histogram {
    return this.#kept(new Histogram({ name, help, labelNames: [...labels], buckets, registers: [] }));
  }

  #kept<M extends Metric>(metric: M): M {
    this.#metrics.push(metric);
    return metric;
  }
}
