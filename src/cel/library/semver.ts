import type { Library } from '../environment.ts';
import { globalFunction as fn, memberFunction as member } from '../environment.ts';
import { compareTexts } from '../unicode.ts';
import type { CelType } from '../types.ts';
import { boolType, intType, opaque, stringType } from '../types.ts';
import { CelError, Opaque } from '../values.ts';

const semverType = opaque('kubernetes.Semver');

const shape = /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:-([0-9A-Za-z.-]+))?(?:\+([0-9A-Za-z.-]+))?$/;
const UINT64 = 2n ** 64n;
const TEXT_LIMIT = 1024;

/** A version of semver.org 2.0.0. */
export class Semver extends Opaque {
  readonly type: CelType = semverType;
  readonly core: readonly bigint[];
  readonly preRelease: readonly string[];
  readonly #length: number;

  private constructor(core: readonly bigint[], preRelease: readonly string[], length: number) {
    super();
    this.core = core;
    this.preRelease = preRelease;
    this.#length = length;
  }

  /** Undefined for strings that are not versions. */
  static parse(text: string): Semver | undefined {
    const match = text.length <= TEXT_LIMIT ? shape.exec(text) : null;
    if (match === null) return undefined;
    const core = match.slice(1, 4).map(BigInt);
    const preRelease = match[4]?.split('.') ?? [];
    const build = match[5]?.split('.') ?? [];
    const isFaulty =
      core.some((number) => number >= UINT64) ||
      preRelease.some((part) => part === '' || /^0\d+$/.test(part)) ||
      build.includes('');
    return isFaulty ? undefined : new Semver(core, preRelease, text.length);
  }

  /** Normalizes incomplete or prefixed versions: `v1.2` becomes `1.2.0`. */
  static normalize(text: string): Semver | undefined {
    const bare = text.trim().replace(/^v/, '');
    const [, numbers, rest] = /^([0-9.]*)(.*)$/s.exec(bare) ?? [];
    const parts = (numbers ?? '').split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
    if (parts.length > 3) return Semver.parse(bare);
    if (parts.length < 3 && rest !== '') return undefined;
    while (parts.length < 3) parts.push('0');
    return Semver.parse(parts.join('.') + (rest ?? ''));
  }

  compare(other: Semver): -1 | 0 | 1 {
    for (const [index, number] of this.core.entries()) {
      const theirs = other.core[index] as bigint;
      if (number !== theirs) return number < theirs ? -1 : 1;
    }
    return comparePreReleases(this.preRelease, other.preRelease);
  }

  equals(other: Opaque): boolean {
    return other instanceof Semver && this.compare(other) === 0;
  }

  override size(): number {
    return this.#length;
  }
}

function comparePreReleases(left: readonly string[], right: readonly string[]): -1 | 0 | 1 {
  if (left.length === 0 || right.length === 0) return left.length === right.length ? 0 : left.length === 0 ? 1 : -1;
  for (let index = 0; index < Math.min(left.length, right.length); index += 1) {
    const order = comparePart(left[index] as string, right[index] as string);
    if (order !== 0) return order;
  }
  return left.length === right.length ? 0 : left.length < right.length ? -1 : 1;
}

function comparePart(left: string, right: string): -1 | 0 | 1 {
  const [leftIsNumber, rightIsNumber] = [/^\d+$/.test(left), /^\d+$/.test(right)];
  if (leftIsNumber !== rightIsNumber) return leftIsNumber ? -1 : 1;
  if (!leftIsNumber) return compareTexts(left, right);
  const [first, second] = [BigInt(left), BigInt(right)];
  return first === second ? 0 : first < second ? -1 : 1;
}

const read = (text: string, normalized: boolean): Semver | undefined =>
  normalized ? Semver.normalize(text) : Semver.parse(text);

const semver = (text: string, normalized: unknown): Semver | CelError =>
  read(text, normalized === true) ?? new CelError(`failed to parse semver ${JSON.stringify(text.slice(0, 128))}`);

const isSemver = (text: string, normalized: unknown): boolean => read(text, normalized === true) !== undefined;

const part = (id: string, index: number) => [
  member(id, [semverType], intType, ({ core }: Semver) => BigInt.asIntN(64, core[index] ?? 0n)),
];

export const semvers: Library = {
  typeNames: { 'kubernetes.Semver': semverType },
  functions: {
    semver: [
      fn('string_to_semver', [stringType], semverType, semver),
      fn('string_bool_to_semver', [stringType, boolType], semverType, semver),
    ],
    isSemver: [
      fn('is_semver_string', [stringType], boolType, isSemver),
      fn('is_semver_string_bool', [stringType, boolType], boolType, isSemver),
    ],
    isGreaterThan: [
      member(
        'semver_is_greater_than',
        [semverType, semverType],
        boolType,
        (left: Semver, right: Semver) => left.compare(right) > 0,
      ),
    ],
    isLessThan: [
      member(
        'semver_is_less_than',
        [semverType, semverType],
        boolType,
        (left: Semver, right: Semver) => left.compare(right) < 0,
      ),
    ],
    compareTo: [
      member('semver_compare_to', [semverType, semverType], intType, (left: Semver, right: Semver) =>
        BigInt(left.compare(right)),
      ),
    ],
    major: part('semver_major', 0),
    minor: part('semver_minor', 1),
    patch: part('semver_patch', 2),
  },
};
