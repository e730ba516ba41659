import type { Clock } from '../../../base/clock.ts';
import type { ApiBackend, ApiBackends, BackendAddress } from '../../model/api-backends.ts';
import type { BackendDialer } from './backend-dialer.ts';

export interface AggregationParts {
  readonly backends: ApiBackends;
  readonly dialer: BackendDialer;
  /** Where it is now; a text when it is nowhere. */
  readonly resolve: (backend: ApiBackend) => BackendAddress | string;
  /** Of this process: a request that has been here already carries it. */
  readonly serverId: string;
  readonly clock: Clock;
}
