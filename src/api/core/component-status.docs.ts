import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ComponentConditionSchema, ComponentStatusSchema } from './component-status.ts';

export const docs: readonly TypeDocs[] = [
  describe(ComponentConditionSchema, 'A condition of a component.', {
    type: 'The type: Healthy.',
    status: 'True, False or Unknown.',
    message: 'The answer of the component.',
    error: 'The error.',
  }),
  describe(ComponentStatusSchema, 'Deprecated since 1.19: the health of a component of the control plane.', {
    conditions: 'Its conditions.',
  }),
];
