import { statSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import type { AccessSource, ClusterAccess } from './cluster-access.ts';
import { proxyOfEnvironment } from './environment-proxy.ts';
import { ExecCredentials } from './exec-credential.ts';
import type { ExecCredential, RunPlugin } from './exec-credential.ts';
import { readFiles, readKubeconfigEntry } from './kubeconfig.ts';
import type { KubeconfigEntry } from './kubeconfig.ts';

export interface KubeconfigSourceOptions {
  /** Absent: the current one. */
  readonly context?: string;
  readonly clock?: Clock;
  readonly run?: RunPlugin;
  /** Where proxies may be named; absent: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Called when what stands in the files cannot be used and what stood there before goes on counting, and when there is
   * nothing before.
   */
  readonly onUnusable?: (error: unknown) => void;
}

/** How often files are checked, at most. */
const LOOK_MS = 1_000;

/**
 * A kubeconfig and all it names, as it stands on disk now (upstream looks at client certificates and authorities every
 * 5 minutes, at token files every minute, and never at the kubeconfig again).
 * 1. Files are checked on request, at most once a second, and read only when one has changed.
 * 2. Files that are half written, or gone, leave in force what stood there before; they are read again the next time.
 * 3. Who asks gets the same object as before for as long as nothing has changed.
 */
export class KubeconfigSource implements AccessSource {
  readonly #file: string;
  readonly #options: KubeconfigSourceOptions;
  readonly #clock: Clock;
  #entry: KubeconfigEntry | undefined;
  #access: ClusterAccess | undefined;
  #seen = '';
  #lookedMs = -Infinity;
  #exec: ExecCredentials | undefined;
  #signed:
    | { readonly base: ClusterAccess; readonly credential: ExecCredential; readonly access: ClusterAccess }
    | undefined;

  /** Throws what `readKubeconfigEntry` throws. */
  constructor(file: string, options: KubeconfigSourceOptions = {}) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#read();
  }

  async current(): Promise<ClusterAccess> {
    if (this.#clock.monotonicMs() - this.#lookedMs >= LOOK_MS) this.#look();
    return this.#sign();
  }

  async renew(refused: ClusterAccess): Promise<ClusterAccess> {
    this.#look();
    this.#exec?.forget(refused);
    return this.#sign();
  }

  /** Nothing is noticed without being asked. */
  onChange(): () => void {
    return () => undefined;
  }

  async #sign(): Promise<ClusterAccess> {
    const base = this.#access;
    if (base === undefined) throw new Error(`kubeconfig ${this.#file} cannot be used`);
    // Upstream: a token or password of the kubeconfig itself goes before a plugin.
    if (this.#exec === undefined || base.token !== undefined || base.username !== undefined) return base;
    const credential = await this.#exec.current();
    if (this.#signed?.base === base && this.#signed.credential === credential) return this.#signed.access;
    const { token, certificate, key } = credential;
    const access = {
      ...base,
      ...(token !== undefined && { token }),
      ...(certificate !== undefined && { certificate }),
      ...(key !== undefined && { key }),
    };
    this.#signed = { base, credential, access };
    return access;
  }

  #look(): void {
    this.#lookedMs = this.#clock.monotonicMs();
    if (this.#marks() === this.#seen) return;
    try {
      this.#read();
    } catch (error) {
      this.#options.onUnusable?.(error);
    }
  }

  #read(): void {
    // What changes while it is read counts as changed the next time.
    const mark = markOf(this.#file);
    const entry = readKubeconfigEntry(this.#file, this.#options.context);
    const seen = [mark, ...marksOf(entry)].join(' ');
    const access = withProxy(readFiles(entry, this.#file), this.#options.env ?? process.env);
    const execChanged = JSON.stringify(entry.exec) !== JSON.stringify(this.#entry?.exec);
    this.#entry = entry;
    if (JSON.stringify(access) !== JSON.stringify(this.#access)) this.#access = access;
    if (execChanged)
      this.#exec =
        entry.exec === undefined
          ? undefined
          : new ExecCredentials(entry.exec, {
              clock: this.#clock,
              ...(this.#options.run !== undefined && { run: this.#options.run }),
            });
    this.#lookedMs = this.#clock.monotonicMs();
    this.#seen = seen;
  }

  /** What tells one state of the files from another. */
  #marks(): string {
    return [markOf(this.#file), ...marksOf(this.#entry)].join(' ');
  }
}

/** What the kubeconfig says itself goes first. */
function withProxy(access: ClusterAccess, env: Readonly<Record<string, string | undefined>>): ClusterAccess {
  const proxyUrl = access.proxyUrl ?? proxyOfEnvironment(access.server, env);
  return proxyUrl === undefined ? access : { ...access, proxyUrl };
}

const marksOf = (entry: KubeconfigEntry | undefined): string[] => Object.values(entry?.files ?? {}).map(markOf);

function markOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '-' : `${found.ino}:${found.size}:${found.mtimeNs}`;
}
