import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ResourceClaimSchema,
  ResourceRequirementsSchema,
  VolumeResourceRequirementsSchema,
} from './resource-requirements.ts';

export const docs: readonly TypeDocs[] = [
  describe(ResourceClaimSchema, 'A ResourceClaim that a container uses.', {
    name: 'The name of the claim in spec.resourceClaims of the pod.',
    request: 'The request of the claim to use. Absent: all.',
  }),
  describe(ResourceRequirementsSchema, 'Requests and limits of resources.', {
    limits: 'The maximum of each resource.',
    requests: 'The minimum of each resource, which the scheduler considers. Default: the limits.',
    claims: 'The claims in spec.resourceClaims of the pod that the container uses.',
  }),
  describe(VolumeResourceRequirementsSchema, 'The requested size of a volume.', {
    limits: 'The maximum size.',
    requests: 'The minimum size.',
  }),
];
