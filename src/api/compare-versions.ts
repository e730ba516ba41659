/**
 * Compares versions by preference: first stable ones, then betas, then alphas, higher numbers first; then all other
 * names in alphabetical order (upstream: version.CompareKubeAwareVersionStrings).
 */
export function compareVersions(left: string, right: string): number {
  const one = versionRank(left);
  const other = versionRank(right);
  for (const [index, rank] of one.entries()) {
    const difference = (other[index] ?? 0) - rank;
    if (difference !== 0) return difference;
  }
  return left === right ? 0 : left < right ? -1 : 1;
}

const stages: ReadonlyMap<string, number> = new Map([
  ['alpha', 1],
  ['beta', 2],
]);

function versionRank(version: string): readonly number[] {
  const [, major, stage, minor] = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/.exec(version) ?? [];
  if (major === undefined) return [0, 0, 0];
  return [stages.get(stage ?? '') ?? 3, Number(major), Number(minor ?? 0)];
}
