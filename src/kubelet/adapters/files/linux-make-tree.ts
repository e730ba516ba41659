import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import nodePath from 'node:path/posix';
import { KubeletError } from '../../../base/errors.ts';
import type { TreeFile } from '../../ports/host-files.ts';
import { fromErrno } from '../linux-errors.ts';
import { below, fdPath, openOrNothing, PATH_DIRECTORY, pooledFdOps, READ_DIRECTORY } from './linux-fd-ops.ts';
import { openBeneath } from './linux-open-beneath.ts';

const CREATE_NEW = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const FOLDER_MODE = 0o755;

/**
 * Creates a tree of files. Against CVE-2017-1002102, every file is created through the descriptor of its new directory.
 * So a folder that is swapped for a link between two steps receives nothing, and existing files are never written to.
 */
export async function makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void> {
  const at = `${folder}/${name}`;
  const held = new Map<string, number>();
  try {
    const parent = await pooledFdOps.open(folder, PATH_DIRECTORY);
    held.set('..', parent);
    held.set('.', await newDirectory(parent, name));
    for (const [path, file] of files)
      await newFile(await directoryOf(held, nodePath.dirname(path)), nodePath.basename(path), file);
  } catch (error) {
    throw fromErrno(error, 'make tree', at);
  } finally {
    for (const fd of held.values()) await pooledFdOps.close(fd);
  }
}

async function newDirectory(parent: number, name: string): Promise<number> {
  await pooledFdOps.mkdir(below(parent, name), FOLDER_MODE);
  const fd = await openOrNothing(pooledFdOps, below(parent, name), READ_DIRECTORY);
  if (fd === undefined)
    throw new KubeletError('Conflict', `make tree ${name}: it was replaced while it was made`, { op: 'make tree' });
  await pooledFdOps.chmod(fdPath(fd), FOLDER_MODE);
  return fd;
}

async function directoryOf(held: Map<string, number>, path: string): Promise<number> {
  const known = held.get(path);
  if (known !== undefined) return known;
  const made = await newDirectory(await directoryOf(held, nodePath.dirname(path)), nodePath.basename(path));
  held.set(path, made);
  return made;
}

async function newFile(directory: number, name: string, { content, mode, uid }: TreeFile): Promise<void> {
  let file: FileHandle | undefined;
  try {
    file = await open(below(directory, name), CREATE_NEW, mode);
    if (uid !== undefined) await file.chown(uid, (await file.stat()).gid);
    await file.chmod(mode);
    await file.writeFile(content);
  } finally {
    await file?.close();
  }
}

/**
 * Creates a directory and its missing parents below a folder that other users can write to. Links cannot lead out of
 * the folder.
 */
export async function makeDirectoryBeneath(folder: string, path: string, mode: number): Promise<void> {
  const opened = await openBeneath(pooledFdOps, folder, path, mode).catch((error: unknown) => {
    throw fromErrno(error, 'mkdir', `${folder}/${path}`);
  });
  if (opened.kind === 'refused')
    throw new KubeletError('Invalid', `mkdir ${folder}/${path}: ${opened.why}`, { op: 'mkdir' });
  await pooledFdOps.close(opened.fd);
  if (!opened.directory)
    throw new KubeletError('AlreadyExists', `mkdir ${folder}/${path}: exists and is not a directory`, { op: 'mkdir' });
}
