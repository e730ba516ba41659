import { KubeletError } from '../../../base/errors.ts';
import type { LogFile, LogFiles } from '../log-files.ts';
import type { FakeNode } from './fake-file-tree.ts';
import type { FakeHostFiles } from './fake-host-files.ts';

/** Opens files of a fake file system. A reader keeps its inode when the name is moved. */
export class FakeLogFiles implements LogFiles {
  /** The number of open files, to detect leaks. */
  openCount = 0;
  readonly #files: FakeHostFiles;

  constructor(files: FakeHostFiles) {
    this.#files = files;
  }

  async open(path: string, beneath: string): Promise<LogFile> {
    if (!path.startsWith(`${beneath}/`)) throw new KubeletError('Invalid', `${path}: not below ${beneath}`);
    let below = beneath;
    let node: FakeNode | undefined;
    for (const part of path.slice(beneath.length + 1).split('/')) {
      below = `${below}/${part}`;
      node = this.#files.tree.existing(below, false);
      if (node.type === 'symlink') throw new KubeletError('Invalid', `${below}: is a symbolic link`);
    }
    if (node?.type !== 'file') throw new KubeletError('Invalid', `${path}: is not a regular file`);
    const opened = node;
    this.openCount++;
    return {
      inode: opened.inode,
      sizeBytes: async () => opened.content.length,
      read: async (offsetBytes, lengthBytes) => opened.content.slice(offsetBytes, offsetBytes + lengthBytes),
      close: async () => {
        this.openCount--;
      },
    };
  }
}
