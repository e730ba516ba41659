import type { Informers } from '../../api/client/informer.ts';
import { services } from '../../api/client/resource-types.ts';
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLoop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import { followServices, slicesByService } from './follow-services.ts';
import type { HealthAnswer, HealthCheck } from './service-health.ts';
import { computeHealthChecks, healthAnswer } from './service-health.ts';

export interface HealthCheckPorts {
  /** If a port cannot be opened, logs the error and leaves the port closed. */
  open(port: number, answer: () => HealthAnswer): void;
  isOpen(port: number): boolean;
  close(port: number): void;
}

export interface HealthReporterOptions {
  readonly informers: Informers;
  readonly ports: HealthCheckPorts;
  readonly nodeName: string;
  /** Whether the kernel has the desired rules of services. */
  readonly isProxyHealthy: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The retry interval of a port that another program uses. */
const CHECK_MS = 10_000;

/** Opens the health check ports of services, and keeps their answers up to date. */
export function createHealthReporter(options: HealthReporterOptions): { start(): void; stop(): Promise<void> } {
  const { informers, ports, nodeName, isProxyHealthy } = options;
  const slicesOf = slicesByService(informers);
  let checks: ReadonlyMap<number, HealthCheck> = new Map();
  const opened = new Set<number>();
  const close = (port: number): void => {
    ports.close(port);
    opened.delete(port);
  };
  const pass = (): Promise<void> => {
    if (!informers.hasSynced()) return Promise.resolve();
    checks = computeHealthChecks(informers.for(services).list(), slicesOf, nodeName);
    for (const port of opened) if (!checks.has(port)) close(port);
    for (const [port, first] of checks) {
      if (ports.isOpen(port)) continue;
      opened.add(port);
      ports.open(port, () => healthAnswer(checks.get(port) ?? { ...first, localEndpoints: 0 }, isProxyHealthy()));
    }
    return Promise.resolve();
  };
  const loop = createLoop({ ...options, name: 'service-health', periodMs: () => CHECK_MS, pass });
  const wake = (): void => loop.wake();
  let unfollow = (): void => undefined;
  return {
    start: () => {
      unfollow = followServices(informers, wake);
      loop.start();
    },
    stop: async () => {
      unfollow();
      await loop.stop();
      for (const port of opened) close(port);
    },
  };
}
