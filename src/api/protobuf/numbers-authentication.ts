/** Field numbers of authentication, v1: see `field-numbers.ts` for how to read them. */
export const authenticationNumbers = {
  BoundObjectReference: 'kind:1 apiVersion:2 name:3 uid:4',
  SelfSubjectReview: 'metadata:1 status:2',
  SelfSubjectReviewStatus: 'userInfo:1',
  TokenRequest: 'metadata:1 spec:2 status:3',
  TokenRequestSpec: 'audiences:1 expirationSeconds:4? boundObjectRef:3?',
  TokenRequestStatus: 'token:1 expirationTimestamp:2',
  TokenReview: 'metadata:1 spec:2 status:3',
  TokenReviewSpec: 'token:1 audiences:2',
  TokenReviewStatus: 'authenticated:1 user:2 audiences:4 error:3',
  UserInfo: 'username:1 uid:2 groups:3 extra:4',
} as const;
