import { Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js';
import type { CallOptions as GrpcCallOptions, ChannelCredentials, ClientOptions } from '@grpc/grpc-js';
import { isIP } from 'node:net';
import { checkServerIdentity as checkIdentity } from 'node:tls';
import type { PeerCertificate } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { errorFromStatus } from './grpc-status.ts';
import type { StatusWording } from './grpc-status.ts';

/**
 * The largest message that either side accepts, in bytes (upstream: cri-client utils.go; also containerd's default).
 */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One call with an encoded request and answer. */
export interface RawCall {
  /** The method name, for errors. */
  readonly op: string;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly request: Uint8Array;
  /** `Infinity` means no deadline. */
  readonly timeoutMs: number;
  /** The format of the error message. */
  readonly wording?: StatusWording;
  /** Sent as headers. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

const MAX_RECONNECT_MS = 3000;
const SILENCE_MS = 30_000;

/** A server on a unix socket, or at `host:port` with or without TLS. */
export type GrpcTarget = { socketPath: string } | { address: string; tls?: GrpcTls };

/**
 * All in PEM. Without `ca`, Node's authorities are used; without `cert` and `key`, the client presents no certificate.
 */
export interface GrpcTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export type GrpcChannelOptions = GrpcTarget & {
  /** Its wall time must be that of the machine, because gRPC computes durations from deadlines with it. */
  clock: Clock;
  /** The largest accepted message in bytes; default `MAX_MESSAGE_BYTES`. */
  maxMessageBytes?: number;
  /** The longest delay between two attempts to connect; default 3 s, as in upstream's CRI client. */
  maxReconnectMs?: number;
  /** For remote servers: after this time without data, a keepalive ping is sent; default 30 s. */
  silenceMs?: number;
};

/** A call in which both sides can send at any time. */
export interface DuplexCall {
  write(message: Uint8Array): void;
  /** Cancels the call. No handler is called after this. */
  cancel(): void;
}

export interface DuplexHandlers {
  readonly message: (message: Uint8Array) => void;
  /**
   * Called once when the call ends, except after `cancel`; without an error when the server ended the call normally.
   */
  readonly end: (error: KubeletError | undefined) => void;
}

interface Cancellable {
  cancel(): void;
}

const identity = (bytes: Buffer): Buffer => bytes;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * A connection to a gRPC server. It is the only client code that uses grpc-js. It connects on the first call, and
 * reconnects with delays of 100 ms to 3 s when the connection is lost. Calls made meanwhile fail at once with
 * `Unavailable`. Invariants: every failure is a KubeletError; a call that was ended by its signal or by `close` fails
 * with `Aborted`, whatever the server answered.
 */
export class GrpcChannel {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #active = new Set<Cancellable>();
  #closed = false;

  constructor(options: GrpcChannelOptions) {
    this.#clock = options.clock;
    const { maxMessageBytes = MAX_MESSAGE_BYTES, maxReconnectMs = MAX_RECONNECT_MS, silenceMs = SILENCE_MS } = options;
    const remote = 'address' in options;
    const { channelCredentials, nameOptions } =
      remote && options.tls !== undefined
        ? secured(options.address, options.tls)
        : { channelCredentials: credentials.createInsecure(), nameOptions: {} };
    this.#client = new Client(remote ? options.address : `unix:${options.socketPath}`, channelCredentials, {
      ...nameOptions,
      // A machine that is gone sends no data, and no reset. Only an unanswered ping detects this.
      ...(remote ? { 'grpc.keepalive_time_ms': silenceMs, 'grpc.keepalive_timeout_ms': 10_000 } : {}),
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.max_send_message_length': maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': maxReconnectMs,
      'grpc.enable_channelz': 0,
      'grpc.enable_http_proxy': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  unary(call: RawCall): Promise<Uint8Array> {
    const refused = this.#refusal(call);
    if (refused !== undefined) return Promise.reject(refused);
    return new Promise((resolve, reject) => {
      const wire = this.#client.makeUnaryRequest(
        call.path,
        identity,
        identity,
        asBuffer(call.request),
        metadataOf(call),
        this.#grpcOptions(call),
        (error, response) => {
          const aborted = finish();
          if (error === null && response !== undefined) resolve(response);
          else reject(aborted ? abortedError(call.op, error) : errorFromStatus(call.op, error, call.wording));
        },
      );
      const finish = this.#track(wire, call.signal);
    });
  }

  /** The call starts at the first `next()`. Leaving the loop early cancels it. */
  async *stream(call: RawCall): AsyncGenerator<Uint8Array, void, undefined> {
    const refused = this.#refusal(call);
    if (refused !== undefined) throw refused;
    const wire = this.#client.makeServerStreamRequest(
      call.path,
      identity,
      identity,
      asBuffer(call.request),
      metadataOf(call),
      this.#grpcOptions(call),
    );
    // After a cancel grpc-js reports it once more to a stream without a reader.
    wire.on('error', () => undefined);
    const finish = this.#track(wire, call.signal);
    let aborted = false;
    try {
      for await (const message of wire) yield message as Buffer;
    } catch (error) {
      aborted = finish();
      throw aborted ? abortedError(call.op, error) : errorFromStatus(call.op, error, call.wording);
    } finally {
      finish();
      wire.cancel();
    }
  }

  /** Starts the call at once. `metadata` is sent as headers. */
  duplex(
    call: Pick<RawCall, 'op' | 'path' | 'wording'> & { metadata?: Readonly<Record<string, string>> },
    handlers: DuplexHandlers,
  ): DuplexCall {
    const wire = this.#client.makeBidiStreamRequest(call.path, asBuffer, identity, metadataOf(call), {});
    const finish = this.#track(wire, undefined);
    let over = false;
    const end = (error: KubeletError | undefined): void => {
      finish();
      if (over) return;
      over = true;
      handlers.end(error);
    };
    wire.on('data', (message: Buffer) => {
      if (!over) handlers.message(message);
    });
    wire.on('error', (error) =>
      end(this.#closed ? abortedError(call.op, error) : errorFromStatus(call.op, error, call.wording)),
    );
    wire.on('end', () => end(undefined));
    return {
      write: (message) => void (over || wire.write(message)),
      cancel: () => {
        over = true;
        finish();
        wire.cancel();
      },
    };
  }

  /** Whether a call made now would be sent at once. */
  get connected(): boolean {
    return !this.#closed && this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /**
   * Resolves once connected, after any number of attempts. Fails with `Timeout` when there is no connection within the
   * limit, and with `Aborted` on `close`.
   */
  ready(timeoutMs: number): Promise<void> {
    if (this.#closed) return Promise.reject(abortedError('connect', undefined));
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(this.#clock.nowMs() + timeoutMs, (error) => {
        if (error === undefined) resolve();
        else
          reject(
            this.#closed
              ? abortedError('connect', error)
              : new KubeletError('Timeout', 'context deadline exceeded', { op: 'connect', cause: error }),
          );
      });
    });
  }

  /**
   * Keeps the connection open, and calls `listener` at each change. The initial state is "not connected". Returns a
   * function that stops this; after `close`, `listener` is not called.
   */
  followConnection(listener: (connected: boolean) => void): () => void {
    const channel = this.#client.getChannel();
    let known = false;
    let over = false;
    const look = (): void => {
      if (over || this.#closed) return;
      const state = channel.getConnectivityState(true);
      const connected = state === connectivityState.READY;
      channel.watchConnectivityState(state, Infinity, look);
      if (connected === known) return;
      known = connected;
      listener(connected);
    };
    look();
    return () => {
      over = true;
    };
  }

  /** Cancels all calls and disconnects. Later calls fail with `Aborted`. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const call of this.#active) call.cancel();
    this.#client.close();
  }

  #refusal(call: RawCall): KubeletError | undefined {
    if (this.#closed || call.signal?.aborted === true) return abortedError(call.op, undefined);
    return undefined;
  }

  #grpcOptions(call: RawCall): GrpcCallOptions {
    return Number.isFinite(call.timeoutMs) ? { deadline: this.#clock.nowMs() + call.timeoutMs } : {};
  }

  /**
   * Cancels the call when its signal aborts or on `close`. The returned function stops this, and returns whether one of
   * the two ended the call.
   */
  #track(wire: Cancellable, signal: AbortSignal | undefined): () => boolean {
    const cancel = (): void => wire.cancel();
    signal?.addEventListener('abort', cancel, { once: true });
    this.#active.add(wire);
    return () => {
      signal?.removeEventListener('abort', cancel);
      this.#active.delete(wire);
      return this.#closed || signal?.aborted === true;
    };
  }
}

/**
 * grpc-js sends the address as the server name, which TLS forbids for IP addresses. For an IP address another name is
 * sent, and the certificate is still checked against the address.
 */
function secured(
  address: string,
  tls: GrpcTls,
): { channelCredentials: ChannelCredentials; nameOptions: ClientOptions } {
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  const byAddress = isIP(host) !== 0;
  const checkServerIdentity = byAddress
    ? (_name: string, certificate: PeerCertificate) => checkIdentity(host, certificate)
    : undefined;
  return {
    channelCredentials: credentials.createSsl(
      tls.ca ?? null,
      tls.key ?? null,
      tls.cert ?? null,
      checkServerIdentity === undefined ? {} : { checkServerIdentity },
    ),
    nameOptions: byAddress ? { 'grpc.ssl_target_name_override': 'localhost' } : {},
  };
}

function metadataOf({ metadata: headers = {} }: Pick<RawCall, 'metadata'>): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  return metadata;
}

function abortedError(op: string, cause: unknown): KubeletError {
  return new KubeletError('Aborted', `${op} was cancelled`, { op, cause: cause ?? undefined });
}
