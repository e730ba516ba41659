import type { UserInfo } from './user-info.ts';

export type FieldValidation = 'Strict' | 'Warn' | 'Ignore';

/** What a write carries along besides its object. */
export interface RequestContext {
  readonly user: UserInfo;
  /** Everything happens, nothing is stored. */
  readonly dryRun: boolean;
  /** Who is written into `managedFields`; '' keeps the field manager that the user agent gives. */
  readonly fieldManager: string;
  readonly fieldValidation: FieldValidation;
  /** For `apply`: takes over fields that others own. */
  readonly force?: boolean;
  /** A creation answers at once, though initializers have yet to act on the object. */
  readonly takesUninitialized?: boolean;
  /** An update that was asked for as a patch. */
  readonly isPatch?: boolean;
  /** A `Warning:` header of the answer. Repetitions count once. */
  warn(text: string): void;
  /** An annotation of the audit event. */
  annotate(key: string, value: string): void;
}
