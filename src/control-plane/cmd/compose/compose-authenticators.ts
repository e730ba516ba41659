import { createPublicKey } from 'node:crypto';
import { createBearerAuthenticator } from '../../authn/bearer-authenticator.ts';
import { createBootstrapTokenAuthenticator } from '../../authn/bootstrap-tokens.ts';
import { createBasicAuthenticator, parseBasicAuthFile } from '../../authn/files/basic-auth-file.ts';
import { createTokenFileAuthenticator, parseTokenFile } from '../../authn/files/token-file.ts';
import {
  createServiceAccountAuthenticator,
  createTokenSigner,
} from '../../authn/service-accounts/service-account-tokens.ts';
import type { TokenSigner } from '../../authn/service-accounts/service-account-tokens.ts';
import { openIdDocuments, tokenKeyOf } from '../../authn/service-accounts/signing-keys.ts';
import { tokenReviewer } from '../../authn/tokens/review-token.ts';
import { cachedTokenAuthenticator } from '../../authn/tokens/token-cache.ts';
import { unionTokenAuthenticator, withOwnAudiences } from '../../authn/tokens/token-union.ts';
import { askJson } from '../../authn/webhook/http-json.ts';
import { createTokenWebhook } from '../../authn/webhook/token-webhook.ts';
import { readWebhookKubeconfig } from '../../authn/webhook/webhook-kubeconfig.ts';
import { createRequestHeaderAuthenticator } from '../../authn/request-header-authenticator.ts';
import { createX509Authenticator } from '../../authn/x509-authenticator.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { createUseRecorder } from '../../authn/service-accounts/record-use.ts';
import type { AnonymousRule } from '../../apiserver/path/authenticate.ts';
import type { AccessObserver } from '../../model/access-observer.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { AuthenticationResult, Authenticator, TokenAuthenticator } from '../../model/user-info.ts';
import type { ClusterPki } from '../../pki/cluster-pki.ts';
import { WatchedFile } from '../../../pki/watched-file.ts';
import type { BaseDeps } from './base-deps.ts';
import { composeIssuers } from './compose-issuers.ts';
import type { ControlPlaneOptions } from '../flags/control-plane-options.ts';

export interface AuthenticationParts extends BaseDeps {
  readonly reader: ObjectReader;
  readonly pki: ClusterPki;
  /** The CAs of accepted client certificates, in PEM. */
  readonly clientAuthorities: string;
  /** The same for authenticating proxies. */
  readonly frontProxyAuthorities: string;
  /** The API server's client for its own API; called only after the server is complete. */
  readonly client: () => ApiClient;
  readonly observer: AccessObserver;
}

export interface ComposedAuthentication {
  readonly authenticators: readonly Authenticator[];
  readonly anonymous: AnonymousRule;
  readonly services: TokenSigner;
  /** Authenticates a token for TokenReview. */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResult>;
  /** The documents for verifying service account tokens, by path; none unless the issuer is an https URL. */
  readonly openIdDocuments: ReadonlyMap<string, OpenIdDocument>;
  close(): void;
}

export interface OpenIdDocument {
  readonly contentType: string;
  readonly body: string;
  readonly cacheControl: string;
}

/** Upstream's timeout for a webhook. */
const WEBHOOK_MS = 30_000;

/** All authenticators, in this order: proxies, certificates, passwords, then tokens. */
export async function composeAuthenticators(
  options: ControlPlaneOptions,
  parts: AuthenticationParts,
): Promise<ComposedAuthentication> {
  const { reader, pki, clock, log, random } = parts;
  const nowMs = (): number => clock.nowMs();
  const files: { stop(): void }[] = [];
  const watched = <T>(file: string, parse: (content: string) => T): (() => T) => {
    const source = new WatchedFile({ file, parse, clock, log });
    source.start();
    files.push(source);
    return () => source.value;
  };
  const { serviceAccountIssuer: issuer, apiAudiences, tokenAuthFile, basicAuthFile } = options;
  const signer = createTokenSigner({ issuer, key: pki.serviceAccountKey, apiAudiences, nowMs, random });
  const key = tokenKeyOf(createPublicKey(pki.serviceAccountKey));
  const own = (authenticator: TokenAuthenticator): TokenAuthenticator => withOwnAudiences(authenticator, apiAudiences);
  const issuers = await composeIssuers(options, parts.observer, parts);
  const tokens = unionTokenAuthenticator([
    ...(tokenAuthFile === undefined
      ? []
      : [
          own(
            createTokenFileAuthenticator(
              watched(tokenAuthFile, (content) => parseTokenFile(tokenAuthFile, content, log)),
            ),
          ),
        ]),
    createServiceAccountAuthenticator({
      issuers: [issuer],
      keys: [key],
      apiAudiences,
      reader,
      nowMs,
      legacyUsed: createUseRecorder(parts),
    }),
    own(createBootstrapTokenAuthenticator({ reader, nowMs, log })),
    ...issuers.tokens.map(own),
    ...webhookTokens(options),
  ]);
  const cached = cachedTokenAuthenticator(tokens, clock);
  return {
    authenticators: [
      createRequestHeaderAuthenticator({
        ...options.requestHeaders,
        authorities: () => parts.frontProxyAuthorities,
        nowMs,
      }),
      createX509Authenticator({ authorities: () => parts.clientAuthorities, nowMs }),
      ...(basicAuthFile === undefined
        ? []
        : [createBasicAuthenticator(watched(basicAuthFile, (content) => parseBasicAuthFile(basicAuthFile, content)))]),
      createBearerAuthenticator(cached),
    ],
    anonymous: issuers.anonymous,
    services: signer,
    authenticateToken: tokenReviewer(cached, apiAudiences),
    openIdDocuments: documentsOf(openIdDocuments(issuer, [key], `https://${hostAndPort(options)}/openid/v1/jwks`)),
    close: () => {
      issuers.close();
      files.forEach((file) => file.stop());
    },
  };
}

/** The webhook comes last, because it gets the tokens that no other authenticator knows. */
function webhookTokens({
  apiAudiences,
  authenticationTokenWebhookConfigFile: file,
}: ControlPlaneOptions): TokenAuthenticator[] {
  if (file === undefined) return [];
  const target = { ...readWebhookKubeconfig(file), timeoutMs: WEBHOOK_MS };
  return [createTokenWebhook((review) => askJson(target, review), apiAudiences)];
}

function hostAndPort({ advertiseAddress, securePort }: ControlPlaneOptions): string {
  return `${advertiseAddress.includes(':') ? `[${advertiseAddress}]` : advertiseAddress}:${securePort}`;
}

function documentsOf(documents: ReturnType<typeof openIdDocuments>): ReadonlyMap<string, OpenIdDocument> {
  if (documents === undefined) return new Map();
  const cacheControl = 'public, max-age=3600';
  return new Map([
    [
      '/.well-known/openid-configuration',
      { contentType: 'application/json', body: documents.configuration, cacheControl },
    ],
    ['/openid/v1/jwks', { contentType: 'application/jwk-set+json', body: documents.keys, cacheControl }],
  ]);
}
