import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Tracer } from '../base/tracer.ts';

export interface TracerOptions {
  /** `host:port`, or an address in gRPC's notation. */
  readonly endpoint: string | undefined;
  /**
   * How many traces of a million that begin here are sent. Traces that began elsewhere are sent if the caller's are.
   */
  readonly samplingRatePerMillion: number;
  readonly service: string;
  readonly hostName?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenTracer extends Tracer {
  /** Sends the collected spans. Resolves within two seconds in any case. */
  close(): Promise<void>;
}
