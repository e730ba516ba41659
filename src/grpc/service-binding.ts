type Builtin = Date | Uint8Array | string | number | boolean | undefined;

/**
 * A message as callers write it: every field may be left out, 64-bit numbers may be plain numbers. The same as
 * ts-proto's DeepPartial.
 */
export type PartialMessage<T> = T extends bigint
  ? string | number | bigint
  : T extends Builtin
    ? T
    : T extends globalThis.Array<infer U>
      ? globalThis.Array<PartialMessage<U>>
      : T extends ReadonlyArray<infer U>
        ? ReadonlyArray<PartialMessage<U>>
        : T extends object
          ? { [K in keyof T]?: PartialMessage<T[K]> }
          : Partial<T>;

/** What ts-proto generates for a message. */
export interface MessageFns<T> {
  encode(message: T): { finish(): Uint8Array };
  decode(input: Uint8Array): T;
  fromPartial(object: PartialMessage<T>): T;
}

export interface CallOptions {
  /** Replaces the method's own deadline; `Infinity` means none. */
  readonly timeoutMs?: number;
  /** Cancels the call, here and in the server; the call then fails with kind `Aborted`. */
  readonly signal?: AbortSignal;
}

export interface MethodDefinition {
  /** The name on the wire, such as `RunPodSandbox`. */
  readonly name: string;
  readonly requestType: MessageFns<unknown>;
  readonly responseType: MessageFns<unknown>;
  readonly responseStream: boolean;
}

/** What ts-proto generates for a service. */
export interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition>>;
}

export type MessageOf<Fns> = Fns extends MessageFns<infer T> ? T : never;

type ApiMethod<M extends MethodDefinition> = M['responseStream'] extends true
  ? (
      request: PartialMessage<MessageOf<M['requestType']>>,
      options?: CallOptions,
    ) => AsyncIterable<MessageOf<M['responseType']>>
  : (
      request: PartialMessage<MessageOf<M['requestType']>>,
      options?: CallOptions,
    ) => Promise<MessageOf<M['responseType']>>;

export type ApiOf<D extends ServiceDefinition> = { readonly [K in keyof D['methods']]: ApiMethod<D['methods'][K]> };

export interface Invoker {
  unary(path: string, method: MethodDefinition, request: object, options: CallOptions): Promise<unknown>;
  stream(path: string, method: MethodDefinition, request: object, options: CallOptions): AsyncIterable<unknown>;
}

export function methodPath(definition: ServiceDefinition, method: MethodDefinition): string {
  return `/${definition.fullName}/${method.name}`;
}

/** An object with one function per method of the service, each of which goes through `invoker`. */
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
