import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { StatusCauseSchema, StatusDetailsSchema, StatusSchema } from './status.ts';

export const docs: readonly TypeDocs[] = [
  describe(StatusCauseSchema, 'A single cause of a failure.', {
    reason: 'The reason, as one word for programs.',
    message: 'The cause, as a text for people.',
    field: 'The field, if any, such as `spec.containers[0].name`.',
  }),
  describe(StatusDetailsSchema, 'The object and the causes of a failure.', {
    name: 'The name of the object.',
    group: 'The API group of the object.',
    kind: 'The resource or kind of the object.',
    uid: 'The uid of the object.',
    causes: 'The causes of the failure.',
    retryAfterSeconds: 'After how many seconds the request can be retried.',
  }),
  describe(StatusSchema, 'The result of a request that does not return an object.', {
    status: 'Success or Failure.',
    message: 'What happened, as a text for people.',
    reason: 'What happened, as one word for programs.',
    details: 'Details of the failure.',
    code: 'The HTTP status code.',
  }),
];
