import type {
  CertificateSigningRequest,
  CertificateSigningRequestCondition,
} from '../../../api/certificates/certificate-signing-request.ts';
import { CertificateSigningRequestSchema } from '../../../api/certificates/certificate-signing-request.ts';
import { certificateSigningRequests } from '../../../api/client/resource-types.ts';
import { formatTime } from '../../../api/time.ts';
import {
  validateCertificateRequest,
  validateCertificateRequestUpdate,
} from '../../../api/validation/access/validate-certificate-request.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import type { RequestFacts } from '../../model/resource-definition.ts';
import { userBody } from '../authentication/user-body.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn, humanDuration } from '../print-cells.ts';

/** Writes the authenticated user into the request. Clients cannot set another one. */
function withRequester(request: CertificateSigningRequest, { user }: RequestFacts): CertificateSigningRequest {
  const { username: _, uid: __, groups: ___, extra: ____, ...spec } = request.spec;
  const { username = '', ...others } = userBody(user);
  return { ...request, spec: { ...spec, username, ...others }, status: {} };
}

/** Sets missing times to those of the existing condition, or to now. */
function withTimes(
  conditions: readonly CertificateSigningRequestCondition[],
  old: CertificateSigningRequest,
  nowMs: number,
): CertificateSigningRequestCondition[] {
  const now = formatTime(nowMs);
  const known = new Map(
    (old.status?.conditions ?? []).map((condition) => [`${condition.type}=${condition.status}`, condition]),
  );
  return conditions.map((condition) => {
    const before = known.get(`${condition.type}=${condition.status}`);
    return {
      ...condition,
      lastUpdateTime: condition.lastUpdateTime ?? now,
      lastTransitionTime: condition.lastTransitionTime ?? before?.lastTransitionTime ?? now,
    };
  });
}

/** Prepares a write of the signer, which may change everything except approvals. */
function prepareStatus(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
  { nowMs }: RequestFacts,
): CertificateSigningRequest {
  const { conditions } = request.status ?? {};
  if (conditions === undefined) return { ...request, spec: old.spec };
  let kept = conditions;
  for (const type of ['Approved', 'Denied']) {
    const before = (old.status?.conditions ?? []).filter((condition) => condition.type === type);
    if (before.length !== kept.filter((condition) => condition.type === type).length) continue;
    let next = 0;
    kept = kept.map((condition) => (condition.type === type ? (before[next++] ?? condition) : condition));
  }
  return { ...request, spec: old.spec, status: { ...request.status, conditions: withTimes(kept, old, nowMs) } };
}

function conditionCell({ status = {} }: CertificateSigningRequest): string {
  const types = new Set((status.conditions ?? []).map(({ type }) => type));
  const verdict = types.has('Denied') ? 'Denied' : types.has('Approved') ? 'Approved' : 'Pending';
  return `${verdict}${types.has('Failed') ? ',Failed' : ''}${status.certificate ? ',Issued' : ''}`;
}

export const certificateSigningRequestResource = defineResource<CertificateSigningRequest>({
  type: certificateSigningRequests,
  singular: 'certificatesigningrequest',
  shortNames: ['csr'],
  schema: CertificateSigningRequestSchema,
  storagePath: 'certificatesigningrequests',
  rules: {
    applyDefaults: (request) => request,
    prepareForCreate: withRequester,
    validate: validateCertificateRequest,
    validateName: checkPathSegment,
    prepareForUpdate: (request, old) => ({ ...request, spec: old.spec }),
    validateUpdate: (request, old) => validateCertificateRequestUpdate(request, old, 'user'),
    prepareForStatusUpdate: prepareStatus,
    validateStatusUpdate: (request, old) => validateCertificateRequestUpdate(request, old, 'signer'),
  },
  selectableFields: ({ spec }) => ({ 'spec.signerName': spec.signerName }),
  columns: [
    ageColumn,
    {
      name: 'SignerName',
      type: 'string',
      description: 'Who is to sign.',
      cell: ({ spec }) => spec.signerName || '<none>',
    },
    { name: 'Requestor', type: 'string', description: 'Who asks.', cell: ({ spec }) => spec.username ?? '' },
    {
      name: 'RequestedDuration',
      type: 'string',
      description: 'For how long the certificate is to hold.',
      cell: ({ spec }) =>
        spec.expirationSeconds === undefined ? '<none>' : humanDuration(spec.expirationSeconds * 1000),
    },
    { name: 'Condition', type: 'string', description: 'Whether it is approved and signed.', cell: conditionCell },
  ],
  hasStatus: true,
  resetFields: { object: ['spec', 'status'] },
  views: [
    {
      name: 'approval',
      verbs: ['get', 'patch', 'update'],
      // A body of the own kind is decoded by its schema. Only metadata and conditions are taken from it.
      write: (current, body, { nowMs }) => {
        const { conditions = [] } = (body as CertificateSigningRequest).status ?? {};
        return {
          ...current,
          metadata: body.metadata,
          status: { ...current.status, conditions: withTimes(conditions, current, nowMs) },
        };
      },
      validate: (request, old) => validateCertificateRequestUpdate(request, old, 'approver'),
    },
  ],
});
