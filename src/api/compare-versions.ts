/**
 * Sorts versions by preference: stable ones, then betas, then alphas, each with the higher number first; other names
 * last, by name (upstream: version.CompareKubeAwareVersionStrings).
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
