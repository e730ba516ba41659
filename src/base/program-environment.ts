// What other programs get of this one's environment, and where they are looked for.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Meant for this process alone: systemd's sockets, the channel and the options of its own Node. */
const ownVariables =
  /^(?:NOTIFY_SOCKET|WATCHDOG_(?:USEC|PID)|LISTEN_(?:FDS|PID|FDNAMES)|NODE_(?:OPTIONS|PATH|CHANNEL_FD|CHANNEL_SERIALIZATION_MODE|UNIQUE_ID)|KUBERNETES_EXEC_INFO)$/;
/**
 * Makes a program run what stands elsewhere: the loader's variables, and those of shells. What a package manager adds
 * for its own scripts is of no use to others, and may hold its credentials.
 */
const steering = /^(?:LD_.*|GCONV_PATH|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|BASH_FUNC_.*|npm_.*)$/i;

const systemFolders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * The environment of a program: that of this process without what is meant for it alone or steers what code runs, then
 * `extra` as it is.
 */
export function programEnvironment(own: Environment, extra: Environment = {}): Record<string, string | undefined> {
  const kept = Object.fromEntries(
    Object.entries(own).filter(([name]) => !ownVariables.test(name) && !steering.test(name)),
  );
  return { ...kept, ...(own['PATH'] !== undefined && { PATH: safeSearchPath(own['PATH']) }), ...extra };
}

/**
 * Without what depends on the working directory (an empty entry, `.`, and what else is relative), folders that are not
 * there, and those in which any user may put a program.
 */
export function safeSearchPath(searchPath: string): string {
  const folders = searchPath.split(':').filter((folder) => folder.startsWith('/') && isClosedFolder(folder));
  // An empty PATH would mean the working directory.
  return (folders.length === 0 ? systemFolders : folders).join(':');
}

/** Sticky or not: a name that is not there yet is what a search finds first. */
function isClosedFolder(folder: string): boolean {
  try {
    return (statSync(folder).mode & OTHERS_WRITE) === 0 && writableByAll(folder) === undefined;
  } catch {
    return false;
  }
}

/** The absolute path of a program named without a folder; undefined when no absolute folder of `searchPath` has it. */
export function findProgram(name: string, searchPath: string): string | undefined {
  return safeSearchPath(searchPath)
    .split(':')
    .map((folder) => path.join(folder, name))
    .find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/**
 * The first of the file and its parent folders that any user may change, because running it as root would give that
 * user root. Undefined if there is none, or if the file does not exist. Folders of symbolic links on the way are
 * included. Group-writable ones are the administrator's decision. In a sticky folder others cannot replace names.
 */
export function writableByAll(file: string): string | undefined {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) return undefined;
  if ((found.mode & OTHERS_WRITE) !== 0) return file;
  return [...foldersAbove(file), ...foldersAbove(realpathSync(file))].find((folder) => {
    const { mode } = statSync(folder);
    return (mode & OTHERS_WRITE) !== 0 && (mode & STICKY) === 0;
  });
}

const foldersAbove = (file: string): string[] =>
  file === '/' ? [] : [path.dirname(file), ...foldersAbove(path.dirname(file))];
