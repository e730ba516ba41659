import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, ApiBackends, BackendAddress } from '../../model/api-backends.ts';
import type { BackendDialer } from './backend-dialer.ts';

export interface AggregationParts {
  readonly backends: ApiBackends;
  readonly dialer: BackendDialer;
  /** Returns the server's current address, or a text with the reason why it has none. */
  readonly resolve: (backend: ApiBackend) => BackendAddress | string;
  /** The ID of this process, which proxied requests carry to detect loops. */
  readonly serverId: string;
  readonly clock: Clock;
}
