import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { PodSchema } from './pod.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    PodSchema,
    'A group of containers that run together on one node and share its network address and volumes.',
    {},
  ),
];
