import type { StateText } from '../state-text.ts';

/** A state file in memory. What changed is written by `flush` only. */
export class FakeStateText implements StateText {
  readonly text: string | undefined;
  /** Why the content was set aside. */
  why: string | undefined;
  /** What the disk holds. */
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
