import { X509Certificate } from 'node:crypto';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import { goQuote } from '../../../api/go-quote.ts';
import { validateDomainPath } from '../../../api/validation/domain-path.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import type { Program } from '../../../cel/compile.ts';
import { compileClaims, compileUserRule, usesClaim } from '../oidc/claim-expressions.ts';
import type { ClaimPrograms } from '../oidc/map-claims.ts';
import type {
  AuthenticationConfiguration,
  Issuer,
  JwtAuthenticator,
  PrefixedClaimOrExpression,
} from './authentication-configuration.ts';

const MOST_ISSUERS = 64;

/** An issuer whose expressions are compiled. */
export interface CompiledJwt {
  readonly jwt: JwtAuthenticator;
  readonly programs: ClaimPrograms;
}

export interface ValidAuthentication {
  readonly errors: readonly FieldError[];
  /** The issuers in the order of the file. They must be used only if there are no errors. */
  readonly issuers: readonly CompiledJwt[];
}

/**
 * Validates the configuration. The errors have upstream's words and order (upstream: apiserver/validation
 * ValidateAuthenticationConfiguration).
 */
export function validateAuthenticationConfiguration(
  { jwt = [], anonymous }: AuthenticationConfiguration,
  disallowedIssuers: readonly string[],
): ValidAuthentication {
  const errors = new FieldErrors();
  if (jwt.length > MOST_ISSUERS) {
    errors.tooMany('jwt', jwt.length, MOST_ISSUERS);
    return { errors: errors.list, issuers: [] };
  }
  const urls = new Set<string>();
  const discoveries = new Set<string>();
  const issuers = jwt.map((each, index) => {
    const path = `jwt[${index}]`;
    const compiled = new JwtValidation(errors, path).validate(each, disallowedIssuers);
    const { url = '', discoveryURL = '' } = each.issuer ?? {};
    if (urls.has(url)) errors.duplicate(`${path}.issuer.url`, url);
    urls.add(url);
    if (discoveryURL !== '' && discoveries.has(discoveryURL))
      errors.duplicate(`${path}.issuer.discoveryURL`, discoveryURL);
    discoveries.add(discoveryURL);
    return compiled;
  });
  const { enabled = false, conditions = [] } = anonymous ?? {};
  if (!enabled && conditions.length > 0)
    errors.invalid('anonymous.conditions', conditions, 'enabled should be set to true when conditions are defined');
  return { errors: errors.list, issuers };
}

const BOTH_SET = "claim and expression can't both be set";

/** Validates one issuer, and compiles its expressions. */
class JwtValidation {
  readonly #errors: FieldErrors;
  readonly #path: string;
  #verifiesEmail = false;

  constructor(errors: FieldErrors, path: string) {
    this.#errors = errors;
    this.#path = path;
  }

  validate(jwt: JwtAuthenticator, disallowedIssuers: readonly string[]): CompiledJwt {
    validateIssuer(this.#errors, `${this.#path}.issuer`, jwt.issuer ?? {}, disallowedIssuers);
    const claimRules = this.#claimRules(jwt);
    const mappings = this.#mappings(jwt);
    const userRules = this.#userRules(jwt);
    return { jwt, programs: { ...mappings, claimRules, userRules } };
  }

  #compiled(field: string, expression: string, program: Program | string): Program | undefined {
    if (typeof program !== 'string') return program;
    this.#errors.invalid(field, expression, program);
    return undefined;
  }

