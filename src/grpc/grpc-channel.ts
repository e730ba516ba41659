import { Client, connectivityState, credentials, Metadata } from '@grpc/grpc-js';
import type { CallOptions as GrpcCallOptions, ChannelCredentials, ClientOptions } from '@grpc/grpc-js';
import { isIP } from 'node:net';
import { checkServerIdentity as checkIdentity } from 'node:tls';
import type { PeerCertificate } from 'node:tls';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { errorFromStatus } from './grpc-status.ts';
import type { StatusWording } from './grpc-status.ts';

/** The largest message either side accepts, in bytes (upstream: cri-client utils.go; containerd's own default). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One call on the wire. Bytes in, bytes out: what they mean is the caller's business. */
export interface RawCall {
  /** The RPC's name, for errors. */
  readonly op: string;
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly request: Uint8Array;
  /** `Infinity` means no deadline. */
  readonly timeoutMs: number;
  /** How a failure reads. */
  readonly wording?: StatusWording;
  /** Sent as headers. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

const MAX_RECONNECT_MS = 3000;
const SILENCE_MS = 30_000;

/** A server on a unix socket, or on `host:port`, there with TLS or without. */
export type GrpcTarget = { socketPath: string } | { address: string; tls?: GrpcTls };

/** PEM. Without `ca` the authorities of Node; without `cert` and `key` no certificate of one's own is shown. */
export interface GrpcTls {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
}

export type GrpcChannelOptions = GrpcTarget & {
  /** Its wall time must be the machine's: gRPC turns deadlines back into durations by it. */
  clock: Clock;
  /** The largest message that is accepted; `MAX_MESSAGE_BYTES` when not given. */
  maxMessageBytes?: number;
  /** The longest pause between two tries to connect; 3 s when not given, as upstream's CRI client has it. */
  maxReconnectMs?: number;
  /** Of a remote server: how long it may say nothing before it is asked for a sign of life; 30 s when not given. */
  silenceMs?: number;
};

/** A call in which both sides send as they like. */
export interface DuplexCall {
  write(message: Uint8Array): void;
  /** No handler is called after this. */
  cancel(): void;
}

export interface DuplexHandlers {
  readonly message: (message: Uint8Array) => void;
  /** Once, at the end that was not asked for by `cancel`; without an error when the server ended the call in order. */
  readonly end: (error: KubeletError | undefined) => void;
}

interface Cancellable {
  cancel(): void;
}

const identity = (bytes: Buffer): Buffer => bytes;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * A connection to a gRPC server, and the only code of the client side that knows grpc-js. It connects at the first call
 * and again, 100 ms to 3 s apart, whenever the server went away; calls made meanwhile fail at once with `Unavailable`.
 * Invariants: every failure is a KubeletError; a call whose signal aborted, or that `close` cut off, fails with
 * `Aborted`, whatever the server said.
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
      // A machine that is gone says nothing: only a question without an answer shows it.
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

  /** The call starts with the first `next()`. Leaving the loop early cancels it. */
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

  /** Starts at once. `metadata` is sent as headers. */
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
   * Resolves once connected, however often that must be tried; fails with `Timeout` when it could not be within the
   * limit, `Aborted` by `close`.
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
   * Connects, and again whenever the server went away. Calls `listener` at each change; the connection counts as absent
   * at the start. Returns what ends it; after `close` nothing is called.
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

  /** Cancels what is under way and disconnects. Calls made later fail with `Aborted`. */
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

  /** Ties a call to its signal and to `close`; the answer ends that and says whether one of the two ended the call. */
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
 * grpc-js sends what it connects to as the server's name, which TLS forbids for an IP address: another name is sent
 * then, and the address still checked.
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
