import path from 'node:path/posix';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { combineVersions, type FileVersion } from './file-version.ts';
import {
  manifestLimitBytes,
  readManifest,
  type ManifestContent,
  type ManifestProblem,
  type ManifestRules,
} from './manifest-reader.ts';
import type { ObjectStore } from './object-store.ts';
import { ProblemBook } from './problem-book.ts';

const SUFFIX = '.manifest';

export interface AcceptedManifestsOptions {
  /** `<root>/manifests-accepted`. */
  folder: string;
  rules: ManifestRules;
  files: HostFiles;
  log: Logger;
  objects?: ObjectStore;
  setPods: (pods: readonly Pod[]) => void;
}

interface Accepted {
  text: string;
  version: FileVersion;
}

/**
 * The manifests handed to this node over HTTP, kept on its disk so that a restart of the agent keeps them.
 * 1. A manifest is in force only after it is on the disk, and gone only after it is gone there.
 * 2. A change is faultless or refused as a whole.
 * 3. Changes happen one after another.
 */
export class AcceptedManifests {
  readonly #options: AcceptedManifestsOptions;
  readonly #book: ProblemBook;
  readonly #byName = new Map<string, Accepted>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AcceptedManifestsOptions) {
    this.#options = options;
    this.#book = new ProblemBook(options.log);
  }

  /** Reads what was kept and reports it. A damaged one is put aside and said; the others are not held up. */
  async start(): Promise<void> {
    const { files, folder, log } = this.#options;
    const stored = await files.list(folder);
    for (const file of stored.filter((entry) => entry.endsWith(SUFFIX))) {
      const name = file.slice(0, -SUFFIX.length);
      const where = path.join(folder, file);
      try {
        const text = await files.readText(where, manifestLimitBytes);
        const content = this.#read(name, text);
        if (content.errors.length > 0) throw new Error(content.errors[0]?.message);
        this.#byName.set(name, { text, version: content });
      } catch (error) {
        log.error('accepted manifest is damaged; put aside', { file: where, error: errorMessage(error) });
        this.#book.set(name, [
          { file: where, message: `damaged, put aside as ${file}.corrupt: ${errorMessage(error)}` },
        ]);
        await files
          .rename(where, `${where}.corrupt`)
          .catch((cause: unknown) =>
            log.warn('cannot put a damaged manifest aside', { file: where, error: errorMessage(cause) }),
          );
      }
    }
    this.#report();
  }

  problems(): readonly ManifestProblem[] {
    return this.#book.list();
  }

  list(): { name: string; pods: readonly Pod[] }[] {
    return [...this.#byName]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, { version }]) => ({ name, pods: version.pods }));
  }

  text(name: string): string | undefined {
    return this.#byName.get(name)?.text;
  }

  /** Takes a manifest in. Refused (with the problems) when it is faulty, or when `create` and the name is taken. */
  put(name: string, text: string, mode: 'create' | 'replace'): Promise<PutOutcome> {
    return this.#inTurn(async () => {
      const { files, folder } = this.#options;
      const existed = this.#byName.has(name);
      if (existed && mode === 'create') return { kind: 'exists' };
      const content = this.#read(name, text);
      const clash = [...content.errors, ...this.#clashes(name, content)];
      if (clash.length > 0) return { kind: 'refused', problems: clash };
      await files.makeDirectory(folder, 0o700);
      await files.writeFileAtomic(this.#pathOf(name), text, 0o600);
      this.#byName.set(name, { text, version: content });
      this.#book.set(name, content.warnings);
      this.#report();
      return { kind: existed ? 'replaced' : 'created', pods: content.pods, warnings: content.warnings };
    });
  }

  /** False when there was none. */
  remove(name: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#byName.has(name)) return false;
      await this.#options.files.remove(this.#pathOf(name));
      this.#byName.delete(name);
      this.#book.set(name, []);
      this.#report();
      return true;
    });
  }

  #read(name: string, text: string): ManifestContent {
    return readManifest(text, { kind: 'server', name }, this.#options.rules);
  }

  #clashes(name: string, content: ManifestContent): readonly ManifestProblem[] {
    const others = [...this.#byName]
      .filter(([other]) => other !== name)
      .map(([other, { version }]) => [`manifests/${other}`, version] as const);
    const own = `manifests/${name}`;
    return combineVersions([...others, [own, content]]).duplicates.get(own) ?? [];
  }

  #report(): void {
    const combined = combineVersions(
      [...this.#byName].map(([name, { version }]) => [`manifests/${name}`, version] as const),
    );
    this.#options.objects?.replace('server', combined.objects);
    this.#options.setPods(combined.pods);
  }

  #pathOf(name: string): string {
    return path.join(this.#options.folder, `${name}${SUFFIX}`);
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#turn.then(work);
    // A failure is the caller's to see; the next change goes on all the same.
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

export type PutOutcome =
  | { kind: 'created' | 'replaced'; pods: readonly Pod[]; warnings: readonly ManifestProblem[] }
  | { kind: 'exists' }
  | { kind: 'refused'; problems: readonly ManifestProblem[] };
