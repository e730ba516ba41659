import { KubeletError } from '../../../base/errors.ts';

/** A version such as `1.0.0` or `v1.2-rc1`, parsed as upstream's generic versions: only the numbers are compared. */
export interface CsiVersion {
  readonly parts: readonly number[];
  readonly text: string;
}

const shape = /^\s*v?([0-9]+(?:\.[0-9]+)*)/;

function parseVersion(text: string): CsiVersion | undefined {
  const numbers = shape.exec(text)?.[1];
  if (numbers === undefined || !numbers.includes('.')) return undefined;
  const parts = numbers.split('.').map(Number);
  return { parts, text: parts.join('.') };
}

export function isLower(left: CsiVersion, right: CsiVersion): boolean {
  for (let i = 0; i < Math.max(left.parts.length, right.parts.length); i++) {
    const difference = (left.parts[i] ?? 0) - (right.parts[i] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}

/**
 * Selects the highest version below 2.0, which must be 1.x (upstream: version.HighestSupportedVersion). Throws Invalid.
 */
export function selectHighestVersion(versions: readonly string[]): CsiVersion {
  const usable = versions.map(parseVersion).filter((version) => version !== undefined && (version.parts[0] ?? 0) <= 1);
  const highest = usable.reduce<CsiVersion | undefined>(
    (best, version) => (version !== undefined && (best === undefined || isLower(best, version)) ? version : best),
    undefined,
  );
  if (highest === undefined) {
    const unreadable = versions.find((version) => parseVersion(version) === undefined);
    const why =
      unreadable === undefined
        ? '<nil>'
        : `${shape.test(unreadable) ? 'illegal version string' : 'could not parse'} ${JSON.stringify(unreadable)}${shape.test(unreadable) ? '' : ' as version'}`;
    throw new KubeletError(
      'Invalid',
      `could not find a highest supported version from versions ([${versions.join(' ')}]) reported: ${why}`,
    );
  }
  if (highest.parts[0] !== 1)
    throw new KubeletError('Invalid', `highest supported version reported is ${highest.text}, must be v1.x`);
  return highest;
}
