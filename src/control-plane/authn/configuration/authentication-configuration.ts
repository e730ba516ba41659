import { decodeAny, formatDecodeError, formatStrictErrors } from '../../../api/schema/decode.ts';
import { array, boolean, object, string } from '../../../api/schema/schema.ts';
import type { Infer } from '../../../api/schema/schema.ts';
import { isRecord } from '../../../base/json-record.ts';

const prefixedClaimOrExpression = object('PrefixedClaimOrExpression', {
  claim: string,
  prefix: string,
  expression: string,
});

const jwtAuthenticator = object('JWTAuthenticator', {
  issuer: object('Issuer', {
    url: string,
    discoveryURL: string,
    certificateAuthority: string,
    audiences: array(string),
    audienceMatchPolicy: string,
    egressSelectorType: string,
  }),
  claimValidationRules: array(
    object('ClaimValidationRule', { claim: string, requiredValue: string, expression: string, message: string }),
  ),
  claimMappings: object('ClaimMappings', {
    username: prefixedClaimOrExpression,
    groups: prefixedClaimOrExpression,
    uid: object('ClaimOrExpression', { claim: string, expression: string }),
    extra: array(object('ExtraMapping', { key: string, valueExpression: string })),
  }),
  userValidationRules: array(object('UserValidationRule', { expression: string, message: string })),
});

const schema = object('AuthenticationConfiguration', {
  kind: string,
  apiVersion: string,
  jwt: array(jwtAuthenticator),
  anonymous: object('AnonymousAuthConfig', {
    enabled: boolean,
    conditions: array(object('AnonymousAuthCondition', { path: string })),
  }),
});

/** AuthenticationConfiguration of apiserver.config.k8s.io (upstream: apis/apiserver/v1/types.go). */
export type AuthenticationConfiguration = Infer<typeof schema>;
export type JwtAuthenticator = Infer<typeof jwtAuthenticator>;
export type AnonymousConfiguration = NonNullable<AuthenticationConfiguration['anonymous']>;
export type Issuer = NonNullable<JwtAuthenticator['issuer']>;
export type PrefixedClaimOrExpression = Infer<typeof prefixedClaimOrExpression>;

const GROUP = 'apiserver.config.k8s.io';
const versions: readonly unknown[] = ['v1', 'v1beta1', 'v1alpha1'].map((version) => `${GROUP}/${version}`);

/** Parses the file. Returns its structure or the errors in it. */
export function readAuthenticationConfiguration(document: unknown): AuthenticationConfiguration | string {
  if (document === undefined || document === null) return 'empty config data';
  const { kind, apiVersion } = isRecord(document) ? document : {};
  if (kind !== 'AuthenticationConfiguration' || !versions.includes(apiVersion))
    return `no kind ${JSON.stringify(kind ?? '')} is registered for version ${JSON.stringify(apiVersion ?? '')}; write AuthenticationConfiguration of ${GROUP}/v1`;
  const { value, errors, warnings } = decodeAny(schema, document, { mode: 'lenient' });
  if (errors.length > 0) return errors.map(formatDecodeError).join(', ');
  return warnings.length > 0 ? formatStrictErrors(warnings) : (value as AuthenticationConfiguration);
}
