import type { ServiceAccountTokenRequest } from '../../model/resource-definition.ts';
import type { UserInfo } from '../../model/user-info.ts';

export const LEGACY_ISSUER = 'kubernetes/serviceaccount';
/** The tolerance for different clocks (go-jose's default). */
export const LEEWAY_SECONDS = 60;
/**
 * The lifetime that kubelets request. Such tokens are valid for a year and only cause warnings after this time, so that
 * workloads that do not reload them keep working (upstream: WarnOnlyBoundTokenExpirationSeconds).
 */
const WARN_ONLY_SECONDS = 3607;
const EXTENDED_SECONDS = 365 * 24 * 3600;

export interface ObjectClaim {
  readonly name: string;
  readonly uid?: string;
}

/** The payload of a bound token. Times are seconds since 1970. */
export interface BoundClaims {
  readonly aud: readonly string[];
  readonly exp: number;
  readonly iat: number;
  readonly iss: string;
  readonly jti: string;
  readonly 'kubernetes.io': {
    readonly namespace: string;
    readonly node?: ObjectClaim;
    readonly pod?: ObjectClaim;
    readonly secret?: ObjectClaim;
    readonly serviceaccount: ObjectClaim;
    readonly warnafter?: number;
  };
  readonly nbf: number;
  readonly sub: string;
}

export const serviceAccountUser = (namespace: string, name: string): string =>
  `system:serviceaccount:${namespace}:${name}`;

export interface ClaimContext {
  readonly issuer: string;
  readonly jti: string;
  readonly nowSeconds: number;
  /** The API server's audiences. Only tokens for no other audience get the extended lifetime. */
  readonly apiAudiences: readonly string[];
  readonly extendExpiration: boolean;
}

/** The claims of a token for a request (upstream: serviceaccount.Claims and the token registry's extension). */
export function computeBoundClaims(request: ServiceAccountTokenRequest, context: ClaimContext): BoundClaims {
  const { namespace, name, uid, audiences, expirationSeconds, boundObject, node } = request;
  const { issuer, jti, nowSeconds, apiAudiences, extendExpiration } = context;
  const isExtended =
    extendExpiration &&
    boundObject?.kind === 'Pod' &&
    expirationSeconds === WARN_ONLY_SECONDS &&
    audiences.every((audience) => apiAudiences.includes(audience));
  const claim = (object: ObjectClaim): ObjectClaim => ({
    name: object.name,
    ...(object.uid !== undefined && object.uid !== '' && { uid: object.uid }),
  });
  const bound = boundObject === undefined ? undefined : claim(boundObject);
  return {
    aud: audiences,
    exp: nowSeconds + (isExtended ? EXTENDED_SECONDS : expirationSeconds),
    iat: nowSeconds,
    iss: issuer,
    jti,
    'kubernetes.io': {
      namespace,
      ...(boundObject?.kind === 'Node' && { node: bound }),
      ...(boundObject?.kind === 'Pod' && node !== undefined && { node: claim(node) }),
      ...(boundObject?.kind === 'Pod' && { pod: bound }),
      ...(boundObject?.kind === 'Secret' && { secret: bound }),
      serviceaccount: { name, uid },
      ...(isExtended && { warnafter: nowSeconds + expirationSeconds }),
    },
    nbf: nowSeconds,
    sub: serviceAccountUser(namespace, name),
  };
}

/** Why a token is not valid at this time; `undefined` if it is valid. */
export function refuseTimes(claims: Readonly<Record<string, unknown>>, nowSeconds: number): string | undefined {
  const { exp, nbf, iat } = claims;
  if (typeof nbf === 'number' && nowSeconds + LEEWAY_SECONDS < nbf) return 'service account token is not valid yet';
  if (typeof exp === 'number' && nowSeconds - LEEWAY_SECONDS > exp) return 'service account token has expired';
  if (typeof iat === 'number' && nowSeconds + LEEWAY_SECONDS < iat)
    return 'service account token is issued in the future';
  return undefined;
}

/** Validates the structure of the `kubernetes.io` claim. */
export interface KubernetesClaims {
  readonly namespace: string;
  readonly serviceAccount: ObjectClaim;
  readonly pod: ObjectClaim | undefined;
  readonly secret: ObjectClaim | undefined;
  readonly node: ObjectClaim | undefined;
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};

export function readKubernetesClaims(payload: Readonly<Record<string, unknown>>): KubernetesClaims {
  const claims = record(payload['kubernetes.io']);
  const reference = (key: string): ObjectClaim | undefined =>
    claims[key] === undefined
      ? undefined
      : { name: text(record(claims[key])['name']), uid: text(record(claims[key])['uid']) };
  return {
    namespace: text(claims['namespace']),
    serviceAccount: reference('serviceaccount') ?? { name: '', uid: '' },
    pod: reference('pod'),
    secret: reference('secret'),
    node: reference('node'),
  };
}

export interface ServiceAccountFacts {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly pod?: ObjectClaim | undefined;
  readonly node?: ObjectClaim | undefined;
  readonly jti?: string;
}

/** The user of a service account (upstream: serviceaccount.ServiceAccountInfo). */
export function serviceAccountInfo({ namespace, name, uid, pod, node, jti }: ServiceAccountFacts): UserInfo {
  const extra: Record<string, readonly string[]> = {};
  if (pod?.name !== undefined && pod.name !== '' && pod.uid !== undefined && pod.uid !== '') {
    extra['authentication.kubernetes.io/pod-name'] = [pod.name];
    extra['authentication.kubernetes.io/pod-uid'] = [pod.uid];
  }
  if (jti !== undefined && jti !== '') extra['authentication.kubernetes.io/credential-id'] = [`JTI=${jti}`];
  if (node !== undefined && node.name !== '') {
    extra['authentication.kubernetes.io/node-name'] = [node.name];
    if (node.uid !== undefined && node.uid !== '') extra['authentication.kubernetes.io/node-uid'] = [node.uid];
  }
  const groups = ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  return { name: serviceAccountUser(namespace, name), uid, groups, ...(Object.keys(extra).length > 0 && { extra }) };
}
