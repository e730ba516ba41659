import type { StateText } from '../state-text.ts';

/** A state file in memory. Only `flush` writes changes. */
export class FakeStateText implements StateText {
  readonly text: string | undefined;
  /** Why the content was renamed. */
  why: string | undefined;
  /** The content on disk. */
  saved: string | undefined;
  hasChanged = false;
  #snapshot: (() => string) | undefined;

  constructor(text?: string) {
    this.text = text;
    this.saved = text;
  }

  setAside(why: string): void {
    this.why = why;
  }

  follow(snapshot: () => string): void {
    this.#snapshot = snapshot;
  }

  changed(): void {
    this.hasChanged = true;
  }

  async flush(): Promise<void> {
    this.saved = this.#snapshot?.() ?? this.saved;
    this.hasChanged = false;
  }
}
