import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { Tracer } from '../base/tracer.ts';

export interface TracerOptions {
  /** `host:port`, or an address in gRPC's notation. */
  readonly endpoint: string | undefined;
  /** How many of a million traces that begin here are sent; traces that began elsewhere are sent if the caller's are. */
  readonly samplingRatePerMillion: number;
  readonly service: string;
  readonly hostName?: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface OpenTracer extends Tracer {
  /** Sends what was collected. Resolves within two seconds, whatever the collector does. */
  close(): Promise<void>;
}
