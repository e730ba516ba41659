import type { VersionInfo } from '../apiserver/options.ts';

/** What `/version` says: the version of Kubernetes whose API this is, and of this program behind the plus. */
export function versionInfo(): VersionInfo {
  return {
    major: '1',
    minor: '36',
    gitVersion: 'v1.36.0+kubelet-ts',
    gitCommit: '',
    gitTreeState: 'clean',
    buildDate: '1970-01-01T00:00:00Z',
    platform: `linux/${process.arch === 'x64' ? 'amd64' : process.arch}`,
  };
}
