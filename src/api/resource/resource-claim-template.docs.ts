import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ResourceClaimTemplateSchema, ResourceClaimTemplateSpecSchema } from './resource-claim-template.ts';

export const docs: readonly TypeDocs[] = [
  describe(ResourceClaimTemplateSpecSchema, 'The claims that are created from a template. It cannot be changed.', {
    metadata: 'Labels and annotations of the claims.',
    spec: 'The spec of the claims.',
  }),
  describe(ResourceClaimTemplateSchema, 'Describes ResourceClaims that are created for pods, one for each pod.', {}),
];
