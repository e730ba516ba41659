import { resourceClaims } from '../../api/client/resource-types.ts';
import { deviceKey } from '../../api/resource/device-key.ts';
import type { AllocationResult, ResourceClaimStatus } from '../../api/resource/resource-claim.ts';
import { semanticEqual } from '../../api/semantic-equal.ts';
import { invalid } from '../../api/status/api-status-error.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { AdmissionAttributes, AdmissionPlugin } from '../model/admission.ts';
import { forbiddenRequest } from '../model/forbidden-request.ts';
import type { AuthorizationAttributes, Authorizer, UserInfo } from '../model/user-info.ts';
import { isAbout, objectOf, oldObjectOf } from './attributes.ts';

const NODE_NAME = 'authentication.kubernetes.io/node-name';
const serviceAccount = /^system:serviceaccount:[^:]+:[^:]+$/;

/**
 * Requires more than the right to write the status of claims. Allocating or reserving requires
 * `resourceclaims/binding`. Reporting on devices requires `resourceclaims/driver` with the name of the driver; the verb
 * depends on whether the user belongs to the node of the devices. No flag turns this check off (upstream:
 * registry/resource AuthorizedForBinding, AuthorizedForDeviceStatus).
 */
export function createClaimStatusRights(authorizer: Authorizer): AdmissionPlugin {
  return {
    name: 'ClaimStatusRights',
    handles: (attributes) => attributes.operation === 'UPDATE' && isAbout(attributes, resourceClaims, 'status'),
    validate: async (attributes) => {
      const { status = {} } = objectOf(attributes, resourceClaims);
      const { status: old = {} } = oldObjectOf(attributes, resourceClaims);
      const errors = new FieldErrors();
      await checkBinding({ authorizer, attributes, errors }, status, old);
      if (status.allocation !== undefined) await checkDrivers({ authorizer, attributes, errors }, status, old);
      if (errors.list.length > 0) throw invalid(attributes.definition.type, attributes.name, errors.list);
    },
  };
}

interface Check {
  readonly authorizer: Authorizer;
  readonly attributes: AdmissionAttributes;
  readonly errors: FieldErrors;
}

const verbOf = ({ context }: AdmissionAttributes): string => (context.isPatch === true ? 'patch' : 'update');

async function checkBinding(
  { authorizer, attributes, errors }: Check,
  status: ResourceClaimStatus,
  old: ResourceClaimStatus,
): Promise<void> {
  if (
    semanticEqual(status.allocation, old.allocation) &&
    semanticEqual(status.reservedFor ?? [], old.reservedFor ?? [])
  )
    return;
  const verb = verbOf(attributes);
  const why = await refusalOf(authorizer, asked(attributes, { verb, subresource: 'binding', namespace: '', name: '' }));
  if (why !== undefined)
    errors.forbidden(
      'status.allocation',
      `changing status.allocation or status.reservedFor requires resource="resourceclaims/binding", verb="${verb}" permission: ${why}`,
    );
}

async function checkDrivers(
  { authorizer, attributes, errors }: Check,
  status: ResourceClaimStatus,
  old: ResourceClaimStatus,
): Promise<void> {
  const verb = verbOf(attributes);
  const isOfNode = belongsToNode(attributes.context.user, nodeOf(status.allocation));
  const verbs = isOfNode ? [`associated-node:${verb}`, `arbitrary-node:${verb}`] : [`arbitrary-node:${verb}`];
  for (const driver of changedDrivers(status, old)) {
    let first: string | undefined;
    let isAllowed = false;
    for (const each of verbs) {
      const { namespace } = attributes;
      const why = await refusalOf(
        authorizer,
        asked(attributes, { verb: each, subresource: 'driver', namespace, name: driver }),
      );
      isAllowed = why === undefined;
      if (isAllowed) break;
      first ??= why;
    }
    if (!isAllowed)
      errors.forbidden(
        'status.devices',
        `changing status.devices requires resource="resourceclaims/driver", verb="[${verbs.join(' ')}]" permission: ${first}`,
      );
  }
}

function asked(
  { context, definition }: AdmissionAttributes,
  of: Pick<AuthorizationAttributes, 'verb' | 'subresource' | 'namespace' | 'name'>,
): AuthorizationAttributes {
  const { group, version, plural } = definition.type;
  return {
    user: context.user,
    resourceRequest: true,
    apiGroup: group,
    apiVersion: version,
    resource: plural,
    path: '',
    ...of,
  };
}

async function refusalOf(authorizer: Authorizer, attributes: AuthorizationAttributes): Promise<string | undefined> {
  const decision = await authorizer.authorize(attributes);
  return decision.decision === 'allow' ? undefined : forbiddenRequest(attributes, decision).message;
}

/** Returns the drivers whose device reports were added, removed or changed, in the order of their names. */
function changedDrivers(status: ResourceClaimStatus, old: ResourceClaimStatus): readonly string[] {
  const before = new Map((old.devices ?? []).map((device) => [deviceKey(device), device]));
  const changed = new Set<string>();
  for (const device of status.devices ?? []) {
    const key = deviceKey(device);
    if (!semanticEqual(before.get(key), device)) changed.add(device.driver);
    before.delete(key);
  }
  for (const { driver } of before.values()) changed.add(driver);
  return [...changed].sort();
}

/** Returns the node of devices that are local to one node. */
function nodeOf(allocation: AllocationResult | undefined): string | undefined {
  const terms = allocation?.nodeSelector?.nodeSelectorTerms ?? [];
  const [term] = terms;
  const [field] = term?.matchFields ?? [];
  const isLocal =
    terms.length === 1 &&
    (term?.matchExpressions ?? []).length === 0 &&
    term?.matchFields?.length === 1 &&
    field?.key === 'metadata.name' &&
    field.operator === 'In' &&
    field.values?.length === 1;
  return isLocal ? field.values?.[0] : undefined;
}

/** Whether the user is a service account whose token is bound to the node. */
function belongsToNode({ name, extra }: UserInfo, node: string | undefined): boolean {
  const names = extra?.[NODE_NAME] ?? [];
  return node !== undefined && serviceAccount.test(name) && names.length === 1 && names[0] === node;
}
