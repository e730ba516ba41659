import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ExemptPriorityLevelConfigurationSchema,
  LimitedPriorityLevelConfigurationSchema,
  LimitResponseSchema,
  PriorityLevelConfigurationConditionSchema,
  PriorityLevelConfigurationSchema,
  PriorityLevelConfigurationSpecSchema,
  PriorityLevelConfigurationStatusSchema,
  QueuingConfigurationSchema,
} from './priority-level-configuration.ts';

const LENDABLE =
  'The percentage of its seats that other levels may borrow while this level does not use them, 0 to 100. Default 0.';

export const docs: readonly TypeDocs[] = [
  describe(QueuingConfigurationSchema, 'The queues of a priority level.', {
    queues: 'The number of queues. With 1, all flows share a queue. Default 64.',
    handSize: 'How many queues a flow may use; its requests wait in the shortest of them. At most queues. Default 8.',
    queueLengthLimit: 'How many requests may wait in one queue. Further requests are rejected. Default 50.',
  }),
  describe(LimitResponseSchema, 'What happens to requests that find no free seat.', {
    type: 'Queue, to wait, or Reject, for status 429.',
    queuing: 'The queues. Only with type Queue.',
  }),
  describe(LimitedPriorityLevelConfigurationSchema, 'The limits of a priority level.', {
    nominalConcurrencyShares:
      'The part of the seats of the server that belongs to this level, compared with the shares of the other levels. Default 30.',
    limitResponse: 'What happens to requests that find no free seat.',
    lendablePercent: LENDABLE,
    borrowingLimitPercent:
      'How many seats the level may borrow from other levels, as a percentage of its own seats. Absent: no limit.',
  }),
  describe(ExemptPriorityLevelConfigurationSchema, 'The share of a level whose requests never wait.', {
    nominalConcurrencyShares:
      'The part of the seats that is reserved for this level, compared with the shares of the other levels. Default 0.',
    lendablePercent: LENDABLE,
  }),
  describe(PriorityLevelConfigurationSpecSchema, 'How a priority level limits requests.', {
    type: 'Limited, or Exempt for the level `exempt`, whose requests never wait.',
    limited: 'The limits. Only with type Limited.',
    exempt: 'The share. Only with type Exempt.',
  }),
  describe(PriorityLevelConfigurationConditionSchema, 'A condition of a priority level.', {
    type: 'The type.',
    status: 'True, False or Unknown.',
    lastTransitionTime: 'When the status changed last.',
    reason: 'The reason of the status, as one CamelCase word.',
    message: 'The reason of the status, as a text for people.',
  }),
  describe(PriorityLevelConfigurationStatusSchema, 'The state of a priority level.', { conditions: 'Its conditions.' }),
  describe(PriorityLevelConfigurationSchema, 'A priority level: how many requests the API server handles at once.', {}),
];
