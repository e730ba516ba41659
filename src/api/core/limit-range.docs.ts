import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { LimitRangeItemSchema, LimitRangeSpecSchema, LimitRangeSchema } from './limit-range.ts';

export const docs: readonly TypeDocs[] = [
  describe(LimitRangeItemSchema, 'Limits for one type of object.', {
    type: 'The type: Pod, Container or PersistentVolumeClaim.',
    max: 'The maximum of each resource.',
    min: 'The minimum of each resource.',
    default: 'The default limits of containers.',
    defaultRequest: 'The default requests of containers.',
    maxLimitRequestRatio: 'The maximum ratio of limit to request.',
  }),
  describe(LimitRangeSpecSchema, 'The limits.', {
    limits: 'The limits, by type of object.',
  }),
  describe(
    LimitRangeSchema,
    'Limits and defaults for the resources of single pods, containers and claims in a namespace.',
    {},
  ),
];
