import type {
  ApiClient,
  DeleteOptions,
  GetOptions,
  ListOptions,
  ListResult,
  Patch,
  PatchOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from '../../../api/client/api-client.ts';
import type { ApiObject, ObjectKey, ResourceType } from '../../../api/client/resource-type.ts';

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * The client of one run of a program: after `die` no call reaches the server or returns, as if the process was killed.
 * `onWrite` may kill it before or after any write.
 */
export class KillableClient implements ApiClient {
  readonly #client: ApiClient;
  readonly #onWrite: (when: 'before' | 'after') => void;
  #alive = true;

  constructor(client: ApiClient, onWrite: (when: 'before' | 'after') => void) {
    this.#client = client;
    this.#onWrite = onWrite;
  }

  die(): void {
    this.#alive = false;
  }

  async get<T extends ApiObject>(type: ResourceType<T>, key: ObjectKey, options?: GetOptions): Promise<T> {
    return this.#read(() => this.#client.get(type, key, options));
  }

  async list<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options?: ListOptions,
  ): Promise<ListResult<T>> {
    return this.#read(() => this.#client.list(type, namespace, options));
  }

  async *watch<T extends ApiObject>(
    type: ResourceType<T>,
    namespace: string,
    options: WatchOptions,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>> {
    for await (const event of this.#client.watch(type, namespace, options, signal)) {
      if (!this.#alive) await never();
      yield event;
    }
  }

  async create<T extends ApiObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T> {
    return this.#write(() => this.#client.create(type, object, options));
  }

  async update<T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    options?: WriteOptions & { readonly subresource?: string },
  ): Promise<T> {
    return this.#write(() => this.#client.update(type, object, options));
  }

  async patch<T extends ApiObject>(
    type: ResourceType<T>,
    key: ObjectKey,
    patch: Patch,
    options?: PatchOptions,
  ): Promise<T> {
    return this.#write(() => this.#client.patch(type, key, patch, options));
  }

  async delete(type: ResourceType, key: ObjectKey, options?: DeleteOptions): Promise<void> {
    return this.#write(() => this.#client.delete(type, key, options));
  }

  async post(type: ResourceType, key: ObjectKey, subresource: string, body: object): Promise<unknown> {
    return this.#write(() => this.#client.post(type, key, subresource, body));
  }

  async #read<T>(call: () => Promise<T>): Promise<T> {
    if (!this.#alive) return never();
    const answer = await call();
    return this.#alive ? answer : never();
  }

  async #write<T>(call: () => Promise<T>): Promise<T> {
    if (this.#alive) this.#onWrite('before');
    return this.#read(async () => {
      const answer = await call();
      if (this.#alive) this.#onWrite('after');
      return answer;
    });
  }
}
