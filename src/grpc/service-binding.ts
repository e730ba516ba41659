import type { DeepPartial } from './message-fns.ts';

/** The functions of a generated message that a call needs. */
interface MessageCodec<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
  fromPartial(object: DeepPartial<T>): T;
}

export interface CallOptions {
  /** Replaces the method's default deadline, in milliseconds; `Infinity` means none. */
  readonly timeoutMs?: number;
  /** Cancels the call on both sides; it then fails with kind `Aborted`. */
  readonly signal?: AbortSignal;
}

export interface MethodDefinition {
  /** The method name in the protocol, such as `RunPodSandbox`. */
  readonly name: string;
  readonly requestType: MessageCodec<unknown>;
  readonly responseType: MessageCodec<unknown>;
  readonly responseStream: boolean;
}

/** The definition that ts-proto generates for a service. */
export interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

export type MessageOf<Fns> = Fns extends MessageCodec<infer T> ? T : never;

type ApiMethod<M extends MethodDefinition> = M['responseStream'] extends true
  ? (
      request: DeepPartial<MessageOf<M['requestType']>>,
      options?: CallOptions,
    ) => AsyncIterable<MessageOf<M['responseType']>>
  : (request: DeepPartial<MessageOf<M['requestType']>>, options?: CallOptions) => Promise<MessageOf<M['responseType']>>;

export type ApiOf<D extends ServiceDefinition> = { readonly [K in keyof D['methods']]: ApiMethod<D['methods'][K]> };

export interface Invoker {
  unary(path: string, method: MethodDefinition, request: object, options: CallOptions): Promise<unknown>;
  stream(path: string, method: MethodDefinition, request: object, options: CallOptions): AsyncIterable<unknown>;
}

export function methodPath(definition: ServiceDefinition, method: MethodDefinition): string {
  return `/${definition.fullName}/${method.name}`;
}

/** An object with one function for each method of the service, which calls `invoker`. */
export function bindService<D extends ServiceDefinition>(definition: D, invoker: Invoker): ApiOf<D> {
  const bound = Object.entries(definition.methods).map(([key, method]): [string, unknown] => {
    const path = methodPath(definition, method);
    const call = method.responseStream
      ? (request: object, options: CallOptions = {}): unknown => invoker.stream(path, method, request, options)
      : (request: object, options: CallOptions = {}): unknown => invoker.unary(path, method, request, options);
    return [key, call];
  });
  // The table that the object is made from is the same one that the type is computed from.
  return Object.fromEntries<unknown>(bound) as ApiOf<D>;
}
