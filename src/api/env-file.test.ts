import assert from 'node:assert/strict';
import { test } from 'node:test';
import { envFileValue } from './env-file.ts';

test('values stand in single quotes, as they are, over as many lines as it takes', () => {
  const text = "# first\n\n  A='a $b \\n # c'   # remark\nB=''\nC='one\n\n  two'\n\tD='#'\r\nE= 'spaced'\nA='again'";
  assert.deepEqual(
    ['A', 'B', 'C', 'D', 'E', 'F'].map((key) => envFileValue(text, key)),
    ['a $b \\n # c', '', 'one\n\n  two', '#', '', ''],
  );
});

test('lines before the wanted variable are validated, lines after it are not', () => {
  assert.equal(envFileValue("A='1'\nbroken", 'A'), '1');
  assert.throws(() => envFileValue("broken\nA='1'", 'A'), {
    kind: 'Invalid',
    message: "invalid environment variable format at line 1: missing '='",
  });
});

test('an error names the line but does not quote it', () => {
  const problem = (text: string): string => {
    try {
      return envFileValue(text, 'WANTED');
    } catch (error) {
      return (error as Error).message.replace('invalid environment variable format ', '');
    }
  };
  assert.deepEqual(
    [
      'A=secret',
      'A="secret"',
      "\nA ='secret'",
      "='secret'",
      "A='secret' x",
      "A='secret'x",
      "\nA='sec\nret",
      `A='${'x'.repeat(65536)}'`,
    ].map(problem),
    [
      'at line 1: value must be enclosed in single quotes',
      'at line 1: value must be enclosed in single quotes',
      "at line 2: whitespace before '=' is not allowed",
      'at line 1: empty variable name',
      'at line 1: unexpected content after closing quote',
      'at line 1: unexpected content after closing quote',
      'starting at line 2: unclosed single quote',
      'at line 1: token too long',
    ],
  );
});
