import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { EventSeriesSchema, EventSchema } from './event.ts';

export const docs: readonly TypeDocs[] = [
  describe(EventSeriesSchema, 'A series of equal events.', {
    count: 'How many events the series has.',
    lastObservedTime: 'When the last of them happened.',
  }),
  describe(EventSchema, 'An event of an object. Deleted after an hour by default.', {
    eventTime: 'When it first happened.',
    series: 'Later events of the same kind.',
    reportingController: 'The controller that reports the event.',
    reportingInstance: 'The instance of the controller.',
    action: 'The action that was taken or failed.',
    reason: 'The reason, as one word for programs.',
    regarding: 'The object of the event.',
    related: 'A second object that is involved.',
    note: 'What happened, as a text for people.',
    type: 'Normal or Warning.',
    deprecatedSource: 'Deprecated: the source of the core/v1 Event. Use reportingController.',
    deprecatedFirstTimestamp: 'Deprecated: when the core/v1 Event was first seen. Use eventTime.',
    deprecatedLastTimestamp: 'Deprecated: when the core/v1 Event was last seen. Use series.',
    deprecatedCount: 'Deprecated: how often the core/v1 Event was seen. Use series.',
  }),
];
