import { Buffer } from 'node:buffer';
import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import type { Clock } from '../../../../base/clock.ts';
import type { Logger } from '../../../../base/log.ts';
import type { Random } from '../../../../base/random.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Payload } from './payload.ts';
import { validatedPayload } from './payload.ts';
import { giveToGroup } from '../volume-ownership.ts';

const DATA = '..data';
const DATA_NEXT = '..data_tmp';
/**
 * The format of hidden folder names, shared with upstream's writer. Other folders are never compared with, or removed.
 */
const hiddenPattern = /^\.\.\d{4}_\d{2}_\d{2}_\d{2}_\d{2}_\d{2}\.\d+$/;

export interface AtomicWriterOptions {
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Shows a set of files in a folder so that readers see either all of the old or all of the new content (layout of
 * upstream's atomic_writer.go, which programs in pods rely on):
 *
 *     <folder>/..2026_01_02_03_04_05.123456789/a/b           the content
 *     <folder>/..data -> ..2026_01_02_03_04_05.123456789     replaced by a rename
 *     <folder>/a -> ..data/a                                 what users see
 *
 * Against CVE-2017-1002102 (host files deleted through swapped links): the target of ..data is used only if it is a
 * plain name in this writer's format; trees are created and removed by descriptor and only if they are directories of
 * that format in this folder; only symlinks are removed from the visible part.
 */
export class AtomicWriter {
  readonly #options: AtomicWriterOptions;

  constructor(options: AtomicWriterOptions) {
    this.#options = options;
  }

  /**
   * Writes the files. Resolves to whether anything was written. `fsGroup` can read all of it. Only one call at a time
   * may run per folder.
   */
  async write(folder: string, wanted: Payload, fsGroup?: number): Promise<boolean> {
    const payload = validatedPayload(wanted);
    const current = await this.#currentHidden(folder);
    const changed = current === undefined || !(await this.#isSame(`${folder}/${current}`, payload));
    const hidden = changed ? await this.#publish(folder, payload, fsGroup) : current;
    await this.#showLinks(folder, new Set([...payload.keys()].map(topOf)), fsGroup);
    await this.#removeLeftovers(folder, hidden);
    return changed;
  }

  async #currentHidden(folder: string): Promise<string | undefined> {
    try {
      const target = await this.#options.files.readLink(`${folder}/${DATA}`);
      if (!hiddenPattern.test(target)) {
        this.#options.log.warn('a volume was tampered with: its data link points elsewhere and is replaced', {
          path: folder,
        });
        return undefined;
      }
      return (await this.#options.files.lstat(`${folder}/${target}`))?.type === 'directory' ? target : undefined;
    } catch (error) {
      // Invalid: it is not a link.
      if (isKind(error, 'NotFound') || isKind(error, 'Invalid')) return undefined;
      throw error;
    }
  }

  /** Whether the folder has the same files with the same content, and nothing else. */
  async #isSame(hidden: string, payload: Payload): Promise<boolean> {
    const found = await this.#filesBelow(hidden, '');
    if (found === undefined || found.length !== payload.size) return false;
    for (const [name, { content }] of payload) {
      const info = await this.#options.files.lstat(`${hidden}/${name}`);
      if (info?.type !== 'file' || info.sizeBytes !== content.length) return false;
      const old = await this.#options.files.readRange(`${hidden}/${name}`, 0, content.length);
      if (Buffer.compare(old, content) !== 0) return false;
    }
    return true;
  }

  /** Lists the files, or returns undefined if there is anything that this writer does not create. */
  async #filesBelow(folder: string, prefix: string): Promise<string[] | undefined> {
    const found: string[] = [];
    for (const name of await this.#options.files.list(`${folder}/${prefix}`)) {
      const relative = `${prefix}${name}`;
      const type = (await this.#options.files.lstat(`${folder}/${relative}`))?.type;
      if (type === 'file') found.push(relative);
      else if (type !== 'directory') return undefined;
      else {
        const deeper = await this.#filesBelow(folder, `${relative}/`);
        if (deeper === undefined) return undefined;
        found.push(...deeper);
      }
    }
    return found;
  }

  async #publish(folder: string, payload: Payload, fsGroup: number | undefined): Promise<string> {
    const { files } = this.#options;
    const hidden = await this.#newHiddenName(folder);
    try {
      await files.makeTree(folder, hidden, payload);
      if (fsGroup !== undefined) await giveToGroup(files, folder, { gid: fsGroup, readOnly: true });
      await files.removeTree(`${folder}/${DATA_NEXT}`);
      await files.symlink(hidden, `${folder}/${DATA_NEXT}`);
      await this.#clearTheWay(folder);
      await files.rename(`${folder}/${DATA_NEXT}`, `${folder}/${DATA}`);
      return hidden;
    } catch (error) {
      await files.removeTree(`${folder}/${hidden}`).catch((leftover: unknown) => {
        this.#options.log.debug(2, 'a half-written volume folder stays until the next write', {
          path: `${folder}/${hidden}`,
          error: errorMessage(leftover),
        });
      });
      throw error;
    }
  }

  /**
   * Removes what blocks a name. A rename replaces a link, but not a directory that another user created in its place.
   */
  async #clearTheWay(folder: string): Promise<void> {
    const { files, log } = this.#options;
    if ((await files.lstat(`${folder}/${DATA}`))?.type !== 'directory') return;
    log.warn('a volume was tampered with: its data link is a folder and is removed', { path: folder });
    await files.removeTree(`${folder}/${DATA}`);
  }

  /** Returns an unused name. Writing into an existing folder would mix old and new content. */
  async #newHiddenName(folder: string): Promise<string> {
    const stamp = new Date(this.#options.clock.nowMs())
      .toISOString()
      .replace(/\.\d+Z$/, '')
      .replaceAll(/[-T:]/g, '_');
    for (;;) {
      const name = `..${stamp}.${Math.floor(this.#options.random.next() * 4_294_967_296)}`;
      if ((await this.#options.files.lstat(`${folder}/${name}`)) === undefined) return name;
    }
  }

  async #showLinks(folder: string, names: ReadonlySet<string>, fsGroup: number | undefined): Promise<void> {
    const { files } = this.#options;
    for (const name of names) {
      const link = `${folder}/${name}`;
      const info = await files.lstat(link);
      if (info !== undefined && info.type !== 'symlink')
        throw new KubeletError('Conflict', `${link} is in the way of a file of the volume`);
      if (info !== undefined) {
        if ((await files.readLink(link)) === `${DATA}/${name}`) continue;
        await files.remove(link);
      }
      await files.symlink(`${DATA}/${name}`, link);
      if (fsGroup !== undefined) await files.chown(link, -1, fsGroup);
    }
    for (const name of await files.list(folder)) {
      if (name.startsWith('..') || names.has(name)) continue;
      const link = `${folder}/${name}`;
      if ((await files.lstat(link))?.type === 'symlink' && (await files.readLink(link)) === `${DATA}/${name}`)
        await files.remove(link);
    }
  }

  async #removeLeftovers(folder: string, hidden: string): Promise<void> {
    for (const name of await this.#options.files.list(folder)) {
      if (name === hidden || !hiddenPattern.test(name)) continue;
      if ((await this.#options.files.lstat(`${folder}/${name}`))?.type === 'directory')
        await this.#options.files.removeTree(`${folder}/${name}`);
    }
  }
}

const topOf = (name: string): string => name.split('/')[0] ?? name;
