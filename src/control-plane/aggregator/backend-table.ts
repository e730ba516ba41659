import { isAvailable } from '../../api/apiregistration/api-service.ts';
import type { APIService } from '../../api/apiregistration/api-service.ts';
import { apiServices } from '../../api/client/resource-types.ts';
import type { ApiBackend, ApiBackends } from '../model/api-backends.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isSameFacts } from './read-backend.ts';
import type { BackendFacts } from './read-backend.ts';

const HTTPS_PORT = 443;

/** The APIServices with a Service, with the last discovery documents of their servers. */
export class BackendTable implements ApiBackends {
  readonly #byGroupVersion = new Map<string, ApiBackend>();
  readonly #facts = new Map<string, BackendFacts>();
  readonly #listeners = new Set<() => void>();
  #generation = 0;

  constructor(reader: Pick<ObjectReader, 'onChange'>) {
    reader.onChange(apiServices, (before, after) => {
      if (before !== undefined) this.#remove(before);
      if (after !== undefined) this.#add(after);
    });
  }

  get all(): readonly ApiBackend[] {
    return [...this.#byGroupVersion.values()];
  }

  get generation(): number {
    return this.#generation;
  }

  find(group: string, version: string): ApiBackend | undefined {
    return this.#byGroupVersion.get(`${group}/${version}`);
  }

  facts(name: string): BackendFacts | undefined {
    return this.#facts.get(name);
  }

  /** Stores the last discovery documents of the server behind an APIService. */
  learn(name: string, facts: BackendFacts): void {
    const known = this.#facts.get(name);
    if (known !== undefined && isSameFacts(known, facts)) return;
    this.#facts.set(name, facts);
    for (const [key, backend] of this.#byGroupVersion)
      if (backend.name === name) this.#byGroupVersion.set(key, { ...backend, ...facts });
    this.#changed();
  }

  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #changed(): void {
    this.#generation++;
    for (const listener of this.#listeners) listener();
  }

  #remove({ metadata: { name }, spec }: APIService): void {
    const key = `${spec.group ?? ''}/${spec.version ?? ''}`;
    if (this.#byGroupVersion.get(key)?.name !== name) return;
    this.#byGroupVersion.delete(key);
    this.#changed();
  }

  #add(service: APIService): void {
    const backend = backendOf(service);
    const { name } = service.metadata;
    if (backend === undefined) {
      this.#facts.delete(name);
      return;
    }
    this.#byGroupVersion.set(`${backend.group}/${backend.version}`, { ...backend, ...this.#facts.get(name) });
    this.#changed();
  }
}

/** Returns the backend; undefined for APIs that this server serves itself. */
export function backendOf(apiService: APIService): ApiBackend | undefined {
  const { metadata, spec } = apiService;
  const { group = '', version = '', service, caBundle = '' } = spec;
  // The core group is always this server's own.
  if (service === undefined || group === '') return undefined;
  return {
    name: metadata.name,
    group,
    version,
    service: { namespace: service.namespace ?? '', name: service.name ?? '', port: service.port ?? HTTPS_PORT },
    ...(caBundle !== '' && { caBundle: Buffer.from(caBundle, 'base64').toString('utf8') }),
    insecureSkipTLSVerify: spec.insecureSkipTLSVerify === true,
    groupPriority: spec.groupPriorityMinimum,
    versionPriority: spec.versionPriority,
    isAvailable: isAvailable(apiService),
  };
}
