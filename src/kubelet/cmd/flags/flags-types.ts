/** The type of a flag, which determines how its text is parsed (upstream: pflag and component-base/cli/flag). */
export type FlagType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint31'
  | 'duration'
  | 'quantity'
  | 'ip'
  /** A comma-separated list with CSV quoting. A repeated flag appends. */
  | 'list'
  /** `a=b,c=d`. A repeated flag adds entries. */
  | 'map'
  /** One `a=b` per use, in which commas belong to the value. */
  | 'pair'
  | 'boolMap'
  /** Pairs `signal<threshold`. */
  | 'lessMap'
  /** Pairs `name:value`, whose names may repeat. */
  | 'headers'
  /** `key=value` or only `key`. */
  | 'labels'
  | 'taints'
  | 'reservedMemory'
  | 'vmodule'
  /** `true`, `false`, `raw` or a version. */
  | 'version';

export interface FlagSpec {
  /** The name without leading dashes. In the command line `_` may replace `-`. */
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType;
  /** The default that the help shows. A flag that sets a configuration field shows the default of the field instead. */
  readonly default?: string;
  readonly help: string;
  readonly group: FlagGroup;
  /** The path of the configuration field that the flag overrides, such as `authentication.x509.clientCAFile`. */
  readonly field?: string;
  /** The message for a deprecated flag, which says what to use instead. */
  readonly deprecated?: string;
  /** Whether the flag is accepted for compatibility and has no effect. */
  readonly ignored?: boolean;
  /** The allowed values, for completion. */
  readonly values?: readonly string[];
  /** The kind of the value, for completion. */
  readonly completes?: 'file' | 'folder';
}

export const flagGroups = [
  'Configuration',
  'API server',
  'Node',
  'Runtime and images',
  'Logging',
  'Housekeeping',
  'Beyond upstream',
  'Other',
  'Deprecated: set the field in a file given by --config instead',
  'Deprecated',
] as const;
export type FlagGroup = (typeof flagGroups)[number];
