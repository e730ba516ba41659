import type { UserInfo } from './user-info.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** The context of a write in addition to its object. */
export interface RequestContext {
  readonly user: UserInfo;
  /** Runs all steps without storing anything. */
  readonly dryRun: boolean;
  /** The field manager; '' means the name of the user agent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** For `apply`: whether fields of other managers are taken over. */
  readonly force?: boolean;
  /** Whether a create returns immediately, without waiting for initializers. */
  readonly takesUninitialized?: boolean;
  /** Whether the update was requested as a patch. */
  readonly isPatch?: boolean;
  /** Adds a `Warning:` header to the answer. Repetitions are sent once. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
}
