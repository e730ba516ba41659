import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { Gauge, Registry as MetricRegistry } from 'prom-client';
import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { ApiTransport } from '../../../client/http-transport.ts';
import { makeSelfSigned } from '../../../pki/self-signed.ts';
import { createComponentServer } from '../../apiserver/component/component-server.ts';
import type { ComponentAccess, ComponentPages } from '../../apiserver/component/component-server.ts';
import { SchedulingFigures } from '../../apiserver/component/scheduling-metrics.ts';
import type { TlsOptions } from '../../apiserver/http/server.ts';
import { createBearerAuthenticator } from '../../authn/bearer-authenticator.ts';
import { cachedTokenAuthenticator } from '../../authn/tokens/token-cache.ts';
import type { HttpJsonAnswer } from '../../authn/webhook/http-json.ts';
import { createTokenWebhook } from '../../authn/webhook/token-webhook.ts';
import { createX509Authenticator } from '../../authn/x509-authenticator.ts';
import { systemMasters } from '../../authz/fixed-authorizers.ts';
import { unionAuthorizer } from '../../authz/union.ts';
import { createWebhookAuthorizer } from '../../authz/webhook/webhook-authorizer.ts';
import type { SchedulerConfig } from '../../scheduler/config/scheduler-config.ts';
import type { Scheduler } from '../../scheduler/scheduler.ts';
import type { SchedulerServing } from './scheduler-flags.ts';

/** The data of the secure port, while this process leads or uses no lease. */
export class SchedulerPages {
  readonly #registry = new MetricRegistry();
  readonly figures = new SchedulingFigures(this.#registry);
  readonly #config: SchedulerConfig;
  #scheduler: Scheduler | undefined;

  constructor(config: SchedulerConfig) {
    this.#config = config;
    this.figures.countWith(() => this.#scheduler?.counts() ?? {});
    const leads: Gauge = new Gauge({
      name: 'leader_election_master_status',
      help: '1 while this process holds the lease, 0 otherwise.',
      labelNames: ['name'],
      registers: [this.#registry],
      collect: () => leads.set({ name: config.election.name }, this.#scheduler === undefined ? 0 : 1),
    });
  }

  /** Sets the scheduler; undefined while another process leads. */
  show(scheduler: Scheduler | undefined): void {
    this.#scheduler = scheduler;
  }

  get pages(): ComponentPages {
    return {
      checks: [],
      metrics: async () => ({ contentType: this.#registry.contentType, text: await this.#registry.metrics() }),
      configuration: () => ({ componentconfig: describeConfig(this.#config) }),
    };
  }
}

/** With upstream's field names, for fields that have an effect. */
function describeConfig({ profiles, initialBackoffMs, maxBackoffMs, extenders, election }: SchedulerConfig): object {
  const { enabled, leaseMs, renewMs, retryMs, name, namespace } = election;
  return {
    LeaderElection: {
      LeaderElect: enabled,
      LeaseDuration: `${leaseMs / 1000}s`,
      RenewDeadline: `${renewMs / 1000}s`,
      RetryPeriod: `${retryMs / 1000}s`,
      ResourceLock: 'leases',
      ResourceName: name,
      ResourceNamespace: namespace,
    },
    PodInitialBackoffSeconds: initialBackoffMs / 1000,
    PodMaxBackoffSeconds: maxBackoffMs / 1000,
    Profiles: [...profiles.keys()].map((SchedulerName) => ({ SchedulerName })),
    Extenders: extenders.map(({ urlPrefix }) => ({ URLPrefix: urlPrefix })),
  };
}

export interface ServingParts {
  readonly pages: ComponentPages;
  /** The client for token and access reviews. */
  readonly transport: ApiTransport;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Starts listening. Rejects if that fails; resolves to a function that stops it. */
export async function servePages(serving: SchedulerServing, parts: ServingParts): Promise<() => Promise<void>> {
  const { pages, transport, clock, log } = parts;
  const clientCa = serving.clientCaFile === undefined ? undefined : await readPem(serving.clientCaFile);
  const pair = await pairOf(serving, clock.nowMs());
  const tls: TlsOptions = { ...pair, ...(clientCa !== undefined && { clientCa }) };
  const access = delegatedAccess({ transport, clock, log, clientCa, openPaths: serving.openPaths });
  const server = createComponentServer({ tls, pages, access, clock, log });
  await server.listen(serving.bindAddress, serving.port).catch((error: unknown) => {
    throw new KubeletError(
      'Unavailable',
      `cannot listen on ${serving.bindAddress}:${serving.port}: choose another --secure-port, or 0 for none`,
      { cause: error },
    );
  });
  return () => server.close();
}

/**
 * Creates access control in which the API server reviews tokens and access (upstream: DelegatingAuthenticationOptions
 * and its twin).
 */
function delegatedAccess({
  transport,
  clock,
  log,
  clientCa,
  openPaths,
}: Omit<ServingParts, 'pages'> & {
  readonly clientCa: string | undefined;
  readonly openPaths: readonly string[];
}): ComponentAccess {
  const post =
    (path: string) =>
    async (review: object): Promise<HttpJsonAnswer> => {
      try {
        return { status: 201, body: await transport.send({ method: 'POST', path, body: review }) };
      } catch (error) {
        if (isApiError(error)) return { status: error.code, body: error.toStatus() };
        throw error;
      }
    };
  const tokens = createTokenWebhook(post('/apis/authentication.k8s.io/v1/tokenreviews'), []);
  const rights = post('/apis/authorization.k8s.io/v1/subjectaccessreviews');
  return {
    authenticators: [
      ...(clientCa === undefined
        ? []
        : [createX509Authenticator({ authorities: () => clientCa, nowMs: () => clock.nowMs() })]),
      createBearerAuthenticator(cachedTokenAuthenticator(tokens, clock)),
    ],
    authorizer: unionAuthorizer([
      systemMasters,
      // Upstream's times for components (DelegatingAuthorizationOptions).
      createWebhookAuthorizer({ post: rights, clock, log, authorizedMs: 10_000, unauthorizedMs: 10_000 }),
    ]),
    openPaths,
  };
}

async function pairOf({ pair }: SchedulerServing, nowMs: number): Promise<{ cert: string; key: string }> {
  if (pair === undefined) {
    const { certificate, key } = await makeSelfSigned(hostname(), nowMs);
    return { cert: certificate, key };
  }
  const [cert, key] = await Promise.all([readPem(pair.certificateFile), readPem(pair.keyFile)]);
  return { cert, key };
}

function readPem(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new KubeletError('Invalid', `${file} cannot be read: name a file in PEM`, { cause: error });
  });
}
