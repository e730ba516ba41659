/** A file of the agent that CIS benchmarks check. */
export interface GuardedFile {
  readonly what: string;
  readonly file: string;
  /** The most permissive mode that is accepted: 0600 or 0644. */
  readonly mostMode: number;
}

export interface FileFacts {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Returns the problem that CIS 4.1 finds with a file; undefined if there is none. It is only logged, because kubeadm
 * writes its configuration readable for all, and the agent must start with it.
 */
export function looseFile({ what, file, mostMode }: GuardedFile, { mode, uid, gid }: FileFacts): string | undefined {
  const own = mode & 0o7777;
  const wrong = [
    ...((own & 0o777 & ~mostMode) === 0
      ? []
      : [
          `has mode ${own.toString(8).padStart(4, '0')} and should have ${mostMode.toString(8).padStart(4, '0')} or less`,
        ]),
    ...(uid === 0 && gid === 0 ? [] : [`belongs to user ${uid} and group ${gid} and should be root's`]),
  ];
  return wrong.length === 0
    ? undefined
    : `${what} ${file} ${wrong.join(', and ')}: anyone who can read or write it may gain the rights of the node`;
}

/** Returns the files; empty paths are left out. */
export function guardedFiles(given: {
  readonly kubeconfig: string;
  readonly bootstrapKubeconfig: string;
  readonly config: string;
  readonly clientCa: string;
  readonly servingKey: string;
}): readonly GuardedFile[] {
  const all: readonly GuardedFile[] = [
    { what: 'the kubeconfig', file: given.kubeconfig, mostMode: 0o600 },
    { what: 'the bootstrap kubeconfig', file: given.bootstrapKubeconfig, mostMode: 0o600 },
    { what: 'the configuration', file: given.config, mostMode: 0o600 },
    { what: 'the authority of clients', file: given.clientCa, mostMode: 0o644 },
    { what: 'the key of the serving certificate', file: given.servingKey, mostMode: 0o600 },
  ];
  return all.filter(({ file }) => file !== '');
}
