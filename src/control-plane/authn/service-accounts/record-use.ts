import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { secrets } from '../../../api/client/resource-types.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { dayOf, legacyToken } from '../../../api/legacy-token.ts';

export interface UseRecorderOptions {
  readonly client: () => ApiClient;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Labels Secrets with the day on which their token was last used, once a day, without delaying the request (upstream:
 * legacyValidator).
 */
export function createUseRecorder({ client, clock, log }: UseRecorderOptions): (secret: Secret) => void {
  const writing = new Set<string>();
  return (secret) => {
    const today = dayOf(clock.nowMs());
    const key = formatKey(keyOf(secret));
    if (secret.metadata.labels?.[legacyToken.lastUsed] === today || writing.has(key)) return;
    writing.add(key);
    const body = { metadata: { labels: { [legacyToken.lastUsed]: today }, uid: secret.metadata.uid } };
    const write = async (): Promise<void> => {
      try {
        await client().patch(secrets, keyOf(secret), { type: 'merge', body });
      } finally {
        writing.delete(key);
      }
    };
    inBackground(log, 'record the use of a token', write());
  };
}
