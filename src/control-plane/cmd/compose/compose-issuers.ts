import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { goAggregate } from '../../../api/go-aggregate.ts';
import { formatFieldError } from '../../../api/validation/field-error.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { AnonymousRule } from '../../apiserver/path/authenticate.ts';
import { readAuthenticationConfiguration } from '../../authn/configuration/authentication-configuration.ts';
import type {
  AnonymousConfiguration,
  AuthenticationConfiguration,
} from '../../authn/configuration/authentication-configuration.ts';
import { validateAuthenticationConfiguration } from '../../authn/configuration/validate-authentication-configuration.ts';
import type { CompiledJwt } from '../../authn/configuration/validate-authentication-configuration.ts';
import { IssuerSet } from '../../authn/oidc/issuer-set.ts';
import { createOidcAuthenticator, signingAlgorithms } from '../../authn/oidc/oidc-authenticator.ts';
import { askJson } from '../../authn/webhook/http-json.ts';
import type { AccessObserver } from '../../model/access-observer.ts';
import type { TokenAuthenticator } from '../../model/user-info.ts';
import type { BaseDeps } from './base-deps.ts';
import type { ControlPlaneOptions, OidcOptions } from '../flags/control-plane-options.ts';
import { loadYamlReader } from '../configuration/read-yaml-file.ts';
import { ReloadedConfiguration } from '../configuration/reloaded-configuration.ts';

/** The time limit for an issuer, as upstream. */
const ISSUER_MS = 30_000;
const FLAG = 'authentication-config';

export interface ComposedIssuers {
  readonly tokens: readonly TokenAuthenticator[];
  readonly anonymous: AnonymousRule;
  close(): void;
}

interface Parsed {
  readonly issuers: readonly CompiledJwt[];
  readonly anonymous: AnonymousConfiguration | undefined;
}

/** Creates the issuers: those of `--authentication-config`, or the one of the `--oidc-*` flags. */
export async function composeIssuers(
  options: ControlPlaneOptions,
  observer: AccessObserver,
  deps: BaseDeps,
): Promise<ComposedIssuers> {
  const { authenticationConfigFile: file, oidc, serviceAccountIssuer, anonymousAuth } = options;
  const setOf = (issuers: readonly CompiledJwt[], algorithms: readonly string[]): IssuerSet =>
    new IssuerSet(
      (compiled) => createIssuer(compiled, algorithms, observer, deps),
      issuers,
      (issuer) => observer.issuerRemoved(issuer),
    );
  if (file === undefined) {
    if (oidc === undefined) return { tokens: [], anonymous: anonymousAuth, close: () => undefined };
    const { issuers } = accepted('--oidc-*', configurationOfFlags(oidc), [serviceAccountIssuer]);
    return { tokens: [setOf(issuers, oidc.signingAlgs)], anonymous: anonymousAuth, close: () => undefined };
  }
  const readYaml = await loadYamlReader(FLAG, 'refused');
  const parse = (content: string, first: Parsed | undefined): Parsed => {
    const read = readAuthenticationConfiguration(readYaml(file, content));
    if (typeof read === 'string') throw refused(`--${FLAG} ${file}`, read);
    const changed = first !== undefined && !isDeepStrictEqual(first.anonymous, read.anonymous);
    return accepted(`--${FLAG} ${file}`, read, [serviceAccountIssuer], changed ? [anonymousChanged] : []);
  };
  const set = setOf([], signingAlgorithms);
  const reloaded = new ReloadedConfiguration({
    kind: 'authentication',
    file,
    parse,
    apply: ({ issuers }) => set.replace(issuers),
    observer,
    ...deps,
  });
  const { first } = reloaded;
  if (first.anonymous !== undefined && options.anonymousFlagGiven === true)
    throw refused(
      `--${FLAG} ${file}`,
      'anonymous: Forbidden: --anonymous-auth flag cannot be set when anonymous field is configured in authentication configuration file',
    );
  set.use(first.issuers);
  reloaded.start();
  return { tokens: [set], anonymous: anonymousRule(first.anonymous, anonymousAuth), close: () => reloaded.stop() };
}

const anonymousChanged: FieldError = {
  type: 'Forbidden',
  field: 'anonymous',
  message: 'Forbidden: changed from initial configuration file',
};

function refused(from: string, why: string): KubeletError {
  return new KubeletError('Invalid', `${from}: ${why}`);
}

function accepted(
  from: string,
  configuration: AuthenticationConfiguration,
  disallowed: readonly string[],
  more: readonly FieldError[] = [],
): Parsed {
  const { errors, issuers } = validateAuthenticationConfiguration(configuration, disallowed);
  const all = [...errors, ...more];
  if (all.length > 0)
    throw refused(from, `invalid authentication configuration: ${goAggregate(all.map(formatFieldError))}`);
  return { issuers, anonymous: configuration.anonymous };
}

/** Returns the rule of the file, or that of the flag if the file has none. */
function anonymousRule(configured: AnonymousConfiguration | undefined, flag: boolean): AnonymousRule {
  if (configured === undefined) return flag;
  const { enabled = false, conditions = [] } = configured;
  if (!enabled || conditions.length === 0) return enabled;
  return new Set(conditions.map(({ path }) => path ?? ''));
}

/** Converts the flags to a configuration with one issuer (upstream: kubeapiserver/options ToAuthenticationConfig). */
function configurationOfFlags(oidc: OidcOptions): AuthenticationConfiguration {
  const { issuerUrl, clientId, groupsClaim, requiredClaims, caFile } = oidc;
  const issuer = {
    url: issuerUrl,
    audiences: [clientId],
    ...(caFile !== undefined && { certificateAuthority: readFileSync(caFile, 'utf8') }),
  };
  return {
    jwt: [
      {
        issuer,
        claimMappings: {
          username: { claim: oidc.usernameClaim, prefix: oidc.usernamePrefix },
          ...(groupsClaim !== undefined && { groups: { claim: groupsClaim, prefix: oidc.groupsPrefix } }),
        },
        claimValidationRules: Object.entries(requiredClaims).map(([claim, requiredValue]) => ({
          claim,
          requiredValue,
        })),
      },
    ],
  };
}

function createIssuer(
  compiled: CompiledJwt,
  algorithms: readonly string[],
  observer: AccessObserver,
  { clock, log }: BaseDeps,
): ReturnType<typeof createOidcAuthenticator> {
  const ca = compiled.jwt.issuer?.certificateAuthority ?? '';
  return createOidcAuthenticator({
    compiled,
    algorithms,
    fetchJson: (url) => askJson({ url, ...(ca !== '' && { ca }), timeoutMs: ISSUER_MS }),
    observer,
    clock,
    log,
  });
}
