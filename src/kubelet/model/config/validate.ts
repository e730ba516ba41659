/**
 * Validates a configuration with defaults by every rule of upstream's ValidateKubeletConfiguration, and reports all
 * problems at once.
 */
import type { DefaultedKubeletConfiguration } from './defaults.ts';
import type { FeatureGates } from './feature-gates.ts';
import { checkModes } from './validate-modes.ts';
import { checkNumbers } from './validate-ranges.ts';
import { checkResources } from './validate-resources.ts';
import type { ConfigProblem } from './validate-context.ts';

/** Returns all problems. Checks that depend on the machine are in `hostProblems`. */
export function validateKubeletConfiguration(
  config: DefaultedKubeletConfiguration,
  gates: FeatureGates,
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  const fail = (path: string, message: string): void =>
    void problems.push({ path, message: `invalid configuration: ${message}` });
  const report = (path: string, message: string): void => void problems.push({ path, message: `${path}: ${message}` });
  const context = { config, gates, fail };
  checkNumbers(context);
  checkResources(context);
  checkModes(context, report);
  return problems;
}

export interface HostFacts {
  /** The version; as upstream, the hybrid layout counts as 1. */
  readonly cgroupVersion: 1 | 2;
  /** Whether the machine swaps to a disk or to compressed memory. */
  readonly isSwapOn: boolean;
}

/** Returns the settings that this machine does not support (upstream: validation_linux.go). */
export function hostProblems(
  config: DefaultedKubeletConfiguration,
  { cgroupVersion, isSwapOn }: HostFacts,
): ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  if (isSwapOn && config.failSwapOn) {
    problems.push({
      path: 'failSwapOn',
      message: 'running with swap on is not supported, please disable swap or set --fail-swap-on flag to false',
    });
  }
  if (cgroupVersion === 2) return problems;
  if (config.failCgroupV1) {
    problems.push({
      path: 'failCgroupV1',
      message:
        'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release; failCgroupV1: false (--fail-cgroupv1=false) lets it run',
    });
  }
  if (config.singleProcessOOMKill === false) {
    problems.push({
      path: 'singleProcessOOMKill',
      message: 'invalid configuration: singleProcessOOMKill must not be explicitly set to false when using cgroup v1',
    });
  }
  if (config.memorySwap?.swapBehavior === 'LimitedSwap') {
    problems.push({
      path: 'memorySwap.swapBehavior',
      message: 'swap feature is enabled and LimitedSwap but it is only supported with cgroupv2',
    });
  }
  return problems;
}
