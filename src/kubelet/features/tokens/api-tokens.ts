import type { ApiClient } from '../../../api/client/api-client.ts';
import { serviceAccounts } from '../../../api/client/resource-types.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { IssuedToken, TokenOrder, TokenSource } from '../../ports/tokens.ts';

/**
 * Requests tokens from the TokenRequest API, each bound to its pod. Errors of the API server are passed on in its own
 * words.
 */
export class ApiTokens implements TokenSource {
  readonly #client: ApiClient;

  constructor(client: ApiClient) {
    this.#client = client;
  }

  async request(order: TokenOrder): Promise<IssuedToken> {
    const { namespace, serviceAccount, serviceAccountUid, audiences, expirationSeconds, pod } = order;
    const body = {
      kind: 'TokenRequest',
      apiVersion: 'authentication.k8s.io/v1',
      metadata: serviceAccountUid === undefined ? {} : { uid: serviceAccountUid },
      spec: {
        audiences,
        expirationSeconds,
        boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: pod.name, uid: pod.uid },
      },
    };
    try {
      return issuedOf(await this.#client.post(serviceAccounts, { namespace, name: serviceAccount }, 'token', body));
    } catch (error) {
      throw failure(error);
    }
  }
}

function issuedOf(answer: unknown): IssuedToken {
  const { status } = (answer ?? {}) as { status?: { token?: unknown; expirationTimestamp?: unknown } };
  const expiresAtMs =
    typeof status?.expirationTimestamp === 'string' ? Date.parse(status.expirationTimestamp) : Number.NaN;
  if (typeof status?.token !== 'string' || status.token === '' || Number.isNaN(expiresAtMs))
    throw new KubeletError('Unavailable', 'the API server answered a TokenRequest without a token');
  return { token: status.token, expiresAtMs };
}

/**
 * Converts an error. It is `Unavailable` only if it says nothing about the account, because a definite answer must not
 * be replaced by an old token.
 */
function failure(error: unknown): KubeletError {
  if (error instanceof KubeletError) return error;
  const reason = error instanceof ApiStatusError ? error.reason : undefined;
  const kind =
    reason === 'NotFound'
      ? 'NotFound'
      : reason === 'Forbidden' || reason === 'Invalid' || reason === 'BadRequest' || reason === 'Conflict'
        ? 'Invalid'
        : 'Unavailable';
  return new KubeletError(kind, errorMessage(error), { op: 'request token', cause: error });
}
