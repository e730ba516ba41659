import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { holderIdentity } from './holder-identity.ts';

describe("a candidate's identity", () => {
  const place = { hostname: 'one', bootId: 'b', networkNamespace: 'net:[1]', address: '0.0.0.0', port: 6443 };

  it('is the same for the next process that listens at the same address', () => {
    assert.equal(holderIdentity(place), holderIdentity({ ...place }));
    assert.match(holderIdentity(place), /^one_[0-9a-f]{32}$/);
  });

  it('is another wherever two could listen at once', () => {
    const others = [
      { hostname: 'two' },
      { bootId: 'c' },
      { networkNamespace: 'net:[2]' },
      { address: '127.0.0.1' },
      { port: 6444 },
    ];
    assert.equal(
      new Set([place, ...others.map((other) => ({ ...place, ...other }))].map(holderIdentity)).size,
      others.length + 1,
    );
  });
});
