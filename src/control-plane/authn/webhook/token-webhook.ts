import { errorMessage } from '../../../base/errors.ts';
import type { AuthenticationResult, TokenAuthenticator } from '../../model/user-info.ts';
import type { HttpJsonAnswer } from './http-json.ts';

/** Posts a review; rejects if there is no response. */
export type PostReview = (review: object) => Promise<HttpJsonAnswer>;

/**
 * Authenticates tokens with a webhook (--authentication-token-webhook-config-file), by TokenReviews of
 * authentication.k8s.io/v1.
 */
export function createTokenWebhook(post: PostReview, apiAudiences: readonly string[]): TokenAuthenticator {
  return {
    name: 'webhook token',
    authenticateToken: async (token, audiences) => {
      const review = {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenReview',
        metadata: {},
        spec: { token, ...(audiences !== undefined && { audiences }) },
      };
      try {
        const { status, body } = await post(review);
        if (status < 200 || status > 299) return { outcome: 'failed', error: `the token webhook answered ${status}` };
        return readAnswer(body, audiences, apiAudiences);
      } catch (error) {
        return { outcome: 'failed', error: errorMessage(error) };
      }
    },
  };
}

const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
const texts = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

function readAnswer(body: unknown, asked: readonly string[] | undefined, own: readonly string[]): AuthenticationResult {
  const status = record(record(body)['status']);
  const said = texts(status['audiences']);
  const audiences = asked?.filter((audience) => (said.length > 0 ? said : own).includes(audience));
  if (audiences?.length === 0) return { outcome: 'none' };
  if (status['authenticated'] !== true)
    return typeof status['error'] === 'string' && status['error'] !== ''
      ? { outcome: 'failed', error: status['error'] }
      : { outcome: 'none' };
  const { username, uid, groups, extra } = record(status['user']);
  if (typeof username !== 'string' || username === '')
    return { outcome: 'failed', error: 'the token webhook answered without a user name' };
  const more = Object.fromEntries(Object.entries(record(extra)).map(([key, values]) => [key, texts(values)]));
  const user = {
    name: username,
    groups: texts(groups),
    ...(typeof uid === 'string' && uid !== '' && { uid }),
    ...(Object.keys(more).length > 0 && { extra: more }),
  };
  return { outcome: 'user', user, ...(audiences !== undefined && { audiences }) };
}
