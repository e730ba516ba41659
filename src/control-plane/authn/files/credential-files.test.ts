import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isKind } from '../../../base/errors.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { createBasicAuthenticator, parseBasicAuthFile } from './basic-auth-file.ts';
import { parseCsv } from './csv-records.ts';
import { createTokenFileAuthenticator, parseTokenFile } from './token-file.ts';

describe('CSV', () => {
  it('parses everything that it writes', () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é') });
    const write = (value: string): string =>
      /[",\n]/.test(value) || value === '' ? `"${value.replaceAll('"', '""')}"` : value;
    fc.assert(
      fc.property(
        fc.array(fc.array(field, { minLength: 1, maxLength: 4 }), { maxLength: 5 }),
        fc.constantFrom('\n', '\n\n'),
        (rows, between) => {
          const text = rows.map((row) => row.map(write).join(',')).join(between);
          assert.deepEqual(
            parseCsv('f', text).map(({ fields }) => fields),
            rows,
          );
        },
      ),
    );
  });

  it('reports the line of an error without its content', () => {
    const fails = (content: string, pattern: RegExp): void =>
      assert.throws(
        () => parseCsv('tokens.csv', content),
        (error) =>
          isKind(error, 'Invalid') &&
          pattern.test((error as Error).message) &&
          !(error as Error).message.includes('geheim'),
      );
    fails('a,b,c\n\ngeheim"x,b,c', /^tokens\.csv: line 3: bare " in non-quoted field$/);
    fails('"a\nb",c,d\n"geheim"x,b,c', /line 3: extraneous or missing " in quoted field/);
    fails('"geheim', /line 1: extraneous/);
  });
});

describe('the token file', () => {
  const content = 'token-a,jane,7,"devs,ops"\ntoken-b,joe,8\r\n\n';

  it('authenticates users by token', async () => {
    const table = parseTokenFile('f', content, recordingLog());
    const { authenticateToken } = createTokenFileAuthenticator(() => table);
    assert.deepEqual(await authenticateToken('token-a'), {
      outcome: 'user',
      user: { name: 'jane', uid: '7', groups: ['devs', 'ops'] },
    });
    assert.deepEqual(await authenticateToken('token-b'), {
      outcome: 'user',
      user: { name: 'joe', uid: '8', groups: [] },
    });
    for (const token of ['', 'token', 'token-aa'])
      assert.deepEqual(await authenticateToken(token), { outcome: 'none' });
  });

  it('does not store tokens in clear text in memory', () => {
    const table = parseTokenFile('f', content, recordingLog());
    assert.ok(!JSON.stringify([...table]).includes('token-a'));
  });

  it('refuses lines that are too short, and reports empty and duplicate tokens', () => {
    assert.throws(
      () => parseTokenFile('f', 'a,b,c\nd,e', recordingLog()),
      /^KubeletError: f: line 2: must have at least 3 columns \(token, user name, user uid\), found 2$/,
    );
    const log = recordingLog();
    assert.equal(parseTokenFile('f', ',a,b\nx,a,1\nx,b,2', log).size, 1);
    assert.deepEqual(
      log.lines.map(({ fields }) => fields['line']),
      [1, 3],
    );
  });
});

it('the basic auth file authenticates by name and password, and does not reveal which of the two is wrong', async () => {
  const table = parseBasicAuthFile('f', 'pass:word,jane,7,"devs"\n,empty,8\n');
  const { authenticate } = createBasicAuthenticator(() => table);
  const basic = (text: string): { authorization: string } => ({
    authorization: `Basic ${Buffer.from(text).toString('base64')}`,
  });
  assert.deepEqual(await authenticate(basic('jane:pass:word')), {
    outcome: 'user',
    user: { name: 'jane', uid: '7', groups: ['devs'] },
  });
  const wrong = { outcome: 'failed', error: 'invalid username/password combination' };
  for (const text of ['jane:password', 'joe:x', 'jane', 'joe:', ':'])
    assert.deepEqual(await authenticate(basic(text)), wrong, text);
  for (const authorization of ['Bearer abc', undefined])
    assert.deepEqual(await authenticate({ authorization }), { outcome: 'none' });
  assert.throws(
    () => parseBasicAuthFile('f', 'a,b'),
    /line 1: must have at least 3 columns \(password, user name, user uid\), found 2/,
  );
});
