import type { DefaultedKubeletConfiguration } from './defaults.ts';
import type { FeatureGates } from './feature-gates.ts';

/** One problem of a configuration: the path of the field in the document, and a message for the user. */
export interface ConfigProblem {
  readonly path: string;
  readonly message: string;
}

/** What every rule reads, and how it reports. */
export interface ValidationContext {
  readonly config: DefaultedKubeletConfiguration;
  readonly gates: FeatureGates;
  /** Reports `message` about the field at `path`, in upstream's words with its common prefix. */
  readonly fail: (path: string, message: string) => void;
}

/** Quotes a text as Go's `%q`. */
export const quoted = (text: string | undefined): string => JSON.stringify(text ?? '');
