import { KubeletError } from '../../../../base/errors.ts';
import type { SubjectAccessReview } from '../../../../api/authorization/subject-access-review.ts';
import type { ApiClient } from '../../../../api/client/api-client.ts';
import { subjectAccessReviews } from '../../../../api/client/resource-types.ts';
import { askReview } from './ask-review.ts';
import type { Asking } from './ask-review.ts';
import type { Authorizer, NodeAttributes, UserInfo } from './auth-types.ts';
import { ReviewCache } from './review-cache.ts';

const ANSWERS = 8192;
const REVIEWS_AT_ONCE = 64;

export const allowAll: Authorizer = { authorize: () => Promise.resolve('allowed') };

export interface ReviewAuthorizerOptions {
  readonly client: ApiClient;
  readonly nodeName: string;
  readonly allowedHoldsMs: number;
  readonly deniedHoldsMs: number;
  readonly asking: Asking;
}

/**
 * Creates an authorizer that asks the API server whether the user may access `nodes/<subresource>` of this node
 * (authorization.mode Webhook). It rejects if there is no response.
 */
export function createReviewAuthorizer({
  client,
  nodeName,
  allowedHoldsMs,
  deniedHoldsMs,
  asking,
}: ReviewAuthorizerOptions): Authorizer {
  const cache = new ReviewCache<'allowed' | 'denied'>({
    clock: asking.clock,
    entries: ANSWERS,
    atOnce: REVIEWS_AT_ONCE,
    holdsMs: (answer) => (answer === 'allowed' ? allowedHoldsMs : deniedHoldsMs),
  });
  return {
    authorize: (user, attributes) => {
      const spec = reviewSpec(user, attributes, nodeName);
      return cache.get(JSON.stringify(spec), async () => {
        const object: SubjectAccessReview = {
          apiVersion: 'authorization.k8s.io/v1',
          kind: 'SubjectAccessReview',
          metadata: { name: '', namespace: '', uid: '' },
          spec,
        };
        const { status } = await askReview('review access', asking, () => client.create(subjectAccessReviews, object));
        if (status?.allowed === true && status.denied === true)
          throw new KubeletError('Invalid', 'webhook subject access review returned both allow and deny response');
        return status?.allowed === true ? 'allowed' : 'denied';
      });
    },
  };
}

function reviewSpec(
  { name, uid, groups, extra }: UserInfo,
  { verb, subresource }: NodeAttributes,
  nodeName: string,
): SubjectAccessReview['spec'] {
  return {
    user: name,
    ...(uid !== undefined && { uid }),
    groups: [...groups],
    ...(extra !== undefined && {
      extra: Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, [...values]])),
    }),
    resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
  };
}
