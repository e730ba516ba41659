import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind, KubeletError } from '../../../base/errors.ts';
import { CodecInvoker } from '../../../grpc/codec-invoker.ts';
import { GrpcChannel } from '../../../grpc/grpc-channel.ts';
import type { GrpcTls } from '../../../grpc/grpc-channel.ts';
import { grpcCodeOf } from '../../../grpc/grpc-status.ts';
import { bindService, methodPath } from '../../../grpc/service-binding.ts';
import type { ApiOf, Invoker, MethodDefinition } from '../../../grpc/service-binding.ts';
import { KVDefinition, LeaseDefinition, MaintenanceDefinition } from './generated/etcd-v3.ts';
import type { TxnResponse } from './generated/etcd-v3.ts';
import { AnswerTimes } from './answer-times.ts';
import { callRepeatedly } from './repeated-call.ts';

export interface EtcdClientOptions {
  /** The members of one cluster: `http://127.0.0.1:2379`, `https://etcd-0:2379`, ... */
  readonly endpoints: readonly string[];
  /** The TLS settings for https endpoints. */
  readonly tls?: GrpcTls;
  readonly clock: Clock;
}

const STATUS_PATH = '/etcdserverpb.Maintenance/Status';
const CALL_TIMEOUT_MS = 10_000;
/** The time limit of a connection to a member before the next one is tried. */
const CONNECT_TIMEOUT_MS = 2000;
/** The maximum pause between connection attempts, short enough that a member that is available again is found soon. */
const RECONNECT_MS = 500;
/**
 * The maximum size of an answer, as in etcd's own client. Lists are fetched in pages, but a page of the largest objects
 * is large.
 */
const MAX_ANSWER_BYTES = 2 ** 31 - 1;
/**
 * The interval of keepalive pings. etcd refuses clients that ping more often than every 5 s
 * (--grpc-keepalive-min-time).
 */
const SILENCE_MS = 6000;
/**
 * Calls that change nothing, and can be repeated on another member. Lease grants are included, because an unknown lease
 * expires.
 */
const repeatable: ReadonlySet<string> = new Set(['Range', 'Status', 'LeaseGrant']);
/** No attempt starts later than this after the first one. An election of etcd takes up to 2 s. */
const REPEAT_LIMIT_MS = 4000;

/**
 * Calls an etcd cluster: one member as long as it answers, then the next one. Invariants:
 * 1. Reads, and transactions that can be repeated (`txn`), are sent to the next member when one fails or is silent, for
 *    a few seconds, which is long enough for an election.
 * 2. Any other call is sent at most once, and only over an established connection. If it fails after that, its outcome
 *    is unknown and the call fails accordingly (`Unavailable`, `Timeout`). Before that, another member is tried.
 */
export class EtcdClient {
  readonly kv: ApiOf<KVDefinition>;
  readonly lease: ApiOf<LeaseDefinition>;
  readonly maintenance: ApiOf<MaintenanceDefinition>;
  readonly #channels: readonly GrpcChannel[];
  readonly #endpoints: readonly string[];
  readonly #invokers: readonly CodecInvoker[];
  readonly #clock: Clock;
  #current = 0;
  readonly #times: readonly AnswerTimes[];

