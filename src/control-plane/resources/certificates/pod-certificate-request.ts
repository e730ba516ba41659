import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { PodCertificateRequestSchema } from '../../../api/certificates/pod-certificate-request.ts';
import { podCertificateRequests } from '../../../api/client/resource-types.ts';
import {
  validatePodCertificateRequest,
  validatePodCertificateRequestUpdate,
} from '../../../api/validation/access/validate-pod-certificate-request.ts';
import {
  podCertificateVerdicts,
  validatePodCertificateStatus,
} from '../../../api/validation/access/validate-pod-certificate-status.ts';
import { defineResource } from '../define-resource.ts';
import { keepMetadata } from '../keep-metadata.ts';
import { formatLabels } from '../print-cells.ts';

const DAY_SECONDS = 24 * 3600;

export const podCertificateRequestResource = defineResource<PodCertificateRequest>({
  type: podCertificateRequests,
  gate: 'PodCertificateRequest',
  singular: 'podcertificaterequest',
  schema: PodCertificateRequestSchema,
  storagePath: 'podcertificaterequests',
  rules: {
    applyDefaults: (request) =>
      request.spec.maxExpirationSeconds === undefined
        ? { ...request, spec: { ...request.spec, maxExpirationSeconds: DAY_SECONDS } }
        : request,
    prepareForCreate: (request) => ({ ...request, status: {} }),
    validate: validatePodCertificateRequest,
    validateUpdate: validatePodCertificateRequestUpdate,
    prepareForStatusUpdate: (request, old) => ({ ...keepMetadata(request, old), spec: old.spec }),
    validateStatusUpdate: validatePodCertificateStatus,
    requiresResourceVersion: true,
  },
  selectableFields: ({ spec }) => ({
    'spec.signerName': spec.signerName,
    'spec.podName': spec.podName,
    'spec.nodeName': spec.nodeName,
  }),
  hasStatus: true,
  hasNoAge: true,
  columns: [
    { name: 'PodName', type: 'string', description: 'The pod it is for.', cell: ({ spec }) => spec.podName },
    {
      name: 'ServiceAccountName',
      type: 'string',
      description: 'The service account of the pod.',
      cell: ({ spec }) => spec.serviceAccountName,
    },
    { name: 'NodeName', type: 'string', description: 'The node of the pod.', cell: ({ spec }) => spec.nodeName },
    { name: 'SignerName', type: 'string', description: 'Who is to sign.', cell: ({ spec }) => spec.signerName },
    {
      name: 'State',
      type: 'string',
      description: 'Pending, Issued, Denied or Failed.',
      cell: ({ status }) =>
        status?.conditions?.findLast(({ type }) => podCertificateVerdicts.some((each) => each === type))?.type ??
        'Pending',
    },
    {
      name: 'UnverifiedUserAnnotations',
      type: 'string',
      description: 'What the author of the pod tells the signer.',
      priority: 1,
      cell: ({ spec }) => formatLabels(spec.unverifiedUserAnnotations),
    },
  ],
});