  #claimRules({ claimValidationRules = [] }: JwtAuthenticator): ClaimPrograms['claimRules'] {
    const [claims, expressions] = [new Set<string>(), new Set<string>()];
    return claimValidationRules.flatMap(
      ({ claim = '', requiredValue = '', expression = '', message = '' }, index): ClaimPrograms['claimRules'] => {
        const path = `${this.#path}.claimValidationRules[${index}]`;
        if (claim !== '' && expression !== '') this.#errors.invalid(path, claim, BOTH_SET);
        else if (claim !== '') {
          if (message !== '')
            this.#errors.invalid(`${path}.message`, message, 'may not be specified when claim is set');
          if (claims.has(claim)) this.#errors.duplicate(`${path}.claim`, claim);
          claims.add(claim);
        } else if (expression === '') this.#errors.required(path, 'claim or expression is required');
        else {
          if (requiredValue !== '')
            this.#errors.invalid(`${path}.requiredValue`, requiredValue, 'may not be specified when expression is set');
          if (expressions.has(expression)) this.#errors.duplicate(`${path}.expression`, expression);
          else {
            expressions.add(expression);
            const program = this.#claims(`${path}.expression`, expression, 'bool');
            this.#noteEmail(program);
            if (program !== undefined) return [{ program, message }];
          }
        }
        return [];
      },
    );
  }

  #claims(field: string, expression: string, wanted: 'any' | 'bool'): Program | undefined {
    return this.#compiled(field, expression, compileClaims(expression, wanted));
  }

  /**
   * Notes whether an expression reads the verified flag of the email address. Only then may the username be the
   * address.
   */
  #noteEmail(program: Program | undefined): void {
    if (program !== undefined) this.#verifiesEmail ||= usesClaim(program, 'email_verified');
  }

  #mappings({ claimMappings = {} }: JwtAuthenticator): Omit<ClaimPrograms, 'claimRules' | 'userRules'> {
    const path = `${this.#path}.claimMappings`;
    const { username: usernameMapping = {}, groups: groupsMapping = {}, uid: uidMapping = {} } = claimMappings;
    const username = this.#prefixed(`${path}.username`, usernameMapping, true);
    this.#noteEmail(username);
    const groups = this.#prefixed(`${path}.groups`, groupsMapping, false);
    const { claim: uidClaim = '', expression: uidExpression = '' } = uidMapping;
    let uid: Program | undefined;
    if (uidClaim !== '' && uidExpression !== '') this.#errors.invalid(`${path}.uid`, '', BOTH_SET);
    else if (uidExpression !== '') uid = this.#claims(`${path}.uid.expression`, uidExpression, 'any');
    const extra = this.#extra(`${path}.extra`, claimMappings.extra ?? []);
    if (username !== undefined && usesClaim(username, 'email') && !this.#verifiesEmail)
      this.#errors.invalid(
        `${path}.username.expression`,
        usernameMapping.expression,
        'claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression',
      );
    return {
      ...(username !== undefined && { username }),
      ...(groups !== undefined && { groups }),
      ...(uid !== undefined && { uid }),
      extra,
    };
  }

  #prefixed(
    path: string,
    { claim = '', prefix, expression = '' }: PrefixedClaimOrExpression,
    isNeeded: boolean,
  ): Program | undefined {
    if (expression !== '' && claim !== '') this.#errors.invalid(path, '', BOTH_SET);
    else if (expression !== '') {
      if (prefix !== undefined)
        this.#errors.invalid(`${path}.prefix`, prefix, 'may not be specified when expression is set');
      return this.#claims(`${path}.expression`, expression, 'any');
    } else if (claim !== '') {
      if (prefix === undefined)
        this.#errors.required(
          `${path}.prefix`,
          'prefix is required when claim is set. It can be set to an empty string to disable prefixing',
        );
    } else if (isNeeded) this.#errors.required(path, 'claim or expression is required');
    return undefined;
  }

  #extra(
    path: string,
    mappings: NonNullable<NonNullable<JwtAuthenticator['claimMappings']>['extra']>,
  ): ClaimPrograms['extra'] {
    const seen = new Set<string>();
    return mappings.flatMap(({ key = '', valueExpression = '' }, index): ClaimPrograms['extra'] => {
      const at = `${path}[${index}]`;
      validateDomainPath(this.#errors, `${at}.key`, key);
      if (key !== key.toLowerCase()) this.#errors.invalid(`${at}.key`, key, 'must be lowercase');
      if (/^(?:.*\.)?(?:kubernetes|k8s)\.io\//.test(key))
        this.#errors.invalid(
          `${at}.key`,
          key,
          'k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use',
        );
      if (seen.has(key)) {
        this.#errors.duplicate(`${at}.key`, key);
        return [];
      }
      seen.add(key);
      if (valueExpression === '') {
        this.#errors.required(`${at}.valueExpression`);
        return [];
      }
      const program = this.#claims(`${at}.valueExpression`, valueExpression, 'any');
      this.#noteEmail(program);
      return program === undefined ? [] : [{ key, program }];
    });
  }

  #userRules({ userValidationRules = [] }: JwtAuthenticator): ClaimPrograms['userRules'] {
    const seen = new Set<string>();
    return userValidationRules.flatMap(({ expression = '', message = '' }, index): ClaimPrograms['userRules'] => {
      const field = `${this.#path}.userValidationRules[${index}].expression`;
      if (expression === '') this.#errors.required(field);
      else if (seen.has(expression)) this.#errors.duplicate(field, expression);
      else {
        seen.add(expression);
        const program = this.#compiled(field, expression, compileUserRule(expression));
        if (program !== undefined) return [{ program, message }];
      }
      return [];
    });
  }
}

