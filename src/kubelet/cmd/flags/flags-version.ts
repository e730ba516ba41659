/** The versions the program reports. */

/** The Kubernetes version this agent stands for, where a program asks for the version of a kubelet. */
export const KUBERNETES_VERSION = 'v1.36.0';
/** The version of this project. */
const OWN_VERSION = '0.1.0';

/** The line of `kubelet --version`. Upstream: component-base/version/verflag. */
export const versionLine = (version: string = KUBERNETES_VERSION): string => `Kubernetes ${version}`;

/** All parts, in upstream's form of `--version=raw`, so that scripts that read it go on working. */
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

/** What `kubelet version` prints for people. */
export const versionText = (): string => `${versionLine()}\nKubelet-TS ${OWN_VERSION}\n`;

/** The labels of `kubernetes_build_info`. */
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
