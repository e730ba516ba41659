import type { UserInfo } from './user-info.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** The context of a write in addition to its object. */
export interface RequestContext {
  readonly user: UserInfo;
  /** Runs all steps without storing anything. */
  readonly dryRun: boolean;
  /** The field manager; '' uses the user agent. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** For `apply`: takes over fields of other managers. */
  readonly force?: boolean;
  /** A creation returns immediately without waiting for initializers. */
  readonly takesUninitialized?: boolean;
  /** An update that was requested as a patch. */
  readonly isPatch?: boolean;
  /** A `Warning:` header of the answer. Repetitions count once. */
  warn(text: string): void;
  /** An annotation of the audit event. */
  annotate(key: string, value: string): void;
}
