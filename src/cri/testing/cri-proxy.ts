import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import { CONTAINERD_SUBSCRIBE_PATH } from '../containerd-events-client.ts';
import { serveRaw } from '../../grpc/grpc-server.ts';
import { parseEndpoint } from '../endpoint.ts';
import type { RawHandler, RunningServer } from '../../grpc/grpc-server.ts';
import { ImageServiceDefinition, RuntimeServiceDefinition } from '../generated/cri-v1.ts';
import { GrpcChannel } from '../../grpc/grpc-channel.ts';
import type { RawCall } from '../../grpc/grpc-channel.ts';
import { errorFromStatus } from '../../grpc/grpc-status.ts';
import { methodPath } from '../../grpc/service-binding.ts';
import type { ServiceDefinition } from '../../grpc/service-binding.ts';
import { Failpoint } from './failpoint.ts';

export interface CriProxyOptions {
  /** The endpoint at which the proxy listens. */
  readonly listen: string;
  /** The endpoint of the real runtime. */
  readonly upstream: string;
  readonly clock: Clock;
  /** Returns the request that is sent to the real runtime in place of the received one. */
  readonly rewrite?: (op: string, request: Uint8Array) => Uint8Array;
}

export interface FailpointOptions {
  /** Only calls whose request contains this text (a container name, a pod uid) are counted and affected. */
  readonly requestContains?: string;
}

interface ActiveFailpoint {
  readonly failpoint: Failpoint;
  readonly requestContains: Buffer | undefined;
}

/** The number of calls of one method. */
export interface MethodCounts {
  received: number;
  /** Calls that were forwarded to the real runtime, whatever the caller received. */
  forwarded: number;
  /** Calls that a fault currently holds back. */
  held: number;
}

/**
 * A proxy for the CRI: it forwards all CRI methods and containerd's event stream to a real runtime unchanged, and
 * applies a Failpoint to single methods. Methods have their names in the protocol (`StartContainer`, `Subscribe`). For
 * streams, `late` and `lost` apply to the first message.
 */
export class CriProxy {
  readonly #options: CriProxyOptions;
  readonly #upstream: GrpcChannel;
  readonly #failpoints = new Map<string, ActiveFailpoint>();
  readonly #counts = new Map<string, MethodCounts>();
  #server: RunningServer | undefined;

  constructor(options: CriProxyOptions) {
    this.#options = options;
    this.#upstream = new GrpcChannel({ socketPath: parseEndpoint(options.upstream), clock: options.clock });
  }

  /** Starts listening; may be called again after `stop`. */
  async start(): Promise<void> {
    if (this.#server !== undefined) return;
    const handlers = [...this.#handlers(RuntimeServiceDefinition), ...this.#handlers(ImageServiceDefinition)];
    this.#server = await serveRaw(parseEndpoint(this.#options.listen), [
      ...handlers,
      this.#handler(CONTAINERD_SUBSCRIBE_PATH, 'Subscribe', true),
    ]);
  }

  /** Simulates a stopped runtime: connections are closed and the socket is removed. */
  stop(): void {
    this.#server?.close();
    this.#server = undefined;
  }

  /** Stops permanently. */
  close(): void {
    this.stop();
    this.#upstream.close();
  }

  /** Replaces the method's failpoint. Fails with `Invalid` if the script cannot be parsed. */
  set(method: string, script: string, options: FailpointOptions = {}): void {
    const requestContains = options.requestContains === undefined ? undefined : Buffer.from(options.requestContains);
    this.#failpoints.set(method, { failpoint: new Failpoint(script), requestContains });
  }

  /** Removes the failpoint of one method, or all. Calls that are already held stay held. */
  clear(method?: string): void {
    if (method === undefined) this.#failpoints.clear();
    else this.#failpoints.delete(method);
  }

  counts(method: string): Readonly<MethodCounts> {
    return { ...this.#countsOf(method) };
  }

  #countsOf(method: string): MethodCounts {
    let counts = this.#counts.get(method);
    if (counts === undefined) this.#counts.set(method, (counts = { received: 0, forwarded: 0, held: 0 }));
    return counts;
  }

  #handlers(definition: ServiceDefinition): RawHandler[] {
    return Object.values(definition.methods).map((method) =>
      this.#handler(methodPath(definition, method), method.name, method.responseStream),
    );
  }

  #handler(path: string, op: string, responseStream: boolean): RawHandler {
    return {
      path,
      op,
      responseStream,
      handle: (request, signal) => this.#handle({ path, op, request, timeoutMs: Infinity, signal }, responseStream),
    };
  }

  async *#handle(call: RawCall & { signal: AbortSignal }, responseStream: boolean): AsyncIterable<Uint8Array> {
    const counts = this.#countsOf(call.op);
    counts.received++;
    const active = this.#failpoints.get(call.op);
    const hit =
      active !== undefined &&
      (active.requestContains === undefined || Buffer.from(call.request).includes(active.requestContains));
    const fault = hit ? active.failpoint.next() : { kind: 'off' as const };
    if (fault.kind === 'error') throw errorFromStatus(call.op, fault.status);
    if (fault.kind === 'hang') await this.#hold(call, Infinity);
    if (fault.kind === 'delay') await this.#hold(call, fault.delayMs);
    counts.forwarded++;
    // A call whose answer is dropped is performed to its end, also when the caller gives up meanwhile.
    const detached = fault.kind === 'late' || fault.kind === 'lost';
    const answers = this.#forward(detached ? { ...call, signal: undefined } : call, responseStream);
    let first = true;
    for await (const answer of answers) {
      if (first && fault.kind === 'lost') throw errorFromStatus(call.op, fault.status);
      if (first && fault.kind === 'late') await this.#hold(call, fault.delayMs);
      first = false;
      yield answer;
    }
  }

  async *#forward(call: RawCall, responseStream: boolean): AsyncIterable<Uint8Array> {
    const request = this.#options.rewrite?.(call.op, call.request) ?? call.request;
    if (responseStream) yield* this.#upstream.stream({ ...call, request });
    else yield await this.#upstream.unary({ ...call, request });
  }

  /** Waits `delayMs`; fails with `Aborted` when the caller is gone. */
  async #hold(call: RawCall & { signal: AbortSignal }, delayMs: number): Promise<void> {
    const counts = this.#countsOf(call.op);
    counts.held++;
    try {
      await new Promise<void>((resolve, reject) => {
        const timer = Number.isFinite(delayMs) ? this.#options.clock.setTimer(delayMs, resolve) : undefined;
        const gone = (): void => {
          timer?.cancel();
          reject(new KubeletError('Aborted', 'the caller is gone', { op: call.op }));
        };
        if (call.signal.aborted) gone();
        else call.signal.addEventListener('abort', gone, { once: true });
      });
    } finally {
      counts.held--;
    }
  }
}
