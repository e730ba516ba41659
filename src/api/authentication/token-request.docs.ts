import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  BoundObjectReferenceSchema,
  TokenRequestSpecSchema,
  TokenRequestStatusSchema,
  TokenRequestSchema,
} from './token-request.ts';

export const docs: readonly TypeDocs[] = [
  describe(
    BoundObjectReferenceSchema,
    'An object to which a token is bound: the token is invalid once the object is deleted.',
    {
      name: 'The name of the object.',
      uid: 'The uid of the object.',
    },
  ),
  describe(TokenRequestSpecSchema, 'The attributes of the requested token.', {
    audiences: 'The audiences for which the token is valid. Empty: the API server.',
    expirationSeconds:
      'The requested lifetime of the token, in seconds; at least 600. Default 3600. The issued token may have another.',
    boundObjectRef: 'The object to which the token is bound. Absent: the token is bound to the service account only.',
  }),
  describe(TokenRequestStatusSchema, 'The issued token.', {
    token: 'The token, a JWT.',
    expirationTimestamp: 'When the token expires.',
  }),
  describe(TokenRequestSchema, 'Requests a token for a service account.', {
    spec: 'The attributes of the requested token.',
    status: 'The issued token.',
  }),
];
