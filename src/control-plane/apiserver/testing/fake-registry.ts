import type { ListOptions, WatchOptions } from '../../../api/client/api-client.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { alreadyExists, badRequest, expired, notFound } from '../../../api/status/api-status-error.ts';
import type {
  PatchBody,
  Registry,
  ResourceRequest,
  Served,
  ServedList,
  WatchSink,
  WriteBody,
  Written,
} from '../../registry/registry.ts';

interface Watcher {
  readonly prefix: string;
  readonly namespace: string;
  readonly sink: WatchSink;
}

/** A registry in memory without defaults and validation; patches only merge top-level fields. */
export class FakeRegistry implements Registry {
  readonly objects = new Map<string, Served>();
  /** The recorded calls. */
  readonly calls: { readonly verb: string; readonly request: ResourceRequest; readonly options: unknown }[] = [];
  #version = 0;
  #uid = 0;
  readonly #watchers = new Set<Watcher>();
  /** The error that the next call throws. */
  failNext: unknown;

  get watcherCount(): number {
    return this.#watchers.size;
  }

  get(request: ResourceRequest, options: { readonly resourceVersion?: string }): Promise<Served> {
    return this.#run('get', request, options, () => this.#find(request));
  }

  list(request: ResourceRequest, options: ListOptions): Promise<ServedList> {
    return this.#run('list', request, options, () => {
      const all = this.#in(request);
      const from = options.continue === undefined ? 0 : Number(options.continue);
      const items = options.limit === undefined ? all.slice(from) : all.slice(from, from + options.limit);
      const next = from + items.length;
      return {
        items,
        resourceVersion: String(this.#version),
        ...(next < all.length && { continue: String(next), remainingItemCount: all.length - next }),
      };
    });
  }

  watch(request: ResourceRequest, options: WatchOptions, sink: WatchSink): Promise<{ close(): void }> {
    return this.#run('watch', request, options, () => {
      const watcher: Watcher = { prefix: prefixOf(request), namespace: request.namespace, sink };
      if (options.sendInitialEvents === true) {
        for (const served of this.#in(request)) sink.event('ADDED', served);
        sink.bookmark(String(this.#version), true);
      }
      this.#watchers.add(watcher);
      return { close: () => void this.#watchers.delete(watcher) };
    });
  }

  create(request: ResourceRequest, body: WriteBody): Promise<Served> {
    return this.#run('create', request, body, () => {
      const object = objectIn(body.value);
      this.#warn(request, body);
      if (request.subresource !== '') return serve({ ...object });
      const { name } = object.metadata;
      const key = prefixOf(request) + keyName(request.namespace, name);
      if (this.objects.has(key)) throw alreadyExists(request.definition.type, name);
      return this.#store(request, key, object, 'ADDED');
    });
  }

  update(request: ResourceRequest, body: WriteBody): Promise<Written> {
    return this.#run('update', request, body, () => {
      this.#warn(request, body);
      const key = prefixOf(request) + keyName(request.namespace, request.name);
      const created = !this.objects.has(key);
      return { ...this.#store(request, key, objectIn(body.value), created ? 'ADDED' : 'MODIFIED'), created };
    });
  }

  patch(request: ResourceRequest, patch: PatchBody): Promise<Written> {
    return this.#run('patch', request, patch, () => {
      const key = prefixOf(request) + keyName(request.namespace, request.name);
      const { object } = this.#find(request);
      return {
        ...this.#store(request, key, { ...object, ...(patch.value as object), metadata: object.metadata }, 'MODIFIED'),
        created: false,
      };
    });
  }

  delete(request: ResourceRequest, options: unknown): Promise<Served & { readonly gone: boolean }> {
    return this.#run('delete', request, options, () => {
      const served = this.#find(request);
      this.objects.delete(prefixOf(request) + keyName(request.namespace, request.name));
      this.#version++;
      this.#tell(request, 'DELETED', served);
      if (request.definition.rules.returnsDeleted === true) return { ...served, gone: true };
      const { group, plural } = request.definition.type;
      const { name, uid } = served.object.metadata;
      return {
        ...serve({
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Success',
          details: { name, ...(group !== '' && { group }), kind: plural, uid },
        } as never),
        gone: true,
      };
    });
  }

  deleteCollection(request: ResourceRequest, selection: ListOptions, options: unknown): Promise<ServedList> {
    return this.#run('deleteCollection', request, { selection, options }, () => {
      const items = this.#in(request);
      for (const { object } of items)
        this.objects.delete(prefixOf(request) + keyName(object.metadata.namespace, object.metadata.name));
      return { items, resourceVersion: String(++this.#version) };
    });
  }

  /** Ends all watches as a compacted store does. */
  expireWatches(): void {
    for (const { sink } of this.#watchers) sink.end(expired('too old resource version: 1 (2)'));
  }

  async #run<T>(verb: string, request: ResourceRequest, options: unknown, act: () => T): Promise<T> {
    this.calls.push({ verb, request, options });
    if (this.failNext !== undefined) {
      const error = this.failNext;
      this.failNext = undefined;
      throw error;
    }
    await Promise.resolve();
    return act();
  }

  #warn(request: ResourceRequest, { duplicates }: WriteBody): void {
    for (const each of duplicates) {
      if (request.context.fieldValidation === 'Strict') throw badRequest(`strict decoding error: ${each}`);
      request.context.warn(each);
    }
  }

  #find(request: ResourceRequest): Served {
    const served = this.objects.get(prefixOf(request) + keyName(request.namespace, request.name));
    if (served === undefined) throw notFound(request.definition.type, request.name);
    return served;
  }

  #in(request: ResourceRequest): readonly Served[] {
    const prefix = prefixOf(request) + (request.namespace === '' ? '' : `${request.namespace}/`);
    return [...this.objects].filter(([key]) => key.startsWith(prefix)).map(([, served]) => served);
  }

  #store(request: ResourceRequest, key: string, given: ApiObject, type: 'ADDED' | 'MODIFIED'): Served {
    const { definition, namespace, context } = request;
    const uid = this.objects.get(key)?.object.metadata.uid ?? `uid-${++this.#uid}`;
    const metadata = {
      ...given.metadata,
      ...(definition.type.namespaced && { namespace }),
      uid,
      resourceVersion: String(this.#version + 1),
    };
    const served = serve({ ...given, kind: definition.type.kind, apiVersion: apiVersionOf(definition.type), metadata });
    if (context.dryRun) return served;
    this.#version++;
    this.objects.set(key, served);
    this.#tell(request, type, served);
    return served;
  }

  #tell(request: ResourceRequest, type: 'ADDED' | 'MODIFIED' | 'DELETED', served: Served): void {
    for (const { prefix, namespace, sink } of this.#watchers)
      if (prefix === prefixOf(request) && (namespace === '' || namespace === request.namespace))
        sink.event(type, served);
  }
}

const serve = (object: ApiObject): Served => ({ object, json: JSON.stringify(object) });

const prefixOf = ({ definition }: ResourceRequest): string => `${definition.type.group}/${definition.type.plural}/`;
const keyName = (namespace: string, name: string): string => (namespace === '' ? name : `${namespace}/${name}`);

function objectIn(value: unknown): ApiObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw badRequest('the body is no object');
  const { metadata } = value as { metadata?: unknown };
  if (typeof metadata !== 'object' || metadata === null) throw badRequest('metadata is missing');
  return value as ApiObject;
}
