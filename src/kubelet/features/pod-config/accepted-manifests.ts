import path from 'node:path/posix';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { FileVersion } from './file-version.ts';
import { combineVersions } from './file-version.ts';
import type { ManifestContent, ManifestProblem, ManifestRules } from './manifest-reader.ts';
import { MANIFEST_LIMIT_BYTES, readManifest } from './manifest-reader.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import { ManifestProblems } from './manifest-problems.ts';

const SUFFIX = '.manifest';

export interface AcceptedManifestsOptions {
  /** The folder `<root>/manifests-accepted`. */
  readonly folder: string;
  readonly rules: ManifestRules;
  readonly files: HostFiles;
  readonly log: Logger;
  readonly objects?: ManifestObjects;
  readonly setPods: (pods: readonly Pod[]) => void;
}

interface Accepted {
  readonly text: string;
  readonly version: FileVersion;
}

/**
 * Stores the manifests that were sent to this node over HTTP, so that they survive a restart of the agent. Invariants:
 * 1. A manifest takes effect only after it is on disk, and ends only after it was removed from there.
 * 2. A change is applied completely or rejected completely.
 * 3. Changes are applied one after another.
 */
export class AcceptedManifests {
  readonly #options: AcceptedManifestsOptions;
  readonly #manifestProblems: ManifestProblems;
  readonly #byName = new Map<string, Accepted>();
  #turn: Promise<unknown> = Promise.resolve();

  constructor(options: AcceptedManifestsOptions) {
    this.#options = options;
    this.#manifestProblems = new ManifestProblems(options.log);
  }

  /** Reads and reports the stored manifests. A damaged one is renamed and logged, and does not delay the others. */
  async start(): Promise<void> {
    const { files, folder, log } = this.#options;
    const stored = await files.list(folder);
    for (const file of stored.filter((entry) => entry.endsWith(SUFFIX))) {
      const name = file.slice(0, -SUFFIX.length);
      const where = path.join(folder, file);
      try {
        const text = await files.readText(where, MANIFEST_LIMIT_BYTES);
        const content = this.#read(name, text);
        if (content.errors.length > 0) throw new Error(content.errors[0]?.message);
        this.#byName.set(name, { text, version: content });
      } catch (error) {
        log.error('accepted manifest is damaged; set aside', { file: where, error: errorMessage(error) });
        this.#manifestProblems.set(name, [
          { file: where, message: `damaged, set aside as ${file}.corrupt: ${errorMessage(error)}` },
        ]);
        await files
          .rename(where, `${where}.corrupt`)
          .catch((cause: unknown) =>
            log.warn('cannot set a damaged manifest aside', { file: where, error: errorMessage(cause) }),
          );
      }
    }
    this.#report();
  }

  problems(): readonly ManifestProblem[] {
    return this.#manifestProblems.list();
  }

  list(): { name: string; pods: readonly Pod[] }[] {
    return [...this.#byName]
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, { version }]) => ({ name, pods: version.pods }));
  }

  text(name: string): string | undefined {
    return this.#byName.get(name)?.text;
  }

  /**
   * Accepts a manifest. It is rejected with its problems if it is invalid, or if `create` is set and the name is in
   * use.
   */
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
      this.#manifestProblems.set(name, content.warnings);
      this.#report();
      return { kind: existed ? 'replaced' : 'created', pods: content.pods, warnings: content.warnings };
    });
  }

  /** Removes a manifest. Resolves to false if it did not exist. */
  remove(name: string): Promise<boolean> {
    return this.#inTurn(async () => {
      if (!this.#byName.has(name)) return false;
      await this.#options.files.remove(this.#pathOf(name));
      this.#byName.delete(name);
      this.#manifestProblems.set(name, []);
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
    // The caller sees the failure. The next change is not affected.
    this.#turn = result.catch(() => undefined);
    return result;
  }
}

export type PutOutcome =
  | { kind: 'created' | 'replaced'; pods: readonly Pod[]; warnings: readonly ManifestProblem[] }
  | { kind: 'exists' }
  | { kind: 'refused'; problems: readonly ManifestProblem[] };
