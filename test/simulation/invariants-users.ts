import { sameContent } from '../../src/base/same-content.ts';
import type { SandboxRecord } from '../../src/kubelet/ports/testing/fake-runtime-records.ts';
import type { SandboxConfig } from '../../src/kubelet/ports/runtime.ts';

type Userns = NonNullable<SandboxConfig['security']['namespaces']['userns']>;

const ofHost: Userns = { mode: 'node' };

function usersOf(config: {
  security: SandboxConfig['security'] | { namespaces: SandboxConfig['security']['namespaces'] };
}): Userns {
  return config.security.namespaces.userns ?? ofHost;
}

/**
 * Checks the ids of running pods with user namespaces. Reports ids that two pods share, ids of the host, and containers
 * whose ids differ from their sandbox's.
 */
export function problemsOfUsers(sandboxes: readonly SandboxRecord[]): string[] {
  const problems: string[] = [];
  const taken: { name: string; uid: string; from: number; to: number }[] = [];
  for (const sandbox of sandboxes.filter(({ ready }) => ready)) {
    const users = usersOf(sandbox.config);
    const { name, uid } = sandbox.config;
    for (const container of sandbox.containers) {
      if (!sameContent(usersOf(container.config), users))
        problems.push(`container ${container.config.name} of ${name} was made with other ids than its sandbox`);
    }
    if (users.mode !== 'pod') continue;
    const range = { name, uid, from: users.hostId, to: users.hostId + users.length };
    if (range.from < 65_536) problems.push(`${name} has ids of the host`);
    const other = taken.find(
      (candidate) => candidate.uid !== uid && candidate.from < range.to && range.from < candidate.to,
    );
    if (other !== undefined) problems.push(`${name} and ${other.name} have the same ids`);
    taken.push(range);
  }
  return problems;
}
