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
  /** The environment for proxy variables; absent: that of the process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called when the files are invalid: the previous contents stay in use, if there are any. */
  readonly onUnusable?: (error: unknown) => void;
}

/** How often files are checked, at most. */
const CHECK_MS = 1_000;

/**
 * A kubeconfig and the files it names, in their current state (upstream looks at client certificates and authorities
 * every 5 minutes, at token files every minute, and never at the kubeconfig again). 1. Files are checked on request, at
 * most once a second, and read only if one has changed. 2. If a file is partly written or missing, the previous
 * contents stay in use; it is read again the next time. 3. `current` returns the same object as long as nothing has
 * changed.
 */
export class KubeconfigSource implements AccessSource {
  readonly #file: string;
  readonly #options: KubeconfigSourceOptions;
  readonly #clock: Clock;
  #entry: KubeconfigEntry | undefined;
  #access: ClusterAccess | undefined;
  #seen = '';
  #checkedMs = -Infinity;
  #exec: ExecCredentials | undefined;
  #signed:
    | { readonly base: ClusterAccess; readonly credential: ExecCredential; readonly access: ClusterAccess }
    | undefined;

  /** Throws the errors of `readKubeconfigEntry`. */
  constructor(file: string, options: KubeconfigSourceOptions = {}) {
    this.#file = file;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#read();
  }

  async current(): Promise<ClusterAccess> {
    if (this.#clock.monotonicMs() - this.#checkedMs >= CHECK_MS) this.#checkFiles();
    return this.#sign();
  }

  async renew(refused: ClusterAccess): Promise<ClusterAccess> {
    this.#checkFiles();
    this.#exec?.forget(refused);
    return this.#sign();
  }

  /** Files are not watched. */
  onChange(): () => void {
    return () => undefined;
  }

  async #sign(): Promise<ClusterAccess> {
    const base = this.#access;
    if (base === undefined) throw new Error(`kubeconfig ${this.#file} cannot be used`);
    // Upstream: a token or password in the kubeconfig takes precedence over a plugin.
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

  #checkFiles(): void {
    this.#checkedMs = this.#clock.monotonicMs();
    if (this.#marks() === this.#seen) return;
    try {
      this.#read();
    } catch (error) {
      this.#options.onUnusable?.(error);
    }
  }

  #read(): void {
    // A change during the read is detected the next time.
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
    this.#checkedMs = this.#clock.monotonicMs();
    this.#seen = seen;
  }

  /** Identifies a state of the files. */
  #marks(): string {
    return [markOf(this.#file), ...marksOf(this.#entry)].join(' ');
  }
}

/** Values in the kubeconfig take precedence. */
function withProxy(access: ClusterAccess, env: Readonly<Record<string, string | undefined>>): ClusterAccess {
  const proxyUrl = access.proxyUrl ?? proxyOfEnvironment(access.server, env);
  return proxyUrl === undefined ? access : { ...access, proxyUrl };
}

const marksOf = (entry: KubeconfigEntry | undefined): string[] => Object.values(entry?.files ?? {}).map(markOf);

function markOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? '-' : `${found.ino}:${found.size}:${found.mtimeNs}`;
}
