// The order in which the files of integration and e2e run.

/** Longest first. A file belongs here if it takes more than half a minute. */
export const longFiles: readonly string[] = [
  'test/integration/up-cluster.test.ts',
  'test/integration/up.test.ts',
  'test/integration/disk-and-scale.test.ts',
  'test/integration/down-neighbours.test.ts',
  'test/integration/restart.test.ts',
  'test/integration/runtime-faults.test.ts',
  'test/integration/up-nodes.test.ts',
  'test/integration/node-page-browser.test.ts',
  'test/integration/up-machines.test.ts',
  'test/integration/attach.test.ts',
  'test/integration/api-faults.test.ts',
  'test/integration/images.test.ts',
  'test/integration/eviction-disk.test.ts',
  'test/integration/certificates.test.ts',
  'test/e2e/high-availability.test.ts',
  'test/e2e/two-servers.test.ts',
  'test/e2e/kubectl-create.test.ts',
  'test/e2e/kubectl-get.test.ts',
  'test/e2e/controllers.test.ts',
  'test/e2e/oversized-requests.test.ts',
  'test/e2e/seed-deployment.test.ts',
  'test/e2e/custom-resources.test.ts',
  'test/e2e/odd-names.test.ts',
];

/** The rest stays in the order of the names. */
export function longestFirst(files: readonly string[]): string[] {
  const rank = (file: string): number => (longFiles.includes(file) ? longFiles.indexOf(file) : longFiles.length);
  return files.toSorted((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
}
