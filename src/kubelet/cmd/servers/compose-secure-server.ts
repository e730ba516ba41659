import { listenSecurely } from '../../adapters/tls/secure-listen.ts';
import type { SecureListening, StreamRequest } from '../../adapters/tls/secure-listen.ts';
import { allowAll, createReviewAuthorizer } from '../../features/server/auth/authorizers.ts';
import { createAuthenticator } from '../../features/server/auth/authenticators.ts';
import type { RequestGuard } from '../../ports/request-guard.ts';
import { createRequestGuard } from '../../features/server/auth/request-guard.ts';
import type { KubeletConfig, SecurityConfig } from '../../model/config/kubelet-config.ts';
import type { TlsConfig } from '../../adapters/tls/tls-settings.ts';
import type { Serving } from './compose-serving.ts';
import type { Platform } from '../compose/platform.ts';

/** The handlers of requests that the guard allows. */
export interface SecureHandlers {
  fetch(request: Request): Response | Promise<Response>;
  /** Handles a stream, and owns the connection from then on. */
  openStream(request: StreamRequest): void;
}

export interface SecureServerOptions {
  readonly platform: Platform;
  readonly config: Pick<KubeletConfig, 'security' | 'server'>;
  readonly serving: Serving;
  readonly handlers: SecureHandlers;
}

/**
 * Opens the server on port 10250; undefined if no client could be authenticated and authorized. Upstream's kubelet does
 * not start then.
 */
export async function openSecureServer({
  platform,
  config,
  serving,
  handlers,
}: SecureServerOptions): Promise<SecureListening | undefined> {
  const { clock, log } = platform;
  const { server, security } = config;
  const guard = composeGuard(platform, security, serving);
  if (typeof guard === 'string') {
    log.info(
      'The secure server is not opened, since no client could authenticate. The local socket serves root on this node.',
      { port: server.port, why: guard },
    );
    return undefined;
  }
  if (security.authorizationMode === 'AlwaysAllow')
    log.warn(
      'Every authenticated user may do everything on this node, which includes running commands in its containers (authorization.mode AlwaysAllow)',
      { anonymous: security.anonymousAuth },
    );
  await serving.start();
  const { identity, clientAuthorities } = serving;
  return listenSecurely({
    host: server.address,
    port: server.port,
    tls: secureTls(security),
    identity,
    clientAuthorities,
    onChange: (listener) => serving.onChange(listener),
    guard,
    fetch: (request) => handlers.fetch(request),
    openStream: (request) => handlers.openStream(request),
    clock,
    log,
  });
}

/** Returns the TLS settings of every server of the agent. */
export const secureTls = (security: SecurityConfig): TlsConfig => ({
  cipherSuites: security.tlsCipherSuites,
  minVersion: security.tlsMinVersion,
  curvePreferences: security.tlsCurvePreferences,
});

/** Creates the guard. Returns a string with the reason, in upstream's words, if there can be none. */
export function composeGuard(
  { cluster, clock, random, log, machine }: Platform,
  security: SecurityConfig,
  { clientAuthorities }: Serving,
): RequestGuard | string {
  const { authorizationMode, authorizedTtlMs, unauthorizedTtlMs, anonymousAuth, webhookAuth, webhookAuthTtlMs } =
    security;
  const asking = { clock, random };
  const byReview =
    cluster === undefined
      ? undefined
      : createReviewAuthorizer({
          client: cluster.objects,
          nodeName: machine.nodeName,
          allowedHoldsMs: authorizedTtlMs,
          deniedHoldsMs: unauthorizedTtlMs,
          asking,
        });
  const authorizer = authorizationMode === 'AlwaysAllow' ? allowAll : byReview;
  if (authorizer === undefined) return 'no client provided, cannot use webhook authorization';
  if (clientAuthorities === undefined && !anonymousAuth && !(webhookAuth && cluster !== undefined))
    return webhookAuth
      ? 'no client provided, cannot use webhook authentication'
      : 'no authentication method configured';
  const authenticator = createAuthenticator({
    clientAuthorities: clientAuthorities === undefined ? undefined : () => clientAuthorities() ?? '',
    tokens: webhookAuth && cluster !== undefined ? { client: cluster.objects, holdsMs: webhookAuthTtlMs } : undefined,
    anonymous: anonymousAuth,
    asking,
  });
  return createRequestGuard({ authenticator, authorizer, log });
}
