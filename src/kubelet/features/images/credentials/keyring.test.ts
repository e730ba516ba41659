import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseDockerConfig } from './docker-config.ts';
import { hashAuth, Keyring } from './keyring.ts';
import { globMatches, matchesImage } from './match-image.ts';

const who = (keyring: Keyring, repository: string): string[] =>
  keyring.lookup(repository).map(({ username }) => username);
const ringOf = (...places: string[]): Keyring => {
  const keyring = new Keyring();
  keyring.add(Object.fromEntries(places.map((place) => [place, { username: place, password: 'p' }])), undefined);
  return keyring;
};

describe('keyring', () => {
  it('finds credentials by host globs, port and path, the more specific first', () => {
    const keyring = ringOf(
      'gcr.io',
      'gcr.io/team',
      'https://gcr.io/team/app',
      '*.example.com',
      '*.*.example.com:8443',
      'http://plain.local/v2/',
    );
    assert.deepEqual(who(keyring, 'gcr.io/team/app'), ['https://gcr.io/team/app', 'gcr.io/team', 'gcr.io']);
    assert.deepEqual(who(keyring, 'gcr.io/other'), ['gcr.io']);
    assert.deepEqual(who(keyring, 'a.example.com/x'), ['*.example.com']);
    assert.deepEqual(who(keyring, 'a.b.example.com/x'), [], 'the port differs');
    assert.deepEqual(who(keyring, 'a.b.example.com:8443/x'), ['*.*.example.com:8443']);
    assert.deepEqual(who(keyring, 'plain.local/x'), ['http://plain.local/v2/']);
  });

  it("uses index.docker.io for Docker Hub's images", () => {
    assert.deepEqual(who(ringOf('https://index.docker.io/v1/'), 'docker.io/library/busybox'), [
      'https://index.docker.io/v1/',
    ]);
    assert.deepEqual(who(ringOf('https://index.docker.io/v1/'), 'quay.io/x'), []);
  });

  it("knows Docker Hub's images by the missing or by its own registry", () => {
    const hub = ringOf('index.docker.io');
    for (const name of ['busybox', 'library/busybox', 'docker.io/x', 'index.docker.io/x'])
      assert.deepEqual(who(hub, name), ['index.docker.io'], name);
    for (const name of ['', '/x', 'localhost:5000/x', 'r.local/x']) assert.deepEqual(who(hub, name), [], name);
  });

  it('ignores path parts that name an old protocol, and only at the start', () => {
    assert.deepEqual(who(ringOf('https://r.local/v1/team'), 'r.local/team/app'), ['https://r.local/v1/team']);
    assert.deepEqual(who(ringOf('r.local/team/v1/'), 'r.local/team/app'), []);
    assert.deepEqual(who(ringOf('r.local/'), 'r.local/app'), ['r.local/']);
  });

  it('keeps several credentials of one place in the order they were added', () => {
    const keyring = new Keyring();
    for (const username of ['first', 'second'])
      keyring.add({ 'r.local': { username, password: 'p' } }, { uid: username, namespace: 'n', name: username });
    assert.deepEqual(who(keyring, 'r.local/x'), ['first', 'second']);
  });

  it('matches globs as Go does', () => {
    const cases: [string, string, boolean][] = [
      ['*', '', true],
      ['a*b*c', 'aXbYc', true],
      ['a?c', 'abc', true],
      ['a?c', 'ac', false],
      ['[a-c]x', 'bx', true],
      ['[^a]x', 'ax', false],
      ['\\*', '*', true],
      ['[ac-]x', '-x', true],
      ['[ac-]x', 'bx', false],
      ['[a-cx]', 'x', true],
      ['[a-cx]', 'd', false],
      ['[a-c]', '-', false],
      ['a\\*', 'ab', false],
      ['a\\', 'a', false],
      ['[]]', ']', true],
      ['b', 'a', false],
      ['ab', 'a', false],
      ['[', '[', false],
    ];
    assert.deepEqual(
      cases.map(([pattern, text]) => globMatches(pattern, text)),
      cases.map(([, , expected]) => expected),
    );
    assert.equal(
      matchesImage(`${'*a'.repeat(30)}b.io`, `${'a'.repeat(60)}.io/x`),
      false,
      'and without exponential time',
    );
  });

  it('matches any text against itself with parts replaced by stars', () => {
    fc.assert(
      fc.property(
        fc.array(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 6 }),
        fc.infiniteStream(fc.boolean()),
        (parts, stars) => {
          const pattern = parts.map((part) => (stars.next().value ? '*' : part)).join('');
          assert.ok(globMatches(pattern, parts.join('')));
        },
      ),
    );
  });

  it('hashes credentials as upstream does in its pull records', () => {
    // The digest of {"username":"u","password":"a\\u003cb"}, as Go encodes it.
    assert.equal(
      hashAuth({ username: 'u', password: 'a<b' }),
      'c505c9abf520e59fe86910368c927429147b2a18ab8a8581a5bac239a48988f0',
    );
  });

  it('hashes missing fields as absent', () => {
    const hashes = [
      { username: '', password: '' },
      { username: 'u', password: '' },
      { username: '', password: 'u' },
    ].map(hashAuth);
    assert.equal(new Set(hashes).size, 3);
    // The SHA-256 of {}.
    assert.equal(hashes[0], '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });

  it('refuses fields that are not text, and files that are not maps', () => {
    const problemOf = (entry: object): string =>
      parseDockerConfig(JSON.stringify({ auths: { r: entry } }), false).problems.join();
    for (const entry of [{ username: 1 }, { password: 1 }, { auth: 1 }])
      assert.equal(problemOf(entry), 'entry "r" has a field that is not text');
    for (const auth of ['!!dTpw', 'dTpw!', 'OnA', 'dTpw===='])
      assert.equal(problemOf({ auth }) === '', auth === 'OnA', auth);
    assert.deepEqual(parseDockerConfig('{"auths": []}', false).problems, ['"auths" is not a map of registries']);
    assert.deepEqual(parseDockerConfig('[]', true).problems, ['is not a map of registries']);
  });

  it('skips entries that it cannot read, names them, and never quotes them', () => {
    const parsed = parseDockerConfig(
      JSON.stringify({
        auths: {
          good: { auth: 'dTpw' },
          padded: { auth: 'dTpw\n' },
          bad: { auth: 'c2VjcmV0' },
          worse: 'secret',
          plain: { username: 'n', password: 'p:q' },
        },
      }),
      false,
    );
    assert.deepEqual(parsed.config, {
      good: { username: 'u', password: 'p' },
      padded: { username: 'u', password: 'p' },
      plain: { username: 'n', password: 'p:q' },
    });
    assert.deepEqual(parsed.problems, [
      'entry "bad" has an "auth" that is not base64 of username:password',
      'entry "worse" is not an object',
    ]);
    assert.deepEqual(parseDockerConfig('{"auths": {"r": {"auth": "hunter2', false).problems, ['is not valid JSON']);
  });
});
