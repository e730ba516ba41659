import { Buffer } from 'node:buffer';
import type { ServiceError } from '@grpc/grpc-js';
import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { KubeletError } from '../../../base/errors.ts';
import { memoizeText } from '../../../base/memoize-text.ts';
import { formatDurationMs } from '../../../api/duration.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import { checkPlain, healthCheckBytes } from './net-dial-grpc-plain.ts';

type ServingStatus = Awaited<ReturnType<NetDial['grpcProbe']>>;
/** The values of grpc.health.v1.HealthCheckResponse.ServingStatus, by number. */
const servingStatuses: readonly ServingStatus[] = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/** Encodes HealthCheckRequest { string service = 1 }. */
function encodeRequest(service: string): Buffer {
  const bytes = Buffer.from(service, 'utf8');
  if (bytes.length === 0) return Buffer.alloc(0);
  const head = [0x0a];
  let left = bytes.length;
  for (; left > 0x7f; left >>>= 7) head.push((left & 0x7f) | 0x80);
  return Buffer.concat([Buffer.from([...head, left]), bytes]);
}

/** Decodes HealthCheckResponse { ServingStatus status = 1 }. It is the only field, and absent for 0. */
function decodeResponse(bytes: Buffer): ServingStatus {
  return bytes[0] === 0x08 ? (servingStatuses[bytes[1] ?? 0] ?? 'UNKNOWN') : 'UNKNOWN';
}

const MAX_KNOWN = 4096;

/** The bytes of the check of `ADDRESS SERVICE`. A node has few different ones. */
const bytesOf = memoizeText(
  (check) => {
    const space = check.indexOf(' ');
    return healthCheckBytes(check.slice(0, space), encodeRequest(check.slice(space + 1)));
  },
  { limit: MAX_KNOWN },
);

/**
 * Makes one health check on its own connection, without TLS (upstream: probe/grpc). It first uses the cheap client,
 * which nearly always succeeds. Other results are repeated with a full client within the remaining time, because that
 * one reports the cause.
 */
export async function grpcHealthCheck(target: GrpcTarget, signal?: AbortSignal): Promise<ServingStatus> {
  const startMs = performance.now();
  const message = await checkPlain({ ...target, bytes: bytesOf(`${target.address} ${target.service}`) }, signal);
  if (message !== undefined) return decodeResponse(message);
  const leftMs = target.timeoutMs - (performance.now() - startMs);
  if (leftMs <= 0) throw signal?.aborted === true ? aborted() : timeoutOf(target);
  return checkFully(target, leftMs, signal);
}

export interface GrpcTarget {
  readonly host: string;
  readonly port: number;
  /** Host and port. */
  readonly address: string;
  readonly service: string;
  readonly timeoutMs: number;
}

const aborted = (): KubeletError => new KubeletError('Aborted', 'the probe was aborted');

function checkFully(target: GrpcTarget, leftMs: number, signal?: AbortSignal): Promise<ServingStatus> {
  const { address, service } = target;
  const client = new Client(address, credentials.createInsecure(), {
    'grpc.primary_user_agent': 'kube-probe/1.36',
    'grpc.enable_http_proxy': 0,
    'grpc.use_local_subchannel_pool': 1,
  });
  let guard: NodeJS.Timeout | undefined;
  return new Promise<ServingStatus>((resolve, reject) => {
    const deadline = Date.now() + leftMs;
    // The client's own deadline is not reliable while a peer floods it.
    guard = setTimeout(() => reject(timeoutOf(target)), leftMs);
    const call = client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      encodeRequest,
      decodeResponse,
      service,
      new Metadata(),
      { deadline },
      (error, answer) => {
        signal?.removeEventListener('abort', abort);
        if (error === null) resolve(answer ?? 'UNKNOWN');
        else reject(signal?.aborted === true ? aborted() : failureOf(error, target));
      },
    );
    const abort = (): void => call.cancel();
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
  }).finally(() => {
    clearTimeout(guard);
    client.close();
  });
}

function timeoutOf({ timeoutMs }: GrpcTarget): KubeletError {
  return new KubeletError('Timeout', `timeout: health rpc did not complete within ${formatDurationMs(timeoutMs)}`);
}

/**
 * Converts an error to upstream's words. Upstream waits for a connection until the deadline and then reports that; here
 * a refused connection is reported immediately with its reason.
 */
function failureOf(error: ServiceError, { address, timeoutMs }: GrpcTarget): KubeletError {
  const options = { op: 'grpc health check', cause: error };
  if (error.code === status.UNIMPLEMENTED)
    return new KubeletError(
      'Unimplemented',
      `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${error.details}`,
      options,
    );
  if (error.code === status.DEADLINE_EXCEEDED)
    return new KubeletError(
      'Timeout',
      `timeout: health rpc did not complete within ${formatDurationMs(timeoutMs)}`,
      options,
    );
  if (error.code === status.UNAVAILABLE)
    return new KubeletError(
      'Unavailable',
      `error: failed to connect service at "${address}": ${error.details}`,
      options,
    );
  return new KubeletError(
    'Unavailable',
    `error: health rpc probe failed: rpc error: code = ${codeNames[error.code] ?? error.code} desc = ${error.details}`,
    options,
  );
}

/** The codes as Go's client prints them. */
const codeNames: Readonly<Record<number, string>> = {
  1: 'Canceled',
  2: 'Unknown',
  3: 'InvalidArgument',
  5: 'NotFound',
  6: 'AlreadyExists',
  7: 'PermissionDenied',
  8: 'ResourceExhausted',
  9: 'FailedPrecondition',
  10: 'Aborted',
  11: 'OutOfRange',
  13: 'Internal',
  15: 'DataLoss',
  16: 'Unauthenticated',
};
