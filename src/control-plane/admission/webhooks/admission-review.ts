import type { AdmissionReview } from '../../../api/admission/admission-review.ts';
import { AdmissionReviewSchema } from '../../../api/admission/admission-review.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { decode, formatDecodeError } from '../../../api/schema/decode.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import { namespaceOf } from './match-webhook.ts';

/** The AdmissionReview for a webhook, as JSON. */
export function admissionReview(attributes: AdmissionAttributes, uid: string): object {
  const { operation, definition, subresource, object, oldObject, context, name } = attributes;
  const { group, version, plural } = definition.type;
  const kind = kindOf(attributes);
  const resource = { group, version, resource: plural };
  const requested = attributes.requested ?? definition;
  const requestKind = kindOf({ ...attributes, definition: requested });
  const requestResource = { ...resource, version: requested.type.version };
  const part = { ...(subresource !== '' && { subResource: subresource, requestSubResource: subresource }) };
  const namespace = namespaceOf(attributes);
  const { user } = context;
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid,
      kind,
      resource,
      requestKind,
      requestResource,
      ...part,
      ...(name !== '' && { name }),
      ...(namespace !== '' && { namespace }),
      operation,
      userInfo: {
        username: user.name,
        ...(user.uid !== undefined && { uid: user.uid }),
        groups: user.groups,
        ...(user.extra !== undefined && { extra: user.extra }),
      },
      object:
        operation === 'CONNECT' ? connectOptions(attributes) : object === undefined ? null : wireForm(object, kind),
      oldObject: oldObject === undefined ? null : oldForm(attributes, oldObject),
      dryRun: context.dryRun,
      options: operation === 'CONNECT' ? null : writeOptions(attributes),
    },
  };
}

/** Returns the old object in the form of the subresource. */
function oldForm({ definition, subresource }: AdmissionAttributes, oldObject: ApiObject): object {
  const view = definition.views?.find(({ name }) => name === subresource);
  return view?.kind === undefined || view.read === undefined
    ? wireForm(oldObject, definition.type)
    : wireForm(view.read(oldObject), view.kind);
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Returns the kind of the body, which differs from that of the object for some subresources. */
function kindOf({ operation, definition, subresource, object }: AdmissionAttributes): Kind {
  const { group, version, kind } = definition.type;
  if (operation === 'CONNECT')
    return {
      group: '',
      version: 'v1',
      kind: definition.connects?.find(({ name }) => name === subresource)?.kind ?? kind,
    };
  const own =
    definition.actions?.find(({ name }) => name === subresource)?.kind ??
    definition.views?.find(({ name }) => name === subresource)?.kind;
  return object !== undefined && own !== undefined
    ? { group: own.group, version: own.version, kind: own.kind }
    : { group, version, kind };
}

/** Converts an object to the form that clients see, in which '' is absent. */
export function wireForm(object: ApiObject, { group, version, kind }: Kind): Readonly<Record<string, unknown>> {
  const { kind: _, apiVersion: __, metadata, ...rest } = object;
  const { name, namespace, uid, ...more } = metadata;
  return {
    kind,
    apiVersion: apiVersionOf({ group, version }),
    metadata: {
      ...(name !== '' && { name }),
      ...(namespace !== '' && { namespace }),
      ...(uid !== '' && { uid }),
      ...more,
    },
    ...rest,
  };
}

const switches = new Set(['stdin', 'stdout', 'stderr', 'tty']);

/** Returns PodExecOptions and similar options, from the query of the request. */
function connectOptions(attributes: AdmissionAttributes): object {
  const { kind } = kindOf(attributes);
  const fields = Object.entries(attributes.options).map(([key, value]) => {
    const values = (Array.isArray(value) ? value : [value]).map(String);
    if (key === 'command') return [key, values] as const;
    if (key === 'ports') return [key, values.flatMap((each) => each.split(',')).map(Number)] as const;
    return [key, switches.has(key) ? values[0] !== 'false' && values[0] !== '0' : (values[0] ?? '')] as const;
  });
  return { kind, apiVersion: 'v1', ...Object.fromEntries(fields) };
}

function writeOptions({ operation, options, context }: AdmissionAttributes): object {
  const kind = ({ CREATE: 'CreateOptions', UPDATE: 'UpdateOptions', DELETE: 'DeleteOptions', CONNECT: '' } as const)[
    operation
  ];
  const { fieldManager, dryRun, fieldValidation } = context;
  const written = {
    ...(fieldManager !== '' && { fieldManager }),
    ...(fieldValidation !== 'Warn' && { fieldValidation }),
  };
  return {
    kind,
    apiVersion: 'meta.k8s.io/v1',
    ...(operation === 'DELETE' ? {} : written),
    ...options,
    ...(dryRun && { dryRun: ['All'] }),
  };
}

export type ReviewResponse = NonNullable<AdmissionReview['response']>;

/** Reads a webhook's answer. Returns it, or an error with upstream's message (VerifyAdmissionResponse). */
export function readReview(body: unknown, uid: string, kind: 'mutating' | 'validating'): ReviewResponse | string {
  const { value, errors } = decode(AdmissionReviewSchema, body);
  if (errors.length > 0) return errors.map(formatDecodeError).join(', ');
  const { response } = value;
  if (response === undefined) return 'webhook response was absent';
  if (response.uid !== uid) return `expected response.uid=${JSON.stringify(uid)}, got ${JSON.stringify(response.uid)}`;
  const given = `${value.apiVersion ?? ''}, Kind=${value.kind ?? ''}`;
  if (given !== 'admission.k8s.io/v1, Kind=AdmissionReview')
    return `expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got ${given}`;
  const hasPatch = (response.patch ?? '') !== '';
  if (kind === 'validating') {
    if (hasPatch) return 'validating webhook may not return response.patch';
    return response.patchType === undefined ? response : 'validating webhook may not return response.patchType';
  }
  if (hasPatch && response.patchType === undefined) return 'webhook returned response.patch but not response.patchType';
  if (!hasPatch && response.patchType !== undefined)
    return 'webhook returned response.patchType but not response.patch';
  return response;
}
