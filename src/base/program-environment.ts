// This file selects the environment of other programs, and finds those programs.
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import path from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** The variables for this process alone: systemd's sockets, and the channel and options of Node. */
const ownVariables =
  /^(?:NOTIFY_SOCKET|WATCHDOG_(?:USEC|PID)|LISTEN_(?:FDS|PID|FDNAMES)|NODE_(?:OPTIONS|PATH|CHANNEL_FD|CHANNEL_SERIALIZATION_MODE|UNIQUE_ID)|KUBERNETES_EXEC_INFO)$/;
/**
 * Matches variables that make a program run other code: those of the loader and of shells. Variables of package
 * managers are irrelevant to other programs, and may contain credentials.
 */
const steering = /^(?:LD_.*|GCONV_PATH|BASH_ENV|ENV|SHELLOPTS|BASHOPTS|PS4|BASH_FUNC_.*|npm_.*)$/i;

const systemFolders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/**
 * Returns the environment of a program: that of this process without private variables and those that change the
 * executed code, then `extra` unchanged.
 */
export function programEnvironment(own: Environment, extra: Environment = {}): Record<string, string | undefined> {
  const kept = Object.fromEntries(
    Object.entries(own).filter(([name]) => !ownVariables.test(name) && !steering.test(name)),
  );
  return { ...kept, ...(own['PATH'] !== undefined && { PATH: safeSearchPath(own['PATH']) }), ...extra };
}

/**
 * Returns the search path without relative entries (empty, `.`), missing folders, and folders in which any user may
 * create a program.
 */
export function safeSearchPath(searchPath: string): string {
  const folders = searchPath.split(':').filter((folder) => folder.startsWith('/') && isClosedFolder(folder));
  // An empty PATH would mean the working directory.
  return (folders.length === 0 ? systemFolders : folders).join(':');
}

/**
 * Whether only the owner may create files in the folder. A sticky bit does not help, because any user may add a name
 * that is found first.
 */
function isClosedFolder(folder: string): boolean {
  try {
    return (statSync(folder).mode & OTHERS_WRITE) === 0 && writableByAll(folder) === undefined;
  } catch {
    return false;
  }
}

/** Returns the absolute path of a program, or undefined if no absolute folder of `searchPath` contains it. */
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
 * Returns the first of the file and its parent folders that any user may change: running the file as root would give
 * that user root. Returns undefined if there is none, or if the file does not exist. The targets of symbolic links are
 * included. Group-writable folders are the administrator's decision. In a sticky folder other users cannot replace
 * names.
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
