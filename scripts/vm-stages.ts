// Runs inside the virtual machine of `npm run test:vm`, from the disk with the repository: the stages and their table.
import { availableParallelism } from 'node:os';
import path from 'node:path';
import type { Stage } from './test-stages.ts';
import { runStages } from './test-stages.ts';

/** Tests that find more to do on cgroup v2, under systemd or with this kernel's modules than elsewhere. */
export const defaultFiles: readonly string[] = [
  'test/integration/host/cgroups.test.ts',
  'test/integration/configuration.test.ts',
  'test/integration/node-setup.test.ts',
  'test/integration/resources.test.ts',
  'test/integration/runtime-contract.test.ts',
  'test/integration/lifecycle-surroundings.test.ts',
  'test/integration/identity.test.ts',
  'test/integration/statistics.test.ts',
  'test/integration/gvisor.test.ts',
  'test/integration/network-volumes.test.ts',
];

/** The file beside package.json in which the machine finds what to run. */
export const RUN_FILE = '.vm-run.json';

export interface VmRun {
  readonly files: readonly string[];
  /** The processor is emulated, which takes ten times as long. */
  readonly isEmulated: boolean;
  /** The only cgroup driver to test with; both unless given. */
  readonly driver?: string;
}

const EMULATED_PATIENCE = 10;
const TEST_TIMEOUT_MS = 10 * 60_000;
const STAGE_TIMEOUT_MS = 20 * 60_000;

/** The same files with both drivers: the kubelet makes the cgroups, or systemd makes them for it. */
export function vmStages({ files, isEmulated, driver: only }: VmRun): Stage[] {
  const patience = isEmulated ? EMULATED_PATIENCE : 1;
  const concurrency = isEmulated ? 1 : availableParallelism();
  const stage = (name: string, driver: string): Stage => ({
    name,
    kind: 'tests',
    command: [
      'node',
      '--test',
      `--test-timeout=${TEST_TIMEOUT_MS * patience}`,
      `--test-concurrency=${concurrency}`,
      ...files,
    ],
    environment: {
      KUBELET_TEST_CGROUP_DRIVER: driver,
      KUBELET_TEST_PATIENCE: String(patience),
      // This machine has everything: a test that lacks something here fails.
      KUBELET_TEST_ALL_MEANS: '1',
    },
    timeoutMs: STAGE_TIMEOUT_MS * patience,
  });
  const stages = [
    { name: 'cgroup-v2', driver: 'cgroupfs' },
    { name: 'systemd', driver: 'systemd' },
  ];
  return stages
    .filter(({ driver }) => only === undefined || driver === only)
    .map(({ name, driver }) => stage(name, driver));
}

if (import.meta.main) {
  const { default: run } = (await import(path.resolve(RUN_FILE), { with: { type: 'json' } })) as { default: VmRun };
  process.exitCode = await runStages(vmStages(run));
}
