/** The versions that the program reports. */

/** The Kubernetes version that this agent reports where a kubelet's version is expected. */
export const KUBERNETES_VERSION = 'v1.36.0';
/** The version of this project. */
const OWN_VERSION = '0.1.0';

/** Returns the line of `kubelet --version` (upstream: component-base/version/verflag). */
export const versionLine = (version: string = KUBERNETES_VERSION): string => `Kubernetes ${version}`;

/** Returns all parts in upstream's form of `--version=raw`, so that scripts that read it keep working. */
export function rawVersion(version: string = KUBERNETES_VERSION): string {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  const parts = [
    ['Major', major],
    ['Minor', minor],
    ['EmulationMajor', ''],
    ['EmulationMinor', ''],
    ['MinCompatibilityMajor', ''],
    ['MinCompatibilityMinor', ''],
    ['GitVersion', version],
    ['GitCommit', ''],
    ['GitTreeState', ''],
    ['BuildDate', ''],
    ['GoVersion', ''],
    ['Compiler', 'node'],
    ['Platform', 'linux'],
  ];
  return `version.Info{${parts.map(([name, value]) => `${name}:${JSON.stringify(value)}`).join(', ')}}`;
}

/** Returns the text of `kubelet version` for users. */
export const versionText = (): string => `${versionLine()}\nKubelet-TS ${OWN_VERSION}\n`;

/** Returns the labels of `kubernetes_build_info`. */
export function buildLabels(version: string = KUBERNETES_VERSION): Record<string, string> {
  const [, major = '', minor = ''] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    major,
    minor,
    git_version: version,
    git_commit: '',
    git_tree_state: '',
    build_date: '',
    go_version: '',
    compiler: 'node',
    platform: 'linux',
  };
}
