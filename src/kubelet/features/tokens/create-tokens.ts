import type { ApiClient } from '../../../api/client/api-client.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { TokenSource } from '../../ports/tokens.ts';
import { ApiTokens } from './api-tokens.ts';
import type { ServiceAccountTokensOptions } from './service-account-tokens.ts';
import { ServiceAccountTokens } from './service-account-tokens.ts';

export interface CreateTokensParts extends Pick<ServiceAccountTokensOptions, 'clock' | 'random' | 'log'> {
  /** The API client; undefined on a standalone node. */
  readonly client: ApiClient | undefined;
  /** The store that keeps tokens across a restart of the agent. */
  readonly kept: Required<Pick<ServiceAccountTokensOptions, 'folder' | 'left'>> | undefined;
}

/** The source on a standalone node. Only an API server issues tokens (the message is upstream's in standalone mode). */
const standaloneSource: TokenSource = {
  request: () =>
    Promise.reject(new KubeletError('Unavailable', 'cannot use TokenManager when kubelet is in standalone mode')),
};

/** Creates the service account tokens of this node's pods. On a standalone node every request is rejected. */
export function createTokens({ client, kept, clock, random, log }: CreateTokensParts): ServiceAccountTokens {
  const source = client === undefined ? standaloneSource : new ApiTokens(client);
  return new ServiceAccountTokens({ source, clock, random, log, ...kept });
}