  constructor({ endpoints, tls, clock }: EtcdClientOptions) {
    if (endpoints.length === 0) throw new KubeletError('Invalid', 'no etcd endpoint is given', { op: 'etcd' });
    this.#endpoints = endpoints;
    this.#times = endpoints.map(() => new AnswerTimes());
    this.#clock = clock;
    this.#channels = endpoints.map(
      (endpoint) =>
        new GrpcChannel({
          ...parseEndpoint(endpoint, tls),
          clock,
          maxMessageBytes: MAX_ANSWER_BYTES,
          maxReconnectMs: RECONNECT_MS,
          silenceMs: SILENCE_MS,
        }),
    );
    this.#invokers = this.#channels.map(
      (channel) => new CodecInvoker(channel, { clock, timeoutMs: () => CALL_TIMEOUT_MS }),
    );
    const invoker: Invoker = {
      unary: (path, method, request, options) =>
        repeatable.has(method.name)
          ? this.#repeat(path, method, request, () => undefined)
          : this.#try((member) => memberOf(this.#invokers, member).unary(path, method, request, options)),
      stream: (path, method, request, options) =>
        memberOf(this.#invokers, this.#current).stream(path, method, request, options),
    };
    this.kv = bindService(KVDefinition, invoker);
    this.lease = bindService(LeaseDefinition, invoker);
    this.maintenance = bindService(MaintenanceDefinition, invoker);
  }

  /**
   * Runs a transaction whose condition becomes false by its own success, so that only one of several attempts takes
   * effect. `isRepeated` means that there were several attempts, and the answer is that of one of them.
   */
  async txn(request: object): Promise<{ readonly answer: TxnResponse; readonly isRepeated: boolean }> {
    const { txn } = KVDefinition.methods;
    let sent = 0;
    const answer = await this.#repeat(methodPath(KVDefinition, txn), txn, request, () => void (sent += 1));
    return { answer: answer as TxnResponse, isRepeated: sent > 1 };
  }

  /** Connects to a member that can be reached now. */
  async connect(): Promise<GrpcChannel> {
    let reason = '';
    for (let tries = 1; tries <= this.#channels.length; tries++) {
      const channel = memberOf(this.#channels, this.#current);
      if (channel.connected) return channel;
      try {
        // A call is made instead of waiting for the connection, because it fails as soon as an attempt does, with the
        // reason.
        await channel.unary({
          op: 'Status',
          path: STATUS_PATH,
          request: new Uint8Array(),
          timeoutMs: CONNECT_TIMEOUT_MS,
        });
        return channel;
      } catch (error) {
        if (isKind(error, 'Aborted')) throw error;
        if (!isKind(error, 'Unavailable') && !isKind(error, 'Timeout')) return channel;
        reason = errorMessage(error);
        this.leave(channel);
      }
    }
    return this.#lastTry(reason);
  }

  /** Waits for gRPC's next connection attempt, so that a member that has just become available is found. */
  async #lastTry(reason: string): Promise<GrpcChannel> {
    const channel = memberOf(this.#channels, this.#current);
    try {
      await channel.ready(CONNECT_TIMEOUT_MS);
      return channel;
    } catch (error) {
      if (isKind(error, 'Aborted')) throw error;
      this.leave(channel);
      throw new KubeletError('Unavailable', `etcd cannot be reached at ${this.#endpoints.join(', ')}: ${reason}`, {
        op: 'etcd',
        cause: error,
      });
    }
  }

  /** Stops using this member for now. Later calls go to the next one. */
  leave(channel: GrpcChannel): void {
    if (memberOf(this.#channels, this.#current) === channel)
      this.#current = (this.#current + 1) % this.#channels.length;
  }

  close(): void {
    for (const channel of this.#channels) channel.close();
  }

  async #try(call: (member: number) => Promise<unknown>): Promise<unknown> {
    const channel = await this.connect();
    try {
      return await call(this.#channels.indexOf(channel));
    } catch (error) {
      const failure = etcdError(error);
      if (failure.kind === 'Unavailable') this.leave(channel);
      throw failure;
    }
  }

  #repeat(path: string, method: MethodDefinition, request: object, onSend: () => void): Promise<unknown> {
    const beganMs = this.#clock.monotonicMs();
    const sent: { readonly times: AnswerTimes; readonly atMs: number }[] = [];
    let tried = memberOf(this.#channels, this.#current);
    const attempt = async (isNext: boolean, signal: AbortSignal): Promise<unknown> => {
      if (isNext) this.leave(tried);
      tried = memberOf(this.#channels, this.#current);
      const channel = (tried = await this.connect());
      const member = this.#channels.indexOf(channel);
      onSend();
      const [times, atMs] = [memberOf(this.#times, member), this.#clock.monotonicMs()];
      sent.push({ times, atMs });
      const timeoutMs = Math.max(1, beganMs + CALL_TIMEOUT_MS - atMs);
      const answer = await memberOf(this.#invokers, member).unary(path, method, request, { timeoutMs, signal });
      times.answered(atMs, this.#clock.monotonicMs());
      return answer;
    };
    return callRepeatedly({
      clock: this.#clock,
      silenceMs: memberOf(this.#times, this.#current).silenceMs,
      limitMs: REPEAT_LIMIT_MS,
      // One that is not sent yet waits for a connection. There is no other member than the only one.
      isLost: () =>
        this.#channels.length > 1 && sent.every(({ times, atMs }) => times.isLost(atMs, this.#clock.monotonicMs())),
      attempt: (isNext, signal) =>
        attempt(isNext, signal).catch((error: unknown) => {
          throw etcdError(error);
        }),
      mayRepeat: (error) => (isKind(error, 'Unavailable') || isKind(error, 'Timeout')) && !isOutOfSpace(error),
    });
  }
}

function memberOf<T>(members: readonly T[], index: number): T {
  const member = members[index];
  if (member === undefined) throw new KubeletError('Internal', `no etcd member ${index}`);
  return member;
}

function parseEndpoint(endpoint: string, tls: GrpcTls | undefined): { address: string; tls?: GrpcTls } {
  const url = URL.parse(endpoint.includes('://') ? endpoint : `http://${endpoint}`);
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.hostname === '') {
    throw new KubeletError(
      'Invalid',
      `etcd endpoint ${JSON.stringify(endpoint)} is not a URL such as https://127.0.0.1:2379`,
      { op: 'etcd' },
    );
  }
  const address = `${url.hostname}:${url.port === '' ? '2379' : url.port}`;
  return url.protocol === 'https:' ? { address, tls: tls ?? {} } : { address };
}

const NO_SPACE = 'etcd rejects writes because its space is used up';
const isOutOfSpace = (error: unknown): boolean => errorMessage(error).startsWith(NO_SPACE);

/** Converts an error of etcd. Some differ only in their texts, which are part of etcd's API (rpctypes). */
function etcdError(error: unknown): KubeletError {
  const message = errorMessage(error);
  const options = { op: 'etcd', cause: error instanceof KubeletError ? error.cause : error };
  if (message.includes('required revision has been compacted'))
    return new KubeletError('Conflict', 'the revision is compacted', options);
  if (message.includes('database space exceeded')) {
    return new KubeletError(
      'Unavailable',
      `${NO_SPACE}: compact, defragment and disarm the alarm (etcdctl defrag; etcdctl alarm disarm), or raise --quota-backend-bytes`,
      options,
    );
  }
  // The deadline of a call is that of this client. If etcd itself gave up, that is a state of the server (no leader, a
  // slow disk).
  const isState = ['etcdserver: request timed out', 'raft proposal dropped'].some((words) => message.includes(words));
  if (isState || grpcCodeOf(error) === 'Unavailable') return new KubeletError('Unavailable', message, options);
  return error instanceof KubeletError ? error : new KubeletError('Internal', message, options);
}
