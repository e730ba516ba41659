import { Buffer } from 'node:buffer';
import { Client, credentials, Metadata, status, type ServiceError } from '@grpc/grpc-js';
import { KubeletError } from '../../base/errors.ts';
import type { NetDial } from '../ports/net-dial.ts';

type ServingStatus = Awaited<ReturnType<NetDial['grpcProbe']>>;
/** grpc.health.v1.HealthCheckResponse.ServingStatus, by number. */
const servingStatuses: readonly ServingStatus[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** HealthCheckRequest { string service = 1 }. */
function encodeRequest(service: string): Buffer {
  const bytes = Buffer.from(service, 'utf8');
  if (bytes.length === 0) return Buffer.alloc(0);
  const head = [0x0a];
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) head.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, left]), bytes]);
}

/** HealthCheckResponse { ServingStatus status = 1 }: the only field there is, and absent for 0. */
function decodeResponse(bytes: Buffer): ServingStatus {
  return bytes[0] === 0x08 ? (servingStatuses[bytes[1] ?? 0] ?? 'UNKNOWN') : 'UNKNOWN';
}

/** One health check on a connection of its own, without TLS (upstream: probe/grpc). */
export function grpcHealthCheck(target: { address: string; service: string; timeoutMs: number }, signal?: AbortSignal): Promise<ServingStatus> {
  const { address, service, timeoutMs } = target;
  const client = new Client(address, credentials.createInsecure(), { 'grpc.primary_user_agent': 'kube-probe/1.36', 'grpc.enable_http_proxy': 0, 'grpc.use_local_subchannel_pool': 1 });
  return new Promise<ServingStatus>((resolve, reject) => {
    const deadline = Date.now() + timeoutMs;
    const call = client.makeUnaryRequest('/grpc.health.v1.Health/Check', encodeRequest, decodeResponse, service, new Metadata(), { deadline }, (error, answer) => {
      signal?.removeEventListener('abort', abort);
      if (error === null) resolve(answer ?? 'UNKNOWN');
      else reject(signal?.aborted === true ? new KubeletError('Aborted', 'the probe was aborted') : failureOf(error, target));
    });
    const abort = (): void => call.cancel();
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  }).finally(() => client.close());
}

function failureOf(error: ServiceError, target: { address: string; timeoutMs: number }): KubeletError {
  const options = { op: 'grpc health check', cause: error };
  if (error.code === status.UNIMPLEMENTED) return new KubeletError('Unimplemented', `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`, options);
  if (error.code === status.DEADLINE_EXCEEDED) return new KubeletError('Timeout', `timeout: health rpc did not complete within ${target.timeoutMs / 1000}s`, options);
  if (error.code === status.UNAVAILABLE) return new KubeletError('Unavailable', `error: failed to connect service at "${target.address}": ${error.details}`, options);
  return new KubeletError('Unavailable', `error: health rpc probe failed: ${error.details}`, options);
}
