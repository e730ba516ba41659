import { limitRanges } from '../../../api/client/resource-types.ts';
import type { LimitRange } from '../../../api/core/limit-range.ts';
import { LimitRangeSchema } from '../../../api/core/limit-range.ts';
import { defaultLimitRange } from '../../../api/defaults/default-limit-range.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateLimitRange } from '../../../api/validation/validate-limit-range.ts';
import { defineResource } from '../define-resource.ts';

export const limitRangeResource = defineResource<LimitRange>({
  type: limitRanges,
  singular: 'limitrange',
  shortNames: ['limits'],
  schema: LimitRangeSchema,
  storagePath: 'limitranges',
  rules: {
    applyDefaults: defaultLimitRange,
    // One without a name gets its uid as its name.
    prepareForCreate: (range) =>
      range.metadata.name === '' ? { ...range, metadata: { ...range.metadata, name: range.metadata.uid } } : range,
    validate: validateLimitRange,
    validateName: checkDnsSubdomain,
    validateUpdate: validateLimitRange,
    allowCreateOnUpdate: true,
  },
});
