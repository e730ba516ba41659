import type { BoundObjectReference, TokenRequest } from '../../../api/authentication/token-request.ts';
import { TokenRequestSchema } from '../../../api/authentication/token-request.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { nodes, pods, secrets } from '../../../api/client/resource-types.ts';
import type { ServiceAccount } from '../../../api/core/service-account.ts';
import { badRequest, conflict, invalid, notFound } from '../../../api/status/api-status-error.ts';
import { formatTime } from '../../../api/time.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { ActionAccess, ServiceAccountTokenRequest, SubresourceAction } from '../../model/resource-definition.ts';

const kind = { group: 'authentication.k8s.io', version: 'v1', kind: 'TokenRequest' } as const;
const DEFAULT_SECONDS = 3600;
const SHORTEST_SECONDS = 600;
const LONGEST_SECONDS = 2 ** 32;

/**
 * Handles the POST of a TokenRequest: returns a token for the account, bound to an object if requested. Upstream:
 * TokenREST.
 */
export const serviceAccountToken: SubresourceAction<ServiceAccount> = {
  name: 'token',
  kind,
  schema: TokenRequestSchema,
  perform: async (access, body) => {
    // Decoded by the schema above.
    const request = body as TokenRequest;
    const account = await access.get();
    const { uid } = account.metadata;
    if (request.metadata.uid !== '' && request.metadata.uid !== uid) {
      const why = `the UID in the token request (${request.metadata.uid}) does not match the UID of the service account (${uid})`;
      throw conflict({ group: kind.group, plural: kind.kind }, access.name, why);
    }
    const expirationSeconds = request.spec.expirationSeconds ?? DEFAULT_SECONDS;
    validateExpiration(expirationSeconds);
    const { boundObjectRef } = request.spec;
    const audiences = request.spec.audiences.length > 0 ? request.spec.audiences : access.services.apiAudiences;
    const bound = boundObjectRef === undefined ? {} : bind(access, boundObjectRef);
    const { token, expiresAtMs } = await access.services.signServiceAccountToken({
      namespace: access.namespace,
      name: access.name,
      uid,
      audiences,
      expirationSeconds,
      ...bound,
    });
    return {
      ...request,
      metadata: {
        ...request.metadata,
        name: access.name,
        namespace: access.namespace,
        uid,
        creationTimestamp: formatTime(access.nowMs),
      },
      spec: { ...request.spec, audiences, expirationSeconds },
      // Tokens may be valid longer than reported, for clients that read them only once.
      status: {
        token,
        expirationTimestamp: formatTime(Math.min(expiresAtMs, access.nowMs + expirationSeconds * 1000)),
      },
    };
  },
};

function validateExpiration(seconds: number): void {
  const errors = new FieldErrors();
  if (seconds < SHORTEST_SECONDS)
    errors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration less than 10 minutes');
  if (seconds > LONGEST_SECONDS)
    errors.invalid('spec.expirationSeconds', seconds, 'may not specify a duration larger than 2^32 seconds');
  if (errors.list.length > 0) throw invalid(kind, '', errors.list);
}

type Bound = Pick<ServiceAccountTokenRequest, 'boundObject' | 'node'>;

function bind(access: ActionAccess<ServiceAccount>, reference: BoundObjectReference): Bound {
  const { kind: boundKind = '', apiVersion = '', name = '' } = reference;
  const [group, version] = apiVersion.includes('/') ? apiVersion.split('/') : ['', apiVersion];
  if (group === '') {
    if (boundKind === 'Pod') return bindToPod(access, reference, name);
    if (boundKind === 'Node') return toObject(boundKind, find(access, nodes, '', name), reference);
    if (boundKind === 'Secret') return toObject(boundKind, find(access, secrets, access.namespace, name), reference);
  }
  throw badRequest(`cannot bind token to object of type ${group}/${version}, Kind=${boundKind}`);
}

/** Binds the token to a pod. It also contains the pod's node. */
function bindToPod(access: ActionAccess<ServiceAccount>, reference: BoundObjectReference, name: string): Bound {
  const pod = find(access, pods, access.namespace, name);
  if (pod.spec.serviceAccountName !== access.name)
    throw badRequest(
      `cannot bind token for serviceaccount ${JSON.stringify(access.name)} to pod running with different serviceaccount name.`,
    );
  const bound = toObject('Pod', pod, reference);
  const { nodeName } = pod.spec;
  if (!nodeName) return bound;
  const node = access.list(nodes, '').find(({ metadata }) => metadata.name === nodeName);
  return { ...bound, node: { name: nodeName, uid: node?.metadata.uid ?? '' } };
}

function toObject(
  boundKind: 'Pod' | 'Node' | 'Secret',
  { metadata }: ApiObject,
  { uid = '' }: BoundObjectReference,
): Bound {
  if (uid !== '' && uid !== metadata.uid) {
    const why = `the UID in the bound object reference (${uid}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: '', plural: boundKind }, metadata.name, why);
  }
  return { boundObject: { kind: boundKind, apiVersion: 'v1', name: metadata.name, uid: metadata.uid } };
}

function find<T extends ApiObject>(
  access: ActionAccess<ServiceAccount>,
  type: ResourceType<T>,
  namespace: string,
  name: string,
): T {
  const found = access.list(type, namespace).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw notFound(type, name);
  return found;
}
