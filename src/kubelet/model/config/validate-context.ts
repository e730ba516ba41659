import type { DefaultedKubeletConfiguration } from './defaults.ts';
import type { FeatureGates } from './feature-gates.ts';

/** One problem of a configuration: the field, as a path into the document, and a message for its author. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

/** What every rule reads, and where it reports. */
export interface ValidationContext {
  readonly config: DefaultedKubeletConfiguration;
  readonly gates: FeatureGates;
  /** Reports `message` about the field at `path`, as upstream words it, with its common prefix. */
  readonly fail: (path: string, message: string) => void;
}

/** Text in Go's `%q`. */
export const quoted = (text: string | undefined): string => JSON.stringify(text ?? '');
