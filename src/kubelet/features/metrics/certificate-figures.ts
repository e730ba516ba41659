import type { Clock } from '../../../base/clock.ts';
import type { AgentMetrics } from './agent-metrics.ts';

/** Metrics of the node's certificates (upstream: kubelet_certificate_manager_client_ttl_seconds and its siblings). */
export class CertificateFigures {
  readonly #clock: Clock;
  #client: () => number | undefined = () => undefined;
  #server: () => number | undefined = () => undefined;
  #clientFailures = 0;
  #serverFailures = 0;
  readonly #rotations = new Set<(ageSeconds: number) => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  watchClient(notAfterMs: () => number | undefined): void {
    this.#client = notAfterMs;
  }

  watchServer(notAfterMs: () => number | undefined): void {
    this.#server = notAfterMs;
  }

  clientRenewFailed(): void {
    this.#clientFailures += 1;
  }

  serverRenewFailed(): void {
    this.#serverFailures += 1;
  }

  serverRotated(ageSeconds: number): void {
    for (const observe of this.#rotations) observe(ageSeconds);
  }

  /** Returns the remaining whole seconds; Infinity while there is no valid certificate. */
  clientTtlSeconds(): number {
    return this.#left(this.#client());
  }

  serverTtlSeconds(): number {
    return this.#left(this.#server());
  }

  /** The value of kubelet_certificate_manager_client_expiration_renew_errors. */
  get clientRenewErrors(): number {
    return this.#clientFailures;
  }

  /** The value of kubelet_server_expiration_renew_errors. */
  get serverRenewErrors(): number {
    return this.#serverFailures;
  }

  /**
   * Observes the age of each serving certificate at its rotation: kubelet_certificate_manager_server_rotation_seconds.
   */
  onServerRotated(observe: (ageSeconds: number) => void): void {
    this.#rotations.add(observe);
  }

  #left(notAfterMs: number | undefined): number {
    return notAfterMs === undefined ? Infinity : Math.trunc((notAfterMs - this.#clock.nowMs()) / 1000);
  }
}

/**
 * Connects the metrics of certificates (upstream: certificate/kubelet.go). Without a manager the remaining time is
 * infinite.
 */
export function observeCertificates({ main }: Pick<AgentMetrics, 'main'>, figures: CertificateFigures): void {
  figures.onServerRotated((ageSeconds) =>
    main.observe('kubelet_certificate_manager_server_rotation_seconds', {}, ageSeconds),
  );
  main.collect(() => {
    main.set('kubelet_certificate_manager_client_ttl_seconds', {}, figures.clientTtlSeconds());
    main.set('kubelet_certificate_manager_server_ttl_seconds', {}, figures.serverTtlSeconds());
    main.setTotal('kubelet_certificate_manager_client_expiration_renew_errors', {}, figures.clientRenewErrors);
    main.setTotal('kubelet_server_expiration_renew_errors', {}, figures.serverRenewErrors);
  });
}
