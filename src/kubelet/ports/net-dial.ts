export interface HttpProbeRequest {
  readonly scheme: 'http' | 'https';
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: readonly { name: string; value: string }[];
  readonly timeoutMs: number;
  readonly method?: 'GET' | 'POST';
}

/**
 * `redirect`: a redirect to another host, which is not followed; a probe counts it as a success with a warning. Bodies
 * are cut off at 10 KiB. `broken`: why the body was incomplete; status and headers were received.
 */
export type HttpProbeAnswer =
  | { kind: 'answer'; status: number; body: string; broken?: string }
  | { kind: 'redirect'; location: string; body: string };

/**
 * Outgoing connections for probes, hooks and sources. Reject with Timeout or Unavailable (refused, no route, broken),
 * with messages meant for people. Never through a proxy, never over a kept connection.
 */
export interface NetDial {
  /**
   * At most 10 redirects on the same host. TLS is not verified. Sending the same request object again is cheaper.
   * `Invalid`: an https request was answered in plain HTTP.
   */
  httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer>;
  tcpProbe(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * Health v1 Check without TLS; resolves to the serving status. `Unimplemented`: the server does not support that
   * protocol.
   */
  grpcProbe(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<'SERVING' | 'NOT_SERVING' | 'UNKNOWN' | 'SERVICE_UNKNOWN'>;
  /** A plain GET for manifests from a URL, with TLS verified; `Invalid` when the body is larger than `limitBytes`. */
  fetch(
    url: string,
    headers: readonly { name: string; value: string }[],
    limits: { timeoutMs: number; limitBytes: number },
  ): Promise<{ status: number; body: string }>;
}
