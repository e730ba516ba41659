import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, ApiBackends, BackendAddress } from '../../model/api-backends.ts';
import type { BackendDialer } from './backend-dialer.ts';

export interface AggregationParts {
  readonly backends: ApiBackends;
  readonly dialer: BackendDialer;
  /** Its current address, or a string with the reason why it has none. */
  readonly resolve: (backend: ApiBackend) => BackendAddress | string;
  /** Identifies this process: a request that it has already proxied carries it. */
  readonly serverId: string;
  readonly clock: Clock;
}
