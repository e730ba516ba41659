import type { VersionInfo } from '../apiserver/options.ts';

/** The content of `/version`: the served Kubernetes version, and after the plus the version of this program. */
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
