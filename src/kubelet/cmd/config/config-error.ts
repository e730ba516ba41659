import { positionAt } from '../../../api/manifest/manifest-error.ts';
import { formatFieldPath, parseFieldPath } from '../../../api/schema/field-path.ts';
import type { FieldPath } from '../../../api/schema/field-path.ts';

/** One error in the command line or a configuration file, with its place. Lines and columns count from 1. */
export interface ConfigError {
  readonly file?: string;
  readonly line?: number;
  readonly column?: number;
  /** The flag of the value, without dashes. */
  readonly flag?: string;
  /** The configuration field, if the error is about one. */
  readonly path?: string;
  readonly message: string;
}

/**
 * Formats an error on one line: `/etc/kubelet.yaml:12:7: maxPods: expected a whole number, found the string "many"`.
 */
export function formatConfigError(error: ConfigError): string {
  const where =
    error.file === undefined
      ? ''
      : `${error.file}${error.line === undefined ? '' : `:${error.line}:${error.column ?? 1}`}: `;
  const flag = error.flag === undefined || error.message.includes(`--${error.flag}`) ? '' : `--${error.flag}: `;
  const { path } = error;
  const named =
    path === undefined ||
    path === '' ||
    error.message.includes(path) ||
    error.message.includes(path.split(/[.[]/)[0] ?? path);
  return `${where}${flag}${named ? '' : `${path}: `}${error.message}`.replaceAll('\n', ' ');
}

/** A text in which fields can be located. */
export interface SourceText {
  readonly file: string;
  readonly text: string;
  /** Returns the offset of the field in the text, or of the nearest enclosing value. */
  readonly offsetOf: (path: FieldPath) => number;
}

export function errorAt(source: SourceText, path: FieldPath | string, message: string): ConfigError {
  const steps = typeof path === 'string' ? parseFieldPath(path) : path;
  return {
    file: source.file,
    ...positionAt(source.text, source.offsetOf(steps)),
    path: typeof path === 'string' ? path : formatFieldPath(path),
    message,
  };
}
