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
 * The answer to a probe. `redirect`: a redirect to another host, which is not followed; a probe counts it as a success
 * with a warning. Bodies are cut off at 10 KiB. `broken`: why the body is incomplete although status and headers were
 * received.
 */
export type HttpProbeAnswer =
  | { kind: 'answer'; status: number; body: string; broken?: string }
  | { kind: 'redirect'; location: string; body: string };

/**
 * Outgoing connections for probes, hooks and sources. They reject with Timeout or Unavailable (refused, no route,
 * broken), with messages for users. They use neither a proxy nor an existing connection.
 */
export interface NetDial {
  /**
   * Follows at most 10 redirects on the same host. TLS is not verified. Sending the same request object again is
   * cheaper. Rejects with `Invalid` if an https request was answered in plain HTTP.
   */
  httpProbe(request: HttpProbeRequest, signal?: AbortSignal): Promise<HttpProbeAnswer>;
  tcpProbe(host: string, port: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls Health v1 Check without TLS. Resolves to the serving status. Rejects with `Unimplemented` if the server does
   * not support that protocol.
   */
  grpcProbe(
    host: string,
    port: number,
    service: string,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<'SERVING' | 'NOT_SERVING' | 'UNKNOWN' | 'SERVICE_UNKNOWN'>;
  /**
   * Makes a GET request for manifests from a URL, with TLS verified. Rejects with `Invalid` if the body is larger than
   * `limitBytes`.
   */
  fetch(
    url: string,
    headers: readonly { name: string; value: string }[],
    limits: { timeoutMs: number; limitBytes: number },
  ): Promise<{ status: number; body: string }>;
}
