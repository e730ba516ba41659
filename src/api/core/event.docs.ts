import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { EventSourceSchema, EventSeriesSchema, EventSchema } from './event.ts';

export const docs: readonly TypeDocs[] = [
  describe(EventSourceSchema, 'The component that reports an event.', {
    component: 'The name of the component.',
    host: 'The node of the component.',
  }),
  describe(EventSeriesSchema, 'A series of equal events.', {
    count: 'How many events the series has.',
    lastObservedTime: 'When the last of them happened.',
  }),
  describe(EventSchema, 'An event of an object. Deleted after an hour by default.', {
    involvedObject: 'The object of the event.',
    reason: 'The reason, as one word for programs.',
    message: 'What happened, as a text for people.',
    source: 'The component that reports the event.',
    firstTimestamp: 'When the event first happened.',
    lastTimestamp: 'When the event last happened.',
    count: 'How many times the event happened.',
    type: 'Normal or Warning.',
    eventTime: 'When the event first happened, with microseconds.',
    series: 'Later events of the same kind.',
    action: 'The action that was taken or failed.',
    related: 'A second object that is involved.',
    reportingComponent: 'The controller that reports the event.',
    reportingInstance: 'The instance of the controller.',
  }),
];
