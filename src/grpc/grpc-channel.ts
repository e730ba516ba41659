import { Client, credentials, Metadata } from '@grpc/grpc-js';
import type { CallOptions as GrpcCallOptions } from '@grpc/grpc-js';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { errorFromStatus } from './grpc-status.ts';
import type { StatusWording } from './grpc-status.ts';

/** The largest message either side accepts, in bytes (upstream: cri-client utils.go; containerd's own default). */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

/** One call on the wire. Bytes in, bytes out: what they mean is the caller's business. */
export interface RawCall {
  /** The RPC's name, for errors. */
  op: string;
  /** `/package.Service/Method`. */
  path: string;
  request: Uint8Array;
  /** `Infinity` means no deadline. */
  timeoutMs: number;
  /** How a failure reads. */
  wording?: StatusWording;
  signal?: AbortSignal | undefined;
}

export interface GrpcChannelOptions {
  /** Path of the server's unix socket. */
  socketPath: string;
  /** Its wall time must be the machine's: gRPC turns deadlines back into durations by it. */
  clock: Clock;
}

interface Cancellable {
  cancel(): void;
}

const identity = (bytes: Buffer): Buffer => bytes;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/**
 * A connection to a gRPC server on a unix socket, and the only code of the client side that knows grpc-js.
 * It connects at the first call and again, 100 ms to 3 s apart, whenever the server went away; calls made meanwhile fail at once with `Unavailable`.
 * Invariants: every failure is a KubeletError; a call whose signal aborted, or that `close` cut off, fails with `Aborted`, whatever the server said.
 */
export class GrpcChannel {
  readonly #client: Client;
  readonly #clock: Clock;
  readonly #active = new Set<Cancellable>();
  #closed = false;

  constructor(options: GrpcChannelOptions) {
    this.#clock = options.clock;
    this.#client = new Client(`unix:${options.socketPath}`, credentials.createInsecure(), {
      'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
      'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 3000,
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
      const wire = this.#client.makeUnaryRequest(call.path, identity, identity, asBuffer(call.request), new Metadata(), this.#grpcOptions(call), (error, response) => {
        const aborted = finish();
        if (error === null && response !== undefined) resolve(response);
        else reject(aborted ? abortedError(call.op, error) : errorFromStatus(call.op, error, call.wording));
      });
      const finish = this.#track(wire, call.signal);
    });
  }

  /** The call starts with the first `next()`. Leaving the loop early cancels it. */
  async *stream(call: RawCall): AsyncGenerator<Uint8Array, void, undefined> {
    const refused = this.#refusal(call);
    if (refused !== undefined) throw refused;
    const wire = this.#client.makeServerStreamRequest(call.path, identity, identity, asBuffer(call.request), new Metadata(), this.#grpcOptions(call));
    // After a cancel grpc-js reports it once more to a stream nobody reads.
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

  /** Resolves once connected, however often that must be tried; fails with `Timeout` when it could not be within the limit, `Aborted` by `close`. */
  ready(timeoutMs: number): Promise<void> {
    if (this.#closed) return Promise.reject(abortedError('connect', undefined));
    return new Promise((resolve, reject) => {
      this.#client.waitForReady(this.#clock.nowMs() + timeoutMs, (error) => {
        if (error === undefined) resolve();
        else reject(this.#closed ? abortedError('connect', error) : new KubeletError('Timeout', 'context deadline exceeded', { op: 'connect', cause: error }));
      });
    });
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

function abortedError(op: string, cause: unknown): KubeletError {
  return new KubeletError('Aborted', `${op} was cancelled`, { op, cause: cause ?? undefined });
}
