import { Metadata, Server, ServerCredentials } from '@grpc/grpc-js';
import type {
  handleServerStreamingCall,
  handleUnaryCall,
  ServerUnaryCall,
  ServerWritableStream,
  ServiceDefinition as GrpcServiceDefinition,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { errorMessage, KubeletError } from '../base/errors.ts';
import { MAX_MESSAGE_BYTES } from './grpc-channel.ts';
import { statusFromError } from './grpc-status.ts';
import { methodPath } from './service-binding.ts';
import type { CallOptions, MethodDefinition, ServiceDefinition } from './service-binding.ts';

/** A method with encoded messages. */
export interface RawHandler {
  /** `/package.Service/Method`. */
  path: string;
  /** The method name. */
  readonly op: string;
  readonly responseStream: boolean;
  /**
   * `signal` aborts when the caller is gone or its deadline has passed. Unary methods must yield exactly one message.
   */
  handle(request: Uint8Array, signal: AbortSignal): AsyncIterable<Uint8Array>;
}

export interface RunningServer {
  /** Ends all calls and removes the socket. */
  close(): void;
}

type Implementation = (request: unknown, options: CallOptions) => Promise<unknown> | AsyncIterable<unknown>;

/** Serves `api`, an object with some methods of the service; omitted methods return `Unimplemented`. */
export function handlersOf(definition: ServiceDefinition, api: object): RawHandler[] {
  return Object.entries(definition.methods).map(([key, method]) => ({
    path: methodPath(definition, method),
    op: method.name,
    responseStream: method.responseStream,
    handle: (request, signal) => invoke(api, key, method, { request, signal }),
  }));
}

async function* invoke(
  api: object,
  key: string,
  method: MethodDefinition,
  call: { request: Uint8Array; signal: AbortSignal },
): AsyncIterable<Uint8Array> {
  const implementation = (api as Record<string, Implementation | undefined>)[key];
  if (implementation === undefined)
    throw new KubeletError('Unimplemented', `method ${method.name} not implemented`, { op: method.name });
  const answer = implementation.call(api, method.requestType.decode(call.request), { signal: call.signal });
  if (Symbol.asyncIterator in answer) for await (const message of answer) yield encode(method, message);
  else yield encode(method, await answer);
}

function encode(method: MethodDefinition, message: unknown): Uint8Array {
  return method.responseType.encode(message).finish();
}

type MethodDefinitionOnWire = GrpcServiceDefinition[string];

const toBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const fromBuffer = (bytes: Buffer): Uint8Array => bytes;

/**
 * Serves on a unix socket; KubeletErrors are sent as gRPC codes. The caller must remove a stale socket file first.
 * Fails with `Unavailable` if it cannot listen on the socket.
 */
export async function serveRaw(
  socketPath: string,
  handlers: readonly RawHandler[],
  { maxMessageBytes = MAX_MESSAGE_BYTES }: { maxMessageBytes?: number } = {},
): Promise<RunningServer> {
  // Channelz must stay on: without it grpc-js does not keep the list of connections that forceShutdown closes.
  const server = new Server({
    'grpc.max_receive_message_length': maxMessageBytes,
    'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  });
  const definition: Record<string, MethodDefinitionOnWire> = {};
  const implementation: UntypedServiceImplementation = {};
  for (const handler of handlers) {
    definition[handler.path] = {
      path: handler.path,
      requestStream: false,
      responseStream: handler.responseStream,
      requestSerialize: toBuffer,
      requestDeserialize: fromBuffer,
      responseSerialize: toBuffer,
      responseDeserialize: fromBuffer,
    };
    implementation[handler.path] = handler.responseStream ? streamHandler(handler) : unaryHandler(handler);
  }
  server.addService(definition, implementation);
  await bind(server, socketPath);
  return { close: () => server.forceShutdown() };
}

function bind(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.bindAsync(`unix:${path}`, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else
        reject(
          new KubeletError('Unavailable', `cannot listen on ${path}: ${errorMessage(error)}`, {
            op: 'listen',
            cause: error,
          }),
        );
    });
  });
}

function unaryHandler(handler: RawHandler): handleUnaryCall<Uint8Array, Uint8Array> {
  return (call, callback) => {
    void firstMessage(handler, call).then(
      (message) => callback(null, message),
      (error: unknown) => callback({ ...statusFromError(error), metadata: new Metadata() }),
    );
  };
}

async function firstMessage(handler: RawHandler, call: ServerUnaryCall<Uint8Array, Uint8Array>): Promise<Uint8Array> {
  for await (const message of handler.handle(call.request, cancellation(call))) return message;
  throw new KubeletError('Internal', `${handler.op} gave no answer`, { op: handler.op });
}

function streamHandler(handler: RawHandler): handleServerStreamingCall<Uint8Array, Uint8Array> {
  return (call) => {
    void pump(handler, call).then(
      () => call.end(),
      (error: unknown) => call.emit('error', { ...statusFromError(error), metadata: new Metadata() }),
    );
  };
}

async function pump(handler: RawHandler, call: ServerWritableStream<Uint8Array, Uint8Array>): Promise<void> {
  const signal = cancellation(call);
  for await (const message of handler.handle(call.request, signal)) {
    if (signal.aborted) throw new KubeletError('Aborted', 'the caller is gone', { op: handler.op });
    if (!call.write(message)) await drained(call, signal);
  }
}

/** Resolves when the reader has caught up or is gone. */
function drained(call: ServerWritableStream<Uint8Array, Uint8Array>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      call.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    call.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

function cancellation(call: {
  cancelled: boolean;
  once(event: 'cancelled', listener: () => void): unknown;
}): AbortSignal {
  const controller = new AbortController();
  call.once('cancelled', () => controller.abort());
  if (call.cancelled) controller.abort();
  return controller.signal;
}