function withoutEndSlashes(url: string): string {
  let end = url.length;
  while (url[end - 1] === '/') end -= 1;
  return url.slice(0, end);
}

function validateIssuer(errors: FieldErrors, path: string, issuer: Issuer, disallowed: readonly string[]): void {
  const { url = '', discoveryURL = '', audiences = [], certificateAuthority = '', egressSelectorType = '' } = issuer;
  if (url === '') errors.required(`${path}.url`);
  else validateUrl(errors, `${path}.url`, url, disallowed);
  if (discoveryURL !== '') {
    if (url !== '' && withoutEndSlashes(url) === withoutEndSlashes(discoveryURL))
      errors.invalid(`${path}.discoveryURL`, discoveryURL, 'discoveryURL must be different from URL');
    validateUrl(errors, `${path}.discoveryURL`, discoveryURL, []);
  }
  validateAudiences(errors, path, audiences, issuer.audienceMatchPolicy ?? '');
  if (certificateAuthority !== '') {
    const problem = authorityProblem(certificateAuthority);
    if (problem !== undefined) errors.invalid(`${path}.certificateAuthority`, '<omitted>', problem);
  }
  if (egressSelectorType === '') return;
  if (egressSelectorType === 'controlplane' || egressSelectorType === 'cluster')
    errors.invalid(
      `${path}.egressSelectorType`,
      egressSelectorType,
      'this server has no egress selectors; leave it out: connections to issuers are direct',
    );
  else
    errors.invalid(
      `${path}.egressSelectorType`,
      egressSelectorType,
      'egress selector must be either controlplane or cluster',
    );
}

function validateUrl(errors: FieldErrors, field: string, text: string, disallowed: readonly string[]): void {
  if (disallowed.includes(text))
    errors.invalid(field, text, `URL must not overlap with disallowed issuers: [${[...disallowed].sort().join(' ')}]`);
  const [, scheme = '', rest = ''] = /^(?:([A-Za-z][A-Za-z0-9+.-]*):)?([^]*)$/.exec(text) ?? [];
  if (scheme.toLowerCase() !== 'https') errors.invalid(field, text, 'URL scheme must be https');
  else if (!URL.canParse(text)) errors.invalid(field, text, `parse ${goQuote(text)}: the URL has no valid host`);
  const authority = /^\/\/([^/?#]*)/.exec(rest)?.[1] ?? '';
  if (authority.includes('@')) errors.invalid(field, text, 'URL must not contain a username or password');
  if (/\?[^#]/.test(rest.split('#', 1)[0] ?? '')) errors.invalid(field, text, 'URL must not contain a query');
  if (/#[^]/.test(rest)) errors.invalid(field, text, 'URL must not contain a fragment');
}

function validateAudiences(errors: FieldErrors, path: string, audiences: readonly string[], policy: string): void {
  const field = `${path}.audiences`;
  if (audiences.length === 0) return errors.required(field, `at least one ${field} is required`);
  const seen = new Set<string>();
  for (const [index, audience] of audiences.entries()) {
    if (audience === '') errors.required(`${field}[${index}]`);
    if (seen.has(audience)) errors.duplicate(`${field}[${index}]`, audience);
    seen.add(audience);
  }
  if (policy === 'MatchAny') return;
  if (audiences.length > 1)
    errors.invalid(
      `${path}.audienceMatchPolicy`,
      policy,
      'audienceMatchPolicy must be MatchAny for multiple audiences',
    );
  else if (policy !== '')
    errors.invalid(
      `${path}.audienceMatchPolicy`,
      policy,
      'audienceMatchPolicy must be empty or MatchAny for single audience',
    );
}

function authorityProblem(pem: string): string | undefined {
  const certificates = readPemBlocks(pem).filter(({ type }) => type === 'CERTIFICATE');
  if (certificates.length === 0) return 'data does not contain any valid RSA or ECDSA certificates';
  try {
    for (const { der } of certificates) new X509Certificate(der);
    return undefined;
  } catch {
    return 'data does not contain any valid RSA or ECDSA certificates';
  }
}
