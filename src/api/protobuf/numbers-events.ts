/** Field numbers of events, v1: see `field-numbers.ts` for how to read them. */
export const eventsNumbers = {
  Event: `
    metadata:1 eventTime:2~ series:3? reportingController:4 reportingInstance:5 action:6 reason:7 regarding:8 related:9? note:10 type:11
    deprecatedSource:12 deprecatedFirstTimestamp:13 deprecatedLastTimestamp:14 deprecatedCount:15
  `,
  EventSeries: 'count:1 lastObservedTime:2~',
} as const;
