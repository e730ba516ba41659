import { createPublicKey } from 'node:crypto';
import { createBootstrapTokenAuthenticator } from '../authn/bootstrap-tokens.ts';
import { createBasicAuthenticator, parseBasicAuthFile } from '../authn/files/basic-auth-file.ts';
import { createTokenFileAuthenticator, parseTokenFile } from '../authn/files/token-file.ts';
import { createBearerAuthenticator } from '../authn/request-authenticator.ts';
import { createServiceAccountAuthenticator, createTokenSigner } from '../authn/service-accounts/service-account-tokens.ts';
import { tokenKeyOf } from '../authn/service-accounts/signing-keys.ts';
import { cachedTokenAuthenticator } from '../authn/tokens/token-cache.ts';
import { unionTokenAuthenticator, withOwnAudiences } from '../authn/tokens/token-union.ts';
import { createX509Authenticator } from '../authn/x509-authenticator.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import type { ActionServices } from '../model/resource-definition.ts';
import type { AuthenticationResult, Authenticator, TokenAuthenticator } from '../model/user-info.ts';
import type { ClusterPki } from '../pki/cluster-pki.ts';
import { WatchedFile } from '../pki/watched-file.ts';
import type { World } from './compose-api-server.ts';
import type { ControlPlaneOptions } from './control-plane-options.ts';

export interface AuthenticationParts extends World {
  readonly reader: ObjectReader;
  readonly pki: ClusterPki;
}

export interface ComposedAuthentication {
  readonly authenticators: readonly Authenticator[];
  readonly services: ActionServices;
  /** For TokenReview. */
  authenticateToken(token: string, audiences: readonly string[]): Promise<AuthenticationResult>;
  close(): void;
}

/** Everybody who may know who asks, in the documents' order: certificates, passwords, then tokens. */
export function composeAuthenticators(options: ControlPlaneOptions, parts: AuthenticationParts): ComposedAuthentication {
  const { reader, pki, clock, log, random } = parts;
  const nowMs = (): number => clock.nowMs();
  const files: { stop(): void }[] = [];
  const watched = <T>(file: string, parse: (content: string) => T): (() => T) => {
    const source = new WatchedFile({ file, parse, clock, log });
    source.start();
    files.push(source);
    return () => source.value;
  };
  const signer = createTokenSigner({ issuer: options.serviceAccountIssuer, key: pki.serviceAccountKey, apiAudiences: options.apiAudiences, nowMs, random });
  const { tokenAuthFile, basicAuthFile } = options;
  const own = (authenticator: TokenAuthenticator): TokenAuthenticator => withOwnAudiences(authenticator, options.apiAudiences);
  const tokens = unionTokenAuthenticator([
    ...(tokenAuthFile === undefined ? [] : [own(createTokenFileAuthenticator(watched(tokenAuthFile, (content) => parseTokenFile(tokenAuthFile, content, log))))]),
    createServiceAccountAuthenticator({
      issuers: [options.serviceAccountIssuer],
      keys: [tokenKeyOf(createPublicKey(pki.serviceAccountKey))],
      apiAudiences: options.apiAudiences,
      reader,
      nowMs,
    }),
    own(createBootstrapTokenAuthenticator({ reader, nowMs, log })),
  ]);
  const cached = cachedTokenAuthenticator(tokens, clock);
  return {
    authenticators: [
      createX509Authenticator({ authorities: () => pki.authority.certificatePem, nowMs }),
      ...(basicAuthFile === undefined ? [] : [createBasicAuthenticator(watched(basicAuthFile, (content) => parseBasicAuthFile(basicAuthFile, content)))]),
      createBearerAuthenticator(cached),
    ],
    services: signer,
    authenticateToken: (token, audiences) => cached.authenticateToken(token, audiences),
    close: () => files.forEach((file) => file.stop()),
  };
}
