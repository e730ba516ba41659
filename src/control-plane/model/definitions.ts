import type { ResourceDefinition } from './resource-definition.ts';

/** Added and removed definitions of one change. A changed kind is in both. */
export interface DefinitionsChange {
  readonly removed: readonly ResourceDefinition[];
  readonly added: readonly ResourceDefinition[];
  /** Whether the representation of objects is unchanged, so that watches continue. */
  readonly keepsWatches?: boolean;
}

/** The registered kinds. Custom kinds are added and removed while the server runs. */
export interface Definitions {
  readonly all: readonly ResourceDefinition[];
  /** Calls the listener synchronously after each change; returns the function that unsubscribes. */
  onChange(listener: (change: DefinitionsChange) => void): () => void;
}

/** A fixed set of kinds. */
export function fixedDefinitions(all: readonly ResourceDefinition[]): Definitions {
  return { all, onChange: () => () => undefined };
}

/** Notifies of added and removed kinds. */
export interface DefinitionsTarget extends Definitions {
  change(change: DefinitionsChange): void;
}
