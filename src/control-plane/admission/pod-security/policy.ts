import { FieldErrors } from '../../../api/validation/field-error.ts';

const levels = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof levels)[number];
export type Mode = 'enforce' | 'audit' | 'warn';

/** A level of the Pod Security Standards as of a version. */
export interface LevelVersion {
  readonly level: Level;
  /** The minor version; `Infinity` is the latest. */
  readonly minor: number;
}

export type Policy = Readonly<Record<Mode, LevelVersion>>;

export const LABEL_PREFIX = 'pod-security.kubernetes.io/';

export function formatLevel({ level, minor }: LevelVersion): string {
  return `${level}:${minor === Infinity ? 'latest' : `v1.${minor}`}`;
}

export const isSame = (left: LevelVersion, right: LevelVersion): boolean =>
  left.level === right.level && left.minor === right.minor;
export const isFullyPrivileged = ({ enforce, audit, warn }: Policy): boolean =>
  [enforce, audit, warn].every(({ level }) => level === 'privileged');
export const isStricter = (left: Level, right: Level): boolean => levels.indexOf(left) > levels.indexOf(right);
export const isEquivalent = (left: LevelVersion, right: LevelVersion): boolean =>
  (left.level === 'privileged' && right.level === 'privileged') || isSame(left, right);

export const levelProblem = `must be one of ${levels.join(', ')}`;
export const VERSION_PROBLEM = 'must be "latest" or "v1.x"';

export function parseLevel(text: string): Level | undefined {
  return levels.find((level) => level === text);
}

export function parseVersion(text: string): number | undefined {
  if (text === 'latest') return Infinity;
  const minor = /^v1\.(0|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

export interface ReadPolicy {
  readonly policy: Policy;
  readonly errors: FieldErrors['list'];
}

/**
 * Reads the policy in a namespace's labels. An invalid label means the strictest level for enforce, and none for warn
 * and audit (upstream: PolicyToEvaluate).
 */
export function readPolicy(labels: Readonly<Record<string, string>>, defaults: Policy): ReadPolicy {
  const errors = new FieldErrors();
  const read = (mode: Mode, whenWrong: Level): LevelVersion => {
    const [level, version] = [labels[LABEL_PREFIX + mode], labels[`${LABEL_PREFIX}${mode}-version`]];
    const parsed = level === undefined ? defaults[mode].level : parseLevel(level);
    if (parsed === undefined) errors.invalid(`metadata.labels[${LABEL_PREFIX}${mode}]`, level, levelProblem);
    const minor = version === undefined ? defaults[mode].minor : parseVersion(version);
    if (minor === undefined)
      errors.invalid(`metadata.labels[${LABEL_PREFIX}${mode}-version]`, version, VERSION_PROBLEM);
    return { level: parsed ?? whenWrong, minor: minor ?? Infinity };
  };
  const [enforce, audit, warn] = [
    read('enforce', 'restricted'),
    read('audit', 'privileged'),
    read('warn', 'privileged'),
  ];
  // Enforcing a level also warns about it, unless configured otherwise.
  const enforces =
    labels[`${LABEL_PREFIX}enforce`] !== undefined && parseLevel(labels[`${LABEL_PREFIX}enforce`] ?? '') !== undefined;
  const follows = labels[`${LABEL_PREFIX}warn`] === undefined && enforces && isStricter(enforce.level, warn.level);
  const minor = labels[`${LABEL_PREFIX}warn-version`] === undefined ? enforce.minor : warn.minor;
  return { policy: { enforce, audit, warn: follows ? { level: enforce.level, minor } : warn }, errors: errors.list };
}
