import { test } from 'node:test';

/** One statement of a contract, as a test with its own subject. */
export type Contract<Subject> = (sentence: string, body: (subject: Subject) => Promise<void>) => void;

/** Creates the tests of a contract. `end` cleans up what `make` created, even after a failed test. */
export function contractOn<Subject extends { end: () => Promise<void> }>(
  make: () => Promise<Subject>,
): Contract<Subject> {
  return (sentence, body) => {
    test(sentence, async () => {
      const subject = await make();
      try {
        await body(subject);
      } finally {
        await subject.end();
      }
    });
  };
}
