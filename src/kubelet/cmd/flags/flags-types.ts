/** How a flag's text is read. Upstream: pflag and component-base/cli/flag. */
export type FlagType =
  | 'string'
  | 'bool'
  | 'int32'
  | 'int64'
  | 'uint31'
  | 'duration'
  | 'quantity'
  | 'ip'
  /** Comma list with CSV quoting; repeating the flag appends. */
  | 'list'
  /** `a=b,c=d`; repeating the flag adds. */
  | 'map'
  /** One `a=b` per use: commas belong to the value. */
  | 'pair'
  | 'boolMap'
  /** `signal<threshold` pairs. */
  | 'lessMap'
  /** `name:value` pairs, names may repeat. */
  | 'headers'
  /** `key=value` or only `key`. */
  | 'labels'
  | 'taints'
  | 'reservedMemory'
  | 'vmodule'
  /** `true`, `false`, `raw` or a version. */
  | 'version';

export interface FlagSpec {
  /** Without dashes, with hyphens; `_` on the command line means `-`. */
  readonly name: string;
  readonly shorthand?: string;
  readonly type: FlagType;
  /** The default as help shows it. Flags that set a configuration field show that field's default instead. */
  readonly default?: string;
  readonly help: string;
  readonly group: FlagGroup;
  /** Path of the configuration field the flag overrides, such as `authentication.x509.clientCAFile`. */
  readonly field?: string;
  /** Still accepted; the sentence says what to use instead. */
  readonly deprecated?: string;
  /** Accepted for compatibility and without any effect here. */
  readonly ignored?: boolean;
  /** The closed set of values, for completion. */
  readonly values?: readonly string[];
  /** What the value names, for completion. */
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
